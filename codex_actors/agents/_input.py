"""A user's input, made into what the history holds and what people are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

import trio

from ..core import Entry
from ..protocol import (
    ContentPart,
    ImageInput,
    InputImage,
    InputText,
    LocalImageInput,
    Message,
    OtherInput,
    TextInput,
    UserInput,
    UserMessageItem,
)
from ..tools import load_image
from ._errors import EmptyInput


async def prepare_input(
    items: Sequence[UserInput], *, new_id: Callable[[], str]
) -> tuple[Entry, ...]:
    """Return the history entry for a user's input, with its pictures read.

    A picture that cannot be read is replaced by words that say so, for the model.

    Raises:
        EmptyInput: if there is nothing but white space.

    Cancellation: nothing has happened.
    """
    if all(isinstance(item, TextInput) and not item.text.strip() for item in items):
        raise EmptyInput
    await trio.lowlevel.checkpoint()
    parts: list[ContentPart] = []
    pictures = 0
    for item in items:
        pictures += isinstance(item, ImageInput | LocalImageInput)
        parts += await _parts(item, pictures)
    shown = UserMessageItem(id=new_id(), content=tuple(items))
    return (Entry(Message(role="user", content=tuple(parts)), shown),)


async def _parts(item: UserInput, number: int) -> list[ContentPart]:
    match item:
        case TextInput(text):
            return [InputText(text)]
        case ImageInput(url, detail):
            return [InputImage(url, detail or "high")]
        case LocalImageInput(path, detail):
            picture = await load_image(path, detail=detail)
            if isinstance(picture, str):
                return [InputText(picture)]
            opening = InputText(f'<image name=[Image #{number}] path="{path}">')
            return [opening, picture, InputText("</image>")]
        case OtherInput(kind):
            return [InputText(f"(input of the unknown kind {kind!r} was left out)")]
        case _:
            assert_never(item)
