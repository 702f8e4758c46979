"""The program that evaluates files of rules, as a process of its own; it imports nothing of ours.

A program in Starlark may be endless, or want all memory, in a library that nobody can interrupt
from outside. So it gets a process with limits: what happens in there, nothing else suffers.

It reads ``[name, text]`` pairs as JSON from standard input, and writes one answer as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

if __name__ == "__main__":
    # Nothing but these is looked for: no directory of the user's, no variable of the environment.
    sys.path += [os.path.dirname(__file__), *sys.argv[1:]]

import starlark

CPU_SECONDS = 2
MEMORY_BYTES = 1 << 30
"""Of addresses, not of memory in use: the libraries alone take a part of them."""
CALL_DEPTH = 50
MOST_RULES = 10_000
MOST_ANSWER_BYTES = 8 << 20


def limit() -> None:
    """Give up what evaluating rules has no need of."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Evaluator:
    """Evaluates one file after the other, and keeps what they say."""

    def __init__(self, functions: list[Callable[..., dict[str, Any]]]) -> None:
        self.functions = functions
        self.found: list[dict[str, Any]] = []

    def evaluate(self, text: str) -> None:
        """Run one file; whatever is wrong with it is a StarlarkError."""
        module = starlark.Module()
        for function in self.functions:
            module.add_callable(function.__name__, self._collect(function))
        tree = starlark.parse("rules", text, _dialect())
        options = starlark.EvalOptions(max_callstack_size=CALL_DEPTH)
        starlark.eval_with(options, module, tree, starlark.Globals.standard())

    def _collect(self, function: Callable[..., dict[str, Any]]) -> Callable[..., None]:
        def call(*words: Any, **named: Any) -> None:
            if len(self.found) >= MOST_RULES:
                raise ValueError(f"there are more than {MOST_RULES} rules")
            self.found.append({"kind": function.__name__, **function(*words, **named)})

        return call


def _dialect() -> starlark.Dialect:
    dialect = starlark.Dialect.extended()
    dialect.enable_load = False
    dialect.enable_f_strings = True
    return dialect


def answer(evaluator: Evaluator, files: list[list[str]]) -> dict[str, Any]:
    """Return what all files say, or what is wrong with the first that is wrong."""
    for name, text in files:
        try:
            evaluator.evaluate(text)
        except starlark.StarlarkError as error:
            return {"file": name, "error": str(error)}
    return {"rules": evaluator.found}


def main() -> None:
    """Read the files, and write the answer."""
    limit()
    words = import_module("_rule_words")
    evaluator = Evaluator([words.prefix_rule, words.host_executable, words.network_rule])
    said = json.dumps(answer(evaluator, json.load(sys.stdin)))
    if len(said) > MOST_ANSWER_BYTES:
        said = json.dumps({"file": None, "error": "error: the rules are too long"})
    sys.stdout.write(said)


if __name__ == "__main__":
    main()
