from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codex_actors.models import (
    InvalidScript,
    Script,
    ScriptMismatch,
    Step,
    load_script,
    parse_script,
    script_of,
)
from codex_actors.models._script_plan import Answering, ScriptedRequest, plan
from codex_actors.protocol import TokenUsage

HI = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}


def call(call_id: str, output: Any = None) -> list[dict[str, Any]]:
    made = {"type": "function_call", "call_id": call_id, "name": "x", "arguments": "{}"}
    if output is None:
        return [made]
    text = output if isinstance(output, str) else json.dumps(output)
    return [made, {"type": "function_call_output", "call_id": call_id, "output": text}]


def said(item_id: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "id": item_id, "content": []}


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def answer(script: Script, *items: dict[str, Any], subagent: str | None = None) -> Answering:
    encoded = [json.dumps(item).encode() for item in items]
    return plan(script, ScriptedRequest(input=encoded, subagent=subagent))


def items(script: Script, *prompt: dict[str, Any]) -> tuple[Any, ...]:
    return answer(script, *prompt).items


ONE_TWO = script_of([{"say": "one"}], [{"say": "two"}])


class TestSteps:
    def test_the_first_request_gets_the_first_step(self) -> None:
        assert items(ONE_TWO, HI) == ({"say": "one"},)

    def test_calls_show_how_far_a_thread_has_come(self) -> None:
        assert items(ONE_TWO, HI, *call("r0c0", "out")) == ({"say": "two"},)

    def test_so_do_items(self) -> None:
        assert items(ONE_TWO, HI, said("msg_r0i0"), HI) == ({"say": "two"},)

    def test_other_ids_do_not(self) -> None:
        prompt = [HI, *call("call_9", "out"), said("msg_0r3i1"), said("msg_r1")]

        assert items(ONE_TWO, *prompt) == ({"say": "one"},)

    def test_a_request_sent_again_gets_the_same_step(self) -> None:
        assert answer(ONE_TWO, HI) == answer(ONE_TWO, HI)

    def test_after_the_last_step(self) -> None:
        assert items(ONE_TWO, *call("r1c0", "x")) == ({"say": "the script is over"},)

    def test_without_a_script(self) -> None:
        assert items(Script(), HI) == ({"say": "ok"},)

    def test_a_function(self) -> None:
        script = script_of(
            lambda view: [{"say": f"{view.step} {view.user_text} {dict(view.outputs)}"}],
            lambda view: Step(items=({"say": view.outputs["r0c0"]},)),
        )

        assert items(script, HI) == ({"say": "0 hi {}"},)
        assert items(script, HI, *call("r0c0", "out")) == ({"say": "out"},)

    def test_a_subagent_has_steps_of_its_own(self) -> None:
        script = parse_script(b'{"steps":[[{"say":"a"}]],"subagents":{"review":[[{"say":"b"}]]}}')

        assert answer(script, HI, subagent="review").items == ({"say": "b"},)
        assert answer(script, HI, subagent="other").items == ({"say": "a"},)

    def test_usage(self) -> None:
        script = parse_script(
            b'{"steps":[[],{"usage":{"input_tokens":1,"output_tokens":2}}],'
            b'"usage":{"input_tokens":9,"total_tokens":10}}'
        )

        assert answer(script).usage == TokenUsage(input_tokens=9, total_tokens=10)
        assert answer(script, *call("r0c0")).usage == TokenUsage(
            input_tokens=1, output_tokens=2, total_tokens=3
        )


class TestCarried:
    def test_the_newest_message_counts(self) -> None:
        prompt = [user('SCRIPT [[{"say":"old"}]]'), user('do SCRIPT [[{"say":"new"}]] now')]

        assert items(ONE_TWO, *prompt) == ({"say": "new"},)

    def test_it_starts_anew(self) -> None:
        prompt = [*call("r7c0", "x"), user('SCRIPT [[{"say":"a"}],[{"say":"b"}]]')]

        assert items(ONE_TWO, *prompt) == ({"say": "a"},)
        assert items(ONE_TWO, *prompt, *call("r0c0", "x")) == ({"say": "b"},)

    def test_letters_carry_scripts_too(self) -> None:
        part = {"type": "encrypted_content", "encrypted_content": 'SCRIPT [[{"say":"a"}]]'}
        letter = {"type": "agent_message", "author": "/root", "content": [part]}

        assert items(ONE_TWO, letter) == ({"say": "a"},)

    def test_a_script_within_a_script_is_not_played(self) -> None:
        inner = 'SCRIPT [[{"say":"inner"}]]'
        outer = [[{"call": "spawn", "args": {"message": inner}}]]

        assert items(ONE_TWO, user(f"SCRIPT {json.dumps(outer)}")) == tuple(outer[0])

    @pytest.mark.parametrize("text", ["SCRIPT [", "SCRIPT [1]", "SCRIPT []", "SCRIPT {}"])
    def test_what_is_no_script(self, text: str) -> None:
        assert items(ONE_TWO, user(text)) == ({"say": "one"},)

    def test_what_the_model_says_is_no_script(self) -> None:
        part = {"type": "output_text", "text": 'SCRIPT [[{"say":"x"}]]'}
        prompt = {"type": "message", "role": "assistant", "content": [part]}

        assert items(ONE_TWO, prompt) == ({"say": "one"},)


