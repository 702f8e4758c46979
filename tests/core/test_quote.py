from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.core import join_words, quote_word
from codex_actors.testing._strategies import texts

AWKWARD = st.text("ab'\"\\$`!^ \n\té-", max_size=12)


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("", "''"),
        (" ", "' '"),
        ("true", "true"),
        ("@]_:+-./", "@]_:+-./"),
        ("it's", '"it\'s"'),
        ("'", '"\'"'),
        ("\\", r'"\\"'),
        ("a\\'", r'''"a\\'"'''),
        ("a\\b'c$d", '"a\\\\b\'c"' + "'$d'"),
        ("$HOME", "'$HOME'"),
        ("'$HOME'", """"'"'$HOME'"'\""""),
        ("it's $5", """"it's "'$5'"""),
        ("$'x", """'$'"'x\""""),
        ("!", "'!'"),
        ("!x'y", """'!x'"'y\""""),
        ("`", "'`'"),
        ("`'", """'`'"'\""""),
        ("^", "'^'"),
        ("a^b", "a'^b'"),
        ("^^", "'^''^'"),
        ("^'", """'^'"'\""""),
        ("'^", """"'"'^'"""),
        ("^a^b", "'^a''^b'"),
        ("echo ^x'$y", """'echo ''^x'"'"'$y'"""),
        ("x'^'y$z\\w", r'''"x'"'^'"'y"'$z'"\\w"'''),
        ("\\\"'!`^", '"\\\\\\"\'"' + "'!`'" + "'^'"),
        ('"', "'\"'"),
        ("\"'", r'''"\"'"'''),
        ("a\nb", "'a\nb'"),
        ("\t", "'\t'"),
        ("\x7f", "'\x7f'"),
        ("é", "'é'"),
        ("é'", '"é\'"'),
        ("\u00a0", "'\u00a0'"),
        *(
            (word, f"'{word}'")
            for word in ("a,b", "a=b", "{a}", "[a]", "a~", "#x", "a%b", "*", "?")
        ),
    ],
)
def test_quoting_is_the_reference_s(word: str, quoted: str) -> None:
    """Each pair was seen in the reference's own output."""
    assert quoted == quote_word(word)


def test_words_are_joined_by_spaces() -> None:
    assert join_words(["/bin/bash", "-lc", "echo 'hi'"]) == "/bin/bash -lc \"echo 'hi'\""
    assert join_words([]) == ""


def test_what_no_shell_could_be_given_is_not_written() -> None:
    assert join_words(["/bin/bash", "-lc", "true\0x"]) == "<command included NUL byte>"


@given(st.lists(AWKWARD | texts().map(lambda text: text.replace("\0", ""))))
def test_a_shell_reads_the_words_back(words: list[str]) -> None:
    assert words == shlex.split(join_words(words))


PIECE = re.compile(
    r"'(?P<single>[^']*)'" r'|"(?P<double>(?:\\.|[^"\\])*)"' r"|(?P<bare>[A-Za-z0-9+\-./:@\]_]+)"
)


@given(AWKWARD)
def test_nothing_is_left_for_an_interactive_shell_to_take(word: str) -> None:
    """History expansion reads ``!`` in double quotes, and ``^`` wherever no quote opens."""
    pieces = list(PIECE.finditer(quote_word(word)))

    assert quote_word(word) == "".join(piece[0] for piece in pieces)
    assert not any("^" in (piece["single"] or "")[1:] for piece in pieces)
    assert not any(set("!`$^") & set(piece["double"] or "") for piece in pieces)
