"""Our own words to the model, read from the package once per process start of a tree."""

from __future__ import annotations

from importlib import resources

from ..core import ContextTexts


def read_prompt(name: str) -> str:
    """Return the text of ``prompts/<name>.md``, without the last newline."""
    folder = resources.files("codex_actors") / "prompts"
    return (folder / f"{name}.md").read_text("utf-8").rstrip("\n")


def read_context_texts() -> ContextTexts:
    """Return every text that the context is made with."""
    asks = read_prompt("approval_asks")
    return ContextTexts(
        sandbox={
            "danger-full-access": read_prompt("full_access"),
            "external-sandbox": read_prompt("external_sandbox"),
            "read-only": read_prompt("read_only"),
            "workspace-write": read_prompt("workspace_write"),
        },
        approval={
            "never": read_prompt("approval_never"),
            **dict.fromkeys(("untrusted", "on-request", "on-failure", "granular"), asks),
        },
        model_switched=read_prompt("model_switched"),
        aborted=read_prompt("aborted"),
        cut_off=read_prompt("cut_off"),
        guides_replaced=read_prompt("guides_replaced"),
        guides_withdrawn=read_prompt("guides_withdrawn"),
    )
