"""Files of rules -> `ExecRules`."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import trio

from ..core import ExecRules, HostExecutable, NetworkRule, PrefixRule
from ._errors import RulesError

SECONDS: Final = 10.0
"""For evaluating all files. They are a few lines; a busy machine may take its time to begin."""
MOST_BYTES: Final = 1024 * 1024
"""Of one file."""
SUFFIX: Final = ".rules"

_EVALUATOR: Final = os.path.join(os.path.dirname(__file__), "_evaluate_rules.py")
_PLACE: Final = re.compile(r"^ *--> rules:(\d+):\d+$", re.MULTILINE)
_FAULT: Final = re.compile(r"^error: (?:\w+Error: )?(.*)$", re.MULTILINE)
_REMEDY: Final = "mend or remove the file: until then, nothing is run by rules"


async def load_rules(directories: Sequence[str]) -> ExecRules:
    """Load every ``*.rules`` file of some directories, each in the order of names.

    A directory that is not there has no rules. Files are evaluated in a process of their own.

    Raises:
        RulesError: a file cannot be read, or is wrong; then there are no rules at all, since
            the one that is missing may be the one that forbids.

    Cancellation: kills the process.
    """
    paths = await trio.to_thread.run_sync(partial(_find_files, directories))
    return await load_rule_files(paths)


async def load_rule_files(paths: Sequence[str]) -> ExecRules:
    """Load some files.

    Raises:
        RulesError: a file cannot be read, or is wrong.

    Cancellation: kills the process that evaluates them.
    """
    files = await trio.to_thread.run_sync(lambda: [(path, _read_file(path)) for path in paths])
    if not files:
        return ExecRules()
    with trio.move_on_after(SECONDS) as scope:
        done = await _evaluate(files)
    if scope.cancelled_caught:
        raise RulesError(f"takes longer than {SECONDS:g} s; {_REMEDY}", path=_any_of(paths))
    return _read_answer(done, paths)


def _find_files(directories: Iterable[str]) -> list[str]:
    return [path for directory in directories for path in _files_in(directory)]


def _files_in(directory: str) -> list[str]:
    try:
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(directory, error) from error
    return [os.path.join(directory, name) for name in names if name.endswith(SUFFIX)]


def _read_file(path: str) -> str:
    try:
        # Without O_NONBLOCK, opening a FIFO would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise OSError(None, "it is no file")
            content = file.read(MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RulesError("is not UTF-8; save it as UTF-8", path=path, line=line) from error
    if len(content) > MOST_BYTES:
        raise RulesError(f"is larger than {MOST_BYTES >> 20} MiB; {_REMEDY}", path=path)
    return text


def _unreadable(path: str, error: OSError) -> RulesError:
    if isinstance(error, FileNotFoundError):
        return RulesError("is not there; check its name", path=path)
    return RulesError(f"cannot be read: {(error.strerror or '').lower()}; {_REMEDY}", path=path)


async def _evaluate(files: Sequence[tuple[str, str]]) -> subprocess.CompletedProcess[bytes]:
    return await trio.run_process(
        # Isolated, and without site: what is imported is what we name.
        [sys.executable, "-I", "-S", _EVALUATOR, *_library_directories()],
        stdin=json.dumps(files).encode(),
        capture_stdout=True,
        stderr=subprocess.DEVNULL,
        check=False,
        env={},
        deliver_cancel=_kill,
    )


async def _kill(process: trio.Process) -> None:
    process.kill()
    await trio.lowlevel.checkpoint()


def _library_directories() -> list[str]:
    spec = find_spec("starlark")
    places = (spec and spec.submodule_search_locations) or ()
    return [os.path.dirname(place) for place in places]


def _read_answer(done: subprocess.CompletedProcess[bytes], paths: Sequence[str]) -> ExecRules:
    if done.returncode != 0:
        raise RulesError(f"{_explain_end(done.returncode)}; {_REMEDY}", path=_any_of(paths))
    said = json.loads(done.stdout)
    if "error" in said:
        raise _fault(said["error"], said["file"] or _any_of(paths))
    return _build(said["rules"])


def _explain_end(status: int) -> str:
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "takes too much of the processor's time to evaluate"
    return "needs too much memory, or nests too deep, to be evaluated"


def _any_of(paths: Sequence[str]) -> str:
    return " or ".join(paths)


def _fault(text: str, path: str) -> RulesError:
    places = _PLACE.findall(text)
    fault = _FAULT.search(text)
    problem = fault[1] if fault else "cannot be evaluated"
    return RulesError(
        f"{problem[:1].lower()}{problem[1:]}; {_REMEDY}",
        path=path,
        line=int(places[-1]) if places else None,
    )


def _build(said: Iterable[Mapping[str, Any]]) -> ExecRules:
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for rule in said:
        kinds.setdefault(rule["kind"], []).append(rule)
    return ExecRules(
        prefixes=tuple(map(_prefix_rule, kinds.get("prefix_rule", ()))),
        executables=tuple(
            HostExecutable(rule["name"], tuple(rule["paths"]))
            for rule in kinds.get("host_executable", ())
        ),
        networks=tuple(
            NetworkRule(**{key: value for key, value in rule.items() if key != "kind"})
            for rule in kinds.get("network_rule", ())
        ),
    )


def _prefix_rule(rule: Mapping[str, Any]) -> PrefixRule:
    return PrefixRule(
        pattern=tuple(tuple(choices) for choices in rule["pattern"]),
        decision=rule["decision"],
        justification=rule["justification"],
    )
