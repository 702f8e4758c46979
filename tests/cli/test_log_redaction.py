"""No secret gets through, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_actors.cli._log_redaction import MARK, SHORTEST, Redactor, find_secrets
from codex_actors.protocol import Provider

# Few letters, the mark's own among them, so that secrets overlap each other and the mark.
LETTERS = "ab*%/ "
SECRETS = st.frozensets(st.text(LETTERS, min_size=SHORTEST, max_size=12), max_size=4)
TEXTS = st.text(LETTERS, max_size=60)
KEYS = st.text("abcXYZ019_-", min_size=SHORTEST, max_size=40)


def once(secrets: frozenset[str]) -> Callable[[str], str]:
    """A redactor that stops too early."""

    def redact(text: str) -> str:
        for secret in sorted(secrets, reverse=True):
            text = text.replace(secret, MARK)
        return text

    return redact


def keeps_secrets(redact: Callable[[str], str], secrets: frozenset[str], text: str) -> bool:
    done = redact(text)
    return not any(secret in done for secret in secrets)


@given(secrets=SECRETS, parts=st.lists(TEXTS))
def test_no_known_secret_is_left(secrets: frozenset[str], parts: list[str]) -> None:
    text = "".join(part + secret for part, secret in zip(parts, [*secrets] * 20, strict=False))

    assert keeps_secrets(Redactor(secrets), secrets, text)


def test_the_law_finds_a_redactor_that_stops_too_early() -> None:
    secrets = frozenset({"aaaaaaaa", "bb***bbb"})

    assert not keeps_secrets(once(secrets), secrets, "bbaaaaaaaabbb")
    assert keeps_secrets(Redactor(secrets), secrets, "bbaaaaaaaabbb")


@given(secrets=SECRETS, text=TEXTS)
def test_redacting_twice_is_redacting_once(secrets: frozenset[str], text: str) -> None:
    redact = Redactor(secrets)

    assert redact(text) == redact(redact(text))


@given(secrets=SECRETS, text=st.text("cdefg \n", max_size=60))
def test_text_without_secrets_stays(secrets: frozenset[str], text: str) -> None:
    assert text == Redactor(secrets)(text)


@given(
    key=KEYS,
    shape=st.sampled_from(
        [
            "Authorization: Bearer {}",
            "{{'authorization': 'Basic {}'}}",
            "proxy-authorization={}",
            "got bearer {} there",
            "sk-{}",
            "https://me:{}@proxy.example/x",
            "https://h/x?api_key={}&y=1",
            '{{"api_key": "{}"}}',
            "password = {}",
        ]
    ),
    before=st.sampled_from(["", "x ", "x\n", "(", "'"]),
)
def test_what_looks_like_a_secret_is_left_out(key: str, shape: str, before: str) -> None:
    # A key that is part of the shape itself would be seen in what stays.
    text = before + shape.format(f"{key}0")

    assert f"{key}0" not in Redactor(frozenset())(text)


@pytest.mark.parametrize("text", ["risk-averse people", "the bearer", "a task-force", "ask-me"])
def test_words_are_no_secrets(text: str) -> None:
    assert text == Redactor(frozenset())(text)


def test_a_secret_is_found_as_urls_spell_it() -> None:
    assert f"?k={MARK}" == Redactor(frozenset({"a/b c+d=e"}))("?k=a%2Fb%20c%2Bd%3De")


def test_secrets_are_found_where_they_are() -> None:
    provider = Provider(
        id="mine",
        bearer_token="bearer-secret",
        env_key="MINE",
        http_headers={"x-api-key": "header-secret", "version": "1.2.3.4.5"},
        query_params={"code": "query-secret"},
        env_http_headers={"x-team": "TEAM"},
    )
    environ = {
        "MINE": " variable-secret\n",
        "TEAM": "team-secret",
        "GITHUB_TOKEN": "token-secret",
        "HOME": "/home/somebody",
        "SHORT_KEY": "1234567",
    }

    assert find_secrets(provider, environ) == {
        "bearer-secret",
        "header-secret",
        "query-secret",
        "variable-secret",
        "team-secret",
        "token-secret",
    }


def test_a_redactor_does_not_show_what_it_hides() -> None:
    assert "my-secret-key" not in repr(Redactor(frozenset({"my-secret-key"})))
