"""What models wish for and people answer, to be played on two programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

Json = dict[str, Any]

OUT: Final = "$OUT"
"""Stands for a folder that the sandbox policy keeps from being written."""
A: Final = f"touch {OUT}/a"
ESCALATED: Final = {"sandbox_permissions": "require_escalated", "justification": "May I?"}
FOLDER: Final = {"file_system": {"write": [OUT]}}
MORE: Final = {
    "sandbox_permissions": "with_additional_permissions",
    "additional_permissions": FOLDER,
    "justification": "May I?",
}
GRANT: Final = {"permissions": {"fileSystem": {"write": [OUT]}}}
ASKS_FOR_PERMISSIONS: Final = "request_permissions_tool"
ASKS_WITH_COMMANDS: Final = "exec_permission_approvals"
MKDIR_ASKS: Final = (
    'prefix_rule(pattern=["mkdir"], decision="prompt", justification="folders cost")\n'
)
RULES: Final = MKDIR_ASKS + (
    'prefix_rule(pattern=["touch"], decision="allow")\n'
    'prefix_rule(pattern=["ln"], decision="forbidden", justification="links are bad")\n'
    'prefix_rule(pattern=["cp"], decision="forbidden")\n'
    'prefix_rule(pattern=["mv"], decision="prompt")\n'
)


@attrs.frozen(kw_only=True)
class Case:
    """A conversation: in each turn, calls one after the other; and what is answered to its questions."""

    turns: Sequence[Sequence[Any]]
    """Of each turn, its calls, or whole steps of a script."""
    answers: Mapping[str, Any] = attrs.field(factory=dict)
    """By the call; in the words of the other program's clients. None: somebody interrupts the turn
    while the question is open."""
    policy: Any = "on-request"
    sandbox: str = "workspace-write"
    rules: str = ""
    features: Sequence[str] = ()
    said: Sequence[Sequence[Json]] | None = None
    """Steps that the prompt itself carries, instead of those of the turns."""
    differs: Sequence[str] = ()
    """What of it is done differently here on purpose, as docs/explanation/differences.md calls
    it."""
    confines: bool = False
    """Whether a command runs in a sandbox."""

    def answer(self, call: str) -> Any:
        assert call in self.answers, f"nobody expected a question about {call}"
        return self.answers[call]

    @property
    def steps(self) -> list[Any]:
        return [step for turn in self.turns for step in [*map(_step, turn), DONE]]

    @property
    def is_interrupted(self) -> bool:
        return None in self.answers.values()

    @property
    def prompt(self) -> str:
        return "go" if self.said is None else f"SCRIPT {json.dumps(self.said)}"

    def at(self, place: Path) -> Case:
        """The same, with the folder where it is."""
        filled = {
            field.name: json.loads(
                json.dumps(getattr(self, field.name)).replace(OUT, str(place / "out"))
            )
            for field in attrs.fields(Case)
        }
        return Case(**filled)


DONE: Final[list[Json]] = [{"say": "done"}]


def _step(call: Any) -> Any:
    return call if isinstance(call, list) or "items" in call else [call]


def run(command: str, **arguments: Any) -> Json:
    return {"call": "exec_command", "args": {"cmd": command, **arguments}}


def escalated(command: str, **arguments: Any) -> Json:
    return run(command, **{**ESCALATED, **arguments})


def patch(body: str) -> Json:
    return {"custom": "apply_patch", "input": f"*** Begin Patch\n{body}\n*** End Patch\n"}


def add(path: str, line: str = "x") -> Json:
    return patch(f"*** Add File: {path}\n+{line}")


def typed(chars: str, *, first: bool = False) -> Json:
    """A step that types into the session that the first call began."""
    arguments = f'{{"session_id": ${{sid}}, "chars": {json.dumps(chars)}, "yield_time_ms": 2000}}'
    step: Json = {"items": [{"call": "write_stdin", "raw_args": arguments}]}
    if first:
        step["expect"] = [{"output_of": "r0c0", "matches": "session ID (?P<sid>\\d+)"}]
    return step


def request(**permissions: Any) -> Json:
    arguments = {"reason": "because", "permissions": permissions}
    return {"call": "request_permissions", "args": arguments}


def saving(*words: str) -> Json:
    return {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": list(words)}}


def everywhere(answer: Any, start: int, end: int) -> Json:
    return {f"r{step}c0": answer for step in range(start, end)}


def granular(**switches: bool) -> Json:
    names = ("sandbox_approval", "rules", "skill_approval", "request_permissions")
    return {"granular": {name: switches.get(name, False) for name in (*names, "mcp_elicitations")}}


def _child(*steps: Sequence[Json]) -> list[list[Json]]:
    carried = f"SCRIPT {json.dumps([*steps, [{'say': 'the child is done'}]])}"
    team = {"namespace": "multi_agent_v1"}
    wait = {"targets": ["$r0c0.agent_id"], "timeout_ms": 30000}
    return [
        [{"call": "spawn_agent", **team, "args": {"message": carried}}],
        [{"call": "wait_agent", **team, "args": wait}],
        [escalated(A)],
        DONE,
    ]


CASES: Final[dict[str, Case]] = {
    "escalation, accepted each time": Case(
        turns=[[escalated(A), escalated(A)]],
        answers={"r0c0": "accept", "r1c0": "accept"},
    ),
    "escalation, accepted for the session": Case(
        turns=[
            [
                escalated(A),
                escalated(A),
                escalated(A, justification="In other words?"),
                escalated(f"  touch   {OUT}/a "),
                escalated(A, login=False),
                escalated(A, workdir=OUT),
                escalated(f"touch {OUT}/b"),
                escalated(A, tty=True),
            ],
            [escalated(A)],
        ],
        answers={"r0c0": "acceptForSession"} | everywhere("accept", 1, 9),
        differs=["what a yes for the session is bound to"],
    ),
    "escalation, accepted with a rule": Case(
        turns=[[escalated(A), escalated(A), run(A), escalated(f"touch {OUT}/b")]],
        answers={"r0c0": saving("touch", f"{OUT}/a"), "r3c0": "accept"},
    ),
    "escalation, a shorter rule": Case(
        turns=[
            [
                escalated(A, prefix_rule=["touch"]),
                escalated(f"touch {OUT}/b"),
                run(f"touch {OUT}/c"),
                escalated(f"touch {OUT}/d && mkdir {OUT}/m"),
            ]
        ],
        answers={"r0c0": saving("touch"), "r3c0": "accept"},
    ),
    "escalation, a rule that was there": Case(
        turns=[[escalated(A), escalated('touch "$OUT/we ird\'q"')]],
        answers=everywhere(saving("touch", "x"), 0, 2),
        rules="# mine\nprefix_rule(pattern=['zz'], decision='prompt')",
    ),
    "escalation, no rule after all": Case(
        turns=[[escalated(A), escalated(A)]],
        answers={"r0c0": saving(), "r1c0": "decline"},
    ),
    "escalation, which rules are proposed": Case(
        turns=[
            [
                escalated(A, prefix_rule=["bash"]),
                escalated(A, prefix_rule=["mkdir"]),
                escalated(A, prefix_rule=[]),
                escalated(f"{A} && mkdir -p {OUT}/m", prefix_rule=["touch"]),
                escalated(f"{A} && mkdir -p {OUT}/m"),
                escalated("python3 -c 1", prefix_rule=["python3"]),
                escalated("git status", prefix_rule=["git", "status"]),
                escalated("npm run test", prefix_rule=["npm", "run"]),
                escalated("env touch a", prefix_rule=["env"]),
                escalated(f"/usr/bin/touch {OUT}/p"),
                escalated("ls | wc -l"),
                escalated(f"echo a > {OUT}/f", prefix_rule=["echo"]),
                escalated("echo $HOME"),
                escalated("FOO=1 touch p"),
                escalated("(touch p)"),
                escalated("cat <<'X'\nhi\nX"),
                escalated("bash -c 'touch q'"),
                escalated("bash"),
            ]
        ],
        answers=everywhere("decline", 0, 18),
        differs=["rules that are offered with a question"],
    ),
    "escalation, declined": Case(
        turns=[[escalated(A), run("ls", sandbox_permissions="require_escalated")]],
        answers={"r0c0": "decline", "r1c0": "decline"},
    ),
    "escalation, cancelled": Case(
        turns=[[escalated(A)], []],
        answers={"r0c0": "cancel"},
    ),
    "escalation, interrupted": Case(
        turns=[[escalated(A)], []],
        answers={"r0c0": None},
        differs=["the item of a call whose question was cut short"],
    ),
    "escalation, two at once": Case(
        turns=[[[escalated(A), escalated(f"touch {OUT}/b"), run("echo free")]]],
        answers={"r0c0": "decline", "r0c1": "accept"},
        confines=True,
    ),
    "typing outside of the sandbox": Case(
        turns=[
            [
                escalated("cat", tty=True, yield_time_ms=500),
                typed("one\n", first=True),
                typed("two\n"),
                typed("\x04"),
            ]
        ],
        answers={"r0c0": "accept", "r1c0": "accept", "r2c0": "decline", "r3c0": "acceptForSession"},
    ),
    "typing in the sandbox": Case(
        turns=[
            [run("cat", tty=True, yield_time_ms=500), typed("one\n", first=True), typed("\x04")]
        ],
        confines=True,
    ),
    "typing under never": Case(
        turns=[[run("cat", tty=True, yield_time_ms=500), typed("one\n", first=True)]],
        policy="never",
        rules='prefix_rule(pattern=["cat"], decision="allow")\n',
    ),
    "escalation under never": Case(
        turns=[[escalated(A), escalated(A, prefix_rule=["touch"])]],
        policy="never",
    ),
    "escalation where there is no sandbox": Case(
        turns=[[escalated(A)]],
        sandbox="danger-full-access",
    ),
    "granular, nothing may be asked": Case(
        turns=[[escalated(A), run(f"mkdir {OUT}/m"), run("rm -rf zz"), add(f"{OUT}/p.txt")]],
        policy=granular(),
        rules=MKDIR_ASKS,
    ),
    "granular, all may be asked": Case(
        turns=[[escalated(A), escalated(f"mkdir {OUT}/m"), run("rm -rf zz"), add(f"{OUT}/p.txt")]],
        answers={"r0c0": "accept", "r1c0": "accept", "r2c0": "decline", "r3c0": "accept"},
        policy=granular(sandbox_approval=True, rules=True),
        rules=MKDIR_ASKS,
    ),
    "untrusted": Case(
        turns=[[run("ls"), run("echo hi > f"), add("in.txt"), escalated(A), escalated(A)]],
        answers={
            "r0c0": "accept",
            "r1c0": "decline",
            "r2c0": "accept",
            "r3c0": "acceptForSession",
            "r4c0": "accept",
        },
        policy="untrusted",
        differs=["known-safe commands under `untrusted`", "rules that are offered with a question"],
        confines=True,
    ),
    "untrusted, declined": Case(
        turns=[[run("ls"), run("touch b"), add("in.txt")]],
        answers=everywhere("decline", 0, 3),
        policy="untrusted",
        differs=["known-safe commands under `untrusted`"],
        confines=True,
    ),
    "untrusted, with rules": Case(
        turns=[[run(A), run(f"{A} && mkdir {OUT}/m"), run("ln a b"), run("touch b && mktemp c")]],
        answers={"r1c0": "decline", "r3c0": "decline"},
        policy="untrusted",
        rules=RULES,
    ),
    "rules": Case(
        turns=[
            [
                run(A),
                run(f"touch {OUT}/b && touch {OUT}/c"),
                escalated(f"touch {OUT}/d"),
                run(f"mkdir {OUT}/m"),
                escalated(f"mkdir {OUT}/m"),
                run("mv a b"),
                run(f"touch {OUT}/k && mkdir {OUT}/m2"),
                run("ln -s a b"),
                run("cp a b"),
                escalated("ln -s a b"),
                run(f"touch {OUT}/e && ln -s a b"),
                escalated(f"mkdir -p {OUT}/m2 && ls", prefix_rule=["mkdir"]),
                escalated(f"ls && mkdir -p {OUT}/m2"),
            ]
        ],
        answers=everywhere("decline", 0, 13) | {"r4c0": "accept"},
        sandbox="read-only",
        rules=RULES,
    ),
    "rules under never": Case(
        turns=[[run(A), run(f"mkdir {OUT}/m"), run("ln -s a b"), run("cp a b"), escalated(A)]],
        policy="never",
        sandbox="read-only",
        rules=RULES,
    ),
    "rules, accepted for the session": Case(
        turns=[[escalated(f"mkdir -p {OUT}/m"), escalated(f"mkdir -p {OUT}/m")]],
        answers={"r0c0": "acceptForSession"},
        sandbox="read-only",
        rules=RULES,
    ),
    "rules, cancelled": Case(
        turns=[[run(f"mkdir {OUT}/m")], []],
        answers={"r0c0": "cancel"},
        rules=RULES,
    ),
    "danger": Case(
        turns=[[run("rm -rf zz"), run("rm -rf zz"), escalated("rm -rf zz"), run("rm -rf yy")]],
        answers={
            "r0c0": "decline",
            "r1c0": "acceptForSession",
            "r2c0": "accept",
            "r3c0": "decline",
        },
        sandbox="danger-full-access",
        differs=["what a yes for the session is bound to"],
    ),
    "danger, accepted with a rule": Case(
        turns=[[run("rm -rf zz"), run("rm -rf zz"), run("rm -rf yy")]],
        answers={"r0c0": saving("rm", "-rf", "zz"), "r2c0": "decline"},
        sandbox="danger-full-access",
    ),
    "danger under never": Case(
        turns=[[run("rm -rf zz"), run("bash -c 'rm -rf x'"), run("sudo rm -f x && echo y")]],
        policy="never",
        sandbox="danger-full-access",
    ),
    "patch, accepted": Case(
        turns=[[add(f"{OUT}/p.txt"), add(f"{OUT}/p.txt", "y"), add("in.txt")]],
        answers={"r0c0": "accept", "r1c0": "accept"},
    ),
    "patch, accepted for the session": Case(
        turns=[
            [add(f"{OUT}/p.txt")],
            [
                add(f"{OUT}/p.txt", "y"),
                add(f"{OUT}/q.txt"),
                patch(f"*** Update File: {OUT}/p.txt\n@@\n-y\n+z\n*** Add File: {OUT}/q.txt\n+x"),
                run(
                    f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {OUT}/r.txt\n+x\n"
                    "*** End Patch\nEOF"
                ),
            ],
        ],
        answers={"r0c0": "acceptForSession", "r3c0": "acceptForSession", "r5c0": "decline"},
    ),
    "patch, declined": Case(
        turns=[[add(f"{OUT}/p.txt"), add("in.txt")]],
        answers={"r0c0": "decline", "r1c0": "decline"},
        sandbox="read-only",
    ),
    "patch, cancelled": Case(
        turns=[[add(f"{OUT}/p.txt")], []],
        answers={"r0c0": "cancel"},
        differs=["the item of a call whose question was cut short"],
    ),
    "patch, interrupted": Case(
        turns=[[add(f"{OUT}/p.txt")], []],
        answers={"r0c0": None},
        differs=["the item of a call whose question was cut short"],
    ),
    "patch, cannot be applied": Case(
        turns=[[patch(f"*** Update File: {OUT}/none.txt\n@@\n-y\n+z")]],
        differs=["what the model is told of a patch that does not fit"],
    ),
    "patch under never": Case(
        turns=[
            [add(f"{OUT}/p.txt"), patch(f"*** Add File: in.txt\n+x\n*** Add File: {OUT}/p\n+x")]
        ],
        policy="never",
    ),
    "permissions for the turn": Case(
        turns=[
            [request(**FOLDER), run(A), add(f"{OUT}/p.txt"), run(f"touch {OUT}/b", **MORE)],
            [add(f"{OUT}/q.txt")],
        ],
        answers={"r0c0": {**GRANT, "scope": "turn"}, "r5c0": "decline"},
        features=[ASKS_FOR_PERMISSIONS, ASKS_WITH_COMMANDS],
        confines=True,
    ),
    "permissions for the session": Case(
        turns=[[request(**FOLDER), run(A)], [run(f"touch {OUT}/c"), add(f"{OUT}/q.txt")]],
        answers={"r0c0": {**GRANT, "scope": "session"}},
        features=[ASKS_FOR_PERMISSIONS],
        confines=True,
    ),
    "permissions that are not granted": Case(
        turns=[
            [
                request(**FOLDER),
                add(f"{OUT}/p.txt"),
                request(network={"enabled": True}, **FOLDER),
                request(**FOLDER),
                request(),
                request(bogus=1),
            ]
        ],
        answers={
            "r0c0": {"permissions": {}},
            "r1c0": "decline",
            "r2c0": GRANT,
            "r3c0": {"permissions": {"fileSystem": {"write": ["/"]}}},
        },
        differs=["unknown keys among the permissions that a model asks for"],
        features=[ASKS_FOR_PERMISSIONS],
    ),
    "permissions under never": Case(
        turns=[[request(**FOLDER), run(A, **MORE)]],
        policy="never",
        features=[ASKS_FOR_PERMISSIONS, ASKS_WITH_COMMANDS],
    ),
    "permissions with a command": Case(
        turns=[
            [
                run(A, **MORE),
                run(A, **MORE),
                run(A, **MORE),
                run(f"touch {OUT}/b", **MORE),
                run(A, additional_permissions=FOLDER),
            ],
            [run(A, **MORE)],
        ],
        answers={"r0c0": "accept", "r1c0": "acceptForSession", "r3c0": "decline"},
        features=[ASKS_WITH_COMMANDS],
        confines=True,
    ),
    "permissions with a command, wrongly": Case(
        turns=[
            [
                run(A, sandbox_permissions="with_additional_permissions", justification="j"),
                run(A, **{**MORE, "additional_permissions": {}}),
                run(A, **{**ESCALATED, "additional_permissions": FOLDER}),
            ]
        ],
        features=[ASKS_WITH_COMMANDS],
    ),
    "tools that are switched off": Case(
        turns=[[request(**FOLDER), run(A, **MORE), run(A, sandbox_permissions="bogus")]],
    ),
    "a child, accepted for the session": Case(
        turns=[],
        said=_child([escalated(A)], [escalated(A)]),
        answers={"r0c0": "acceptForSession", "r2c0": "accept"},
    ),
    "a child, declined": Case(
        turns=[],
        said=_child([escalated(A)]),
        answers={"r0c0": "decline", "r2c0": "decline"},
    ),
    "a child, accepted with a rule": Case(
        turns=[],
        said=_child([escalated(A)]),
        answers={"r0c0": saving("touch")},
        differs=["a rule that an answer added"],
    ),
}
