"""What a model gives an agent to do: one text, or items of several kinds."""

from __future__ import annotations

from typing import Annotated, Final, final

import attrs

from ..protocol import ImageInput, LocalImageInput, TextInput, UserInput
from ._errors import CollaborationRefused

LONGEST: Final = 1 << 20
"""Characters of one message; the reference's number for what users say."""


@final
@attrs.frozen(kw_only=True)
class InputItem:
    """One piece of structured input."""

    type: Annotated[
        str | None, "`text`, `image`, `local_image`, `audio`, `local_audio`, `skill` or `mention`."
    ] = None
    text: Annotated[str | None, "The words of a `text`."] = None
    image_url: Annotated[str | None, "Where an `image` is."] = None
    audio_url: Annotated[str | None, "Where an `audio` is, as a data URL."] = None
    path: Annotated[
        str | None,
        "Of a `local_image`, `local_audio` or `skill`; of a `mention`, what is meant, like"
        " `app://<id>`.",
    ] = None
    name: Annotated[str | None, "What a `skill` or a `mention` is called."] = None


@final
@attrs.frozen(kw_only=True)
class Said:
    """A message as it reaches the agent, and as people are shown it."""

    items: tuple[UserInput, ...]
    preview: str


def read_message(message: str | None, items: tuple[InputItem, ...] | None) -> Said:
    """Return what a model says, in one of the two ways that it can.

    Raises:
        CollaborationRefused: if it is nothing, both, or more than anybody would read.
    """
    if message is not None and items is not None:
        raise CollaborationRefused("`message` and `items` are both there; give one of them")
    if items is not None:
        return _read_items(items)
    if message is None:
        raise CollaborationRefused("neither `message` nor `items` is there; say what is to be done")
    check_text(message)
    return Said(items=(TextInput(message),), preview=message)


def check_text(text: str) -> None:
    """Refuse a message that says nothing, or too much.

    Raises:
        CollaborationRefused: if it does.
    """
    if not text.strip():
        raise CollaborationRefused(
            "an empty message tells an agent nothing; say what is to be done"
        )
    if len(text) > LONGEST:
        raise CollaborationRefused(
            f"the message has {len(text)} characters, and {LONGEST} is the most; put the rest into"
            " a file, and say where it is"
        )


def _read_items(items: tuple[InputItem, ...]) -> Said:
    if not items:
        raise CollaborationRefused("`items` is empty; say what is to be done")
    preview = "\n".join(map(_preview, items))
    check_text(preview)
    inputs = tuple(found for item in items if (found := _input(item)) is not None)
    if not inputs or all(isinstance(i, TextInput) and not i.text.strip() for i in inputs):
        raise CollaborationRefused("`items` has nothing that an agent could act on; add a `text`")
    return Said(items=inputs, preview=preview)


def _input(item: InputItem) -> UserInput | None:
    match item:
        case InputItem(type="text" | None, text=str(text)):
            return TextInput(text)
        case InputItem(type="image", image_url=str(url)):
            return ImageInput(url)
        case InputItem(type="local_image", path=str(path)):
            return LocalImageInput(path)
        case InputItem(type="skill"):
            return TextInput(_preview(item))
        case InputItem(type="mention"):
            return None
        case _:
            raise CollaborationRefused(
                f"an item of the type {item.type!r} cannot be passed on like this; give `text` with"
                " a text, `image` with an `image_url`, or `local_image` with a `path`"
            )


def _preview(item: InputItem) -> str:
    match item.type:
        case "text" | None:
            return item.text or ""
        case "image" | "audio":
            return f"[{item.type}]"
        case "local_image" | "local_audio":
            return f"[{item.type}:{item.path}]"
        case "skill" | "mention":
            return f"[{item.type}:${item.name}]({item.path})"
        case _:
            return "[input]"
