"""Completion scripts for the shells. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._completion_words import Flag, Words

_BASH = """\
_codex_actors_offer() {{
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done
}}
_codex_actors() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    COMPREPLY=()
    # The shell takes --flag=value for three words.
    if [[ $word == '=' ]]; then word=''
    elif [[ $before == '=' ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    if (( COMP_CWORD == 1 )); then
        _codex_actors_offer < <(compgen -W {first} -- "$word")
        return
    fi
    case "${{COMP_WORDS[1]}} $before" in
{values}
    esac
    case "${{COMP_WORDS[1]}}" in
{commands}
    esac
}}
complete -F _codex_actors codex-actors
"""

_ZSH = """\
#compdef codex-actors
_codex_actors() {{
    if (( CURRENT == 2 )); then
        local -a commands=({names})
        _describe -t commands command commands
        _arguments {flags}
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
{commands}
    esac
}}
if [[ $funcstack[1] == _codex_actors ]]; then
    _codex_actors "$@"
else
    compdef _codex_actors codex-actors
fi
"""


def bash_script(program: Words, commands: Sequence[Words]) -> str:
    """Return what bash is to source; 3.2, which macOS has, will do."""
    first = [command.name for command in commands] + _names(program)
    return _BASH.format(
        first=_quote(" ".join(first)),
        values="\n".join(line for command in commands for line in _bash_values(command)),
        commands="\n".join(_bash_words(command) for command in commands),
    )


def _names(words: Words) -> list[str]:
    return [name for flag in words.flags for name in flag.names]


def _bash_values(command: Words) -> Iterator[str]:
    for flag in command.flags:
        if flag.takes != "nothing":
            pattern = "|".join(_quote(f"{command.name} {name}") for name in flag.names)
            yield f"        {pattern}) {_bash_value(flag)}return ;;"


def _bash_value(flag: Flag) -> str:
    if flag.choices:
        words = _quote(" ".join(flag.choices))
        return f'_codex_actors_offer < <(compgen -W {words} -- "$word"); '
    if flag.takes == "word":
        return ""
    kind = "f" if flag.takes == "file" else "d"
    return (
        f'compopt -o filenames 2> /dev/null; _codex_actors_offer < <(compgen -{kind} -- "$word"); '
    )


def _bash_words(command: Words) -> str:
    words = _quote(" ".join([*command.words, *_names(command)]))
    offer = f'_codex_actors_offer < <(compgen -W {words} -- "$word")'
    return f"        {_quote(command.name)}) {offer} ;;"


def zsh_script(program: Words, commands: Sequence[Words]) -> str:
    """Return what zsh is to source, or to find as ``_codex-actors`` in its ``fpath``."""
    return _ZSH.format(
        names=" ".join(_quote(f"{c.name}:{c.help}") for c in commands),
        flags=" ".join(_zsh_flag(flag, name) for flag in program.flags for name in flag.names),
        commands="\n".join(_zsh_command(command) for command in commands),
    )


def _zsh_command(command: Words) -> str:
    specs = [_zsh_flag(flag, name) for flag in command.flags for name in flag.names]
    if command.words:
        specs.append(_quote(f"1:word:({' '.join(command.words)})"))
    return f"        {_quote(command.name)}) _arguments -s -S {' '.join(specs)} ;;"


def _zsh_flag(flag: Flag, name: str) -> str:
    once = "*" if flag.repeats else f"({' '.join(flag.names)})"
    told = flag.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    if flag.takes == "nothing":
        return _quote(f"{once}{name}[{told}]")
    action = f"({' '.join(flag.choices)})" if flag.choices else _ZSH_ACTIONS[flag.takes]
    joined = "=" if name.startswith("--") else ""
    return _quote(f"{once}{name}{joined}[{told}]:value:{action}")


_ZSH_ACTIONS = {"word": " ", "file": "_files", "directory": "_files -/"}


def fish_script(program: Words, commands: Sequence[Words]) -> str:
    """Return what fish is to source."""
    lines = ["complete -c codex-actors -f"]
    lines += [_fish("__fish_use_subcommand", flag) for flag in program.flags]
    for command in commands:
        lines.append(
            "complete -c codex-actors -n __fish_use_subcommand"
            f" -a {command.name} -d {_fish_quote(command.help)}"
        )
        here = f"'__fish_seen_subcommand_from {command.name}'"
        lines += [f"complete -c codex-actors -n {here} -a {word}" for word in command.words]
        lines += [_fish(here, flag) for flag in command.flags]
    return "\n".join([*lines, ""])


def _fish(condition: str, flag: Flag) -> str:
    names = [*(f"-s {short}" for short in flag.shorts), *(f"-l {long}" for long in flag.longs)]
    told = f"-d {_fish_quote(flag.help)}"
    return " ".join(["complete -c codex-actors -n", condition, *names, *_fish_value(flag), told])


def _fish_value(flag: Flag) -> list[str]:
    if flag.choices:
        return ["-x", "-a", _fish_quote(" ".join(flag.choices))]
    match flag.takes:
        case "nothing":
            return []
        case "word":
            return ["-x"]
        case "file":
            return ["-r", "-F"]
        case "directory":
            return ["-x", "-a", "'(__fish_complete_directories)'"]


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