class TestPlaceholders:
    def fill(self, args: Any, output: Any) -> Any:
        script = script_of([], [{"call": "x", "args": args}])
        (item,) = items(script, *call("r0c0", output))
        return item["args"]

    def test_a_part_of_an_output_keeps_its_type(self) -> None:
        output = {"a": [{"b": 7}], "c": '{"d": true}'}

        assert self.fill({"x": "$r0c0.a.0.b", "y": ["$r0c0.c.d"]}, output) == {"x": 7, "y": [True]}

    def test_a_whole_output(self) -> None:
        assert self.fill("$r0c0", "text") == "text"

    def test_inside_of_a_text(self) -> None:
        assert self.fill("<${r0c0.a}> ${r0c0.b}", {"a": "x", "b": [1]}) == "<x> [1]"

    def test_a_shell_has_variables_too(self) -> None:
        assert self.fill("echo ${HOME} $PATH $r0c0x", {}) == "echo ${HOME} $PATH $r0c0x"

    def test_output_in_parts(self) -> None:
        parts = [{"type": "input_text", "text": '{"a":'}, {"type": "input_text", "text": "5}"}]
        output = {"type": "function_call_output", "call_id": "r0c0", "output": parts}
        (item,) = items(script_of([], [{"call": "x", "args": "$r0c0.a"}]), output)

        assert item["args"] == 5

    @pytest.mark.parametrize("reference", ["$r0c0.a.b", "$r0c0.z", "$r0c0.l.9", "$r5c0"])
    def test_what_is_not_there(self, reference: str) -> None:
        with pytest.raises(ScriptMismatch):
            self.fill(reference, {"a": "no json", "l": []})


class TestExpectations:
    SCRIPT = parse_script(
        json.dumps(
            [
                [{"call": "x"}],
                {
                    "expect": [{"output_of": "last", "matches": r"session (?P<session>\d+)"}],
                    "items": [{"say": "got ${session}"}],
                },
                [{"say": "still ${session}"}],
            ]
        ).encode()
    )

    def test_groups_are_filled_in(self) -> None:
        assert items(self.SCRIPT, *call("r0c0", "session 42 runs")) == ({"say": "got 42"},)

    def test_and_stay_known(self) -> None:
        prompt = [*call("r0c0", "session 42"), *call("r1c0", "other")]

        assert items(self.SCRIPT, *prompt) == ({"say": "still 42"},)

    def test_a_mismatch_quotes_both(self) -> None:
        with pytest.raises(ScriptMismatch) as caught:
            items(self.SCRIPT, *call("r0c0", "boom" * 100))

        assert not caught.value.retryable
        assert str(caught.value) == (
            "step 1 of the script expects the output of 'last' to match"
            f" 'session (?P<session>\\\\d+)', but it is {'boom' * 50 + '...'!r}"
        )

    def test_a_missing_output(self) -> None:
        with pytest.raises(ScriptMismatch, match="has no such output"):
            items(self.SCRIPT, *call("r0c0"))


class TestFiles:
    async def test_loading(self, tmp_path: Path) -> None:
        path = tmp_path / "script.json"
        path.write_text('[[{"say":"one"}],[{"say":"two"}]]')

        assert await load_script(str(path)) == ONE_TWO

    async def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidScript, match="cannot be read: No such file"):
            await load_script(str(tmp_path / "none"))

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"[5]", "steps[0] is an object, not 5"),
            (b"", "the script is not JSON: input data was truncated"),
            (b"[\n[}]", "the script is not JSON: invalid character in line 2"),
        ],
    )
    async def test_a_file_that_is_no_script_is_named(
        self, tmp_path: Path, data: bytes, reason: str
    ) -> None:
        path = tmp_path / "play.json"
        path.write_bytes(data)

        with pytest.raises(InvalidScript) as caught:
            await load_script(str(path))

        assert f"the script {str(path)!r} cannot be played: {reason}" == str(caught.value)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "is not JSON"),
            ("5", "the script is an object"),
            ('{"step":[]}', "has no key 'step'; it may have \\['steps'"),
            ('{"steps":{}}', "steps of a script is a list"),
            ("[5]", r"steps\[0\] is an object"),
            ('[[{"tell":"x"}]]', r"steps\[0\]\[0\] is \['tell'\]; an item has one of the keys"),
            ('[[{"say":5}]]', r"steps\[0\]\[0\]\.say cannot be 5"),
            ('[[{"say":"x","args":{}}]]', "has no key 'args'"),
            ('[{"expect":5}]', r"steps\[0\]\.expect is a list"),
            ('[{"expect":[{"matches":"("}]}]', "is no regular expression"),
            ('[{"expect":[{"matches":5}]}]', "must have texts"),
            ('[{"items":5}]', r"steps\[0\]\.items is a list"),
            ('[{"usage":{"input_tokens":"x"}}]', "numbers of tokens"),
            ('[{"usage":{"tokens":1}}]', "has no key 'tokens'"),
        ],
    )
    def test_what_is_no_script(self, text: str, message: str) -> None:
        with pytest.raises(InvalidScript, match=message):
            parse_script(text.encode())
