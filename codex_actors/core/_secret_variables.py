"""Which environment variables hold secrets, as far as names and values can tell.

Errs on the side of yes: what is withheld wrongly is noticed, and what is shown wrongly is not.
Paths of sockets that only let one *use* a key, as `SSH_AUTH_SOCK` does, are no secrets: nobody
can read the key through them, and git needs them.
"""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = re.compile(
    r"""
      KEY | SECRET | TOKEN | PASSWORD | PASSWD | PASSPHRASE | CREDENTIAL | COOKIE | AUTHORIZATION
    | CONN(?:ECTION)?_?STR
    | (?:^|_) (?: PASS | PAT | DSN | JWT ) $
    | _ (?: PWD | AUTH ) $
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The first three are the reference's."""

_HARMLESS: Final = re.compile(
    r"KEYBOARD|KEYRING|^KEYMAP$|^KEYTIMEOUT$|^PASSWORD_STORE_", re.IGNORECASE
)
"""Layouts, and where a keyring or a store is: what is in it stays locked."""

_SWITCH: Final = re.compile(r"|0|1|on|off|yes|no|true|false", re.IGNORECASE)

# Possessive, so that no value, however long, takes more than one look at each letter.
_VALUES: Final = re.compile(
    r"""
      ://[^/?\#@\s:]*+:[^/?\#@\s]++@                                # a user's password
    | https?://[^/?\#@\s:]++@                                       # a token for a user
    | \b(?:password|passwd|pwd|accountkey|sharedaccesskey)\s*+=\s*+[^\s;&]
    | -----BEGIN\ [A-Z\ ]{0,40}KEY
    | \b(?:sk-|gh[opsu]_|github_pat_|glpat-|xox[abeoprs]-|AKIA|ASIA|AIza|npm_|pypi-|hf_)[\w-]{16}
    | \beyJ[\w-]{8,}+\.eyJ                                          # a signed token
    """,
    re.IGNORECASE | re.VERBOSE,
)


def holds_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret, or names the place of one that programs log in with."""
    named = _NAMES.search(name) and not _HARMLESS.search(name) and not _SWITCH.fullmatch(value)
    return bool(named) or bool(_VALUES.search(value))
