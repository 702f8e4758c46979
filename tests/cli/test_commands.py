from __future__ import annotations

import pytest

from codex_actors.cli._commands import run_command


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["fix the tests"], "exec 'fix the tests'"),
        (["fix", "-m", "gpt"], "exec fix -m gpt"),
        (["resume", "--last"], "exec resume --last"),
        (["exce", "hi there"], "exec 'hi there'"),
        (["docter", "--json"], "doctor --json"),
        ([""], "exec ''"),
    ],
)
def test_a_first_word_that_is_no_command_gets_a_hint(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run_command(words)
    shown = capsys.readouterr().err

    assert 2 == caught.value.code
    assert shown.endswith(f"not {words[0]!r}; did you mean: codex-actors {meant}\n")
