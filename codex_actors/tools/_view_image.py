"""Pictures on disk, for the model to look at."""

from __future__ import annotations

import base64
import os.path
from typing import Annotated, Final, Literal, final

import attrs
import trio

from ..core import UNCONFINED, Reach
from ..protocol import ImageViewItem, InputImage, ToolCall, ToolOutput
from ._announce import announce_completed, announce_started
from ._arguments import function_tool
from ._limits import absolute, reach_of
from ._patch_files import read_content
from ._tool import Tool, ToolContext, refuse

MAX_IMAGE_BYTES: Final = 20 * 1024 * 1024
"""The largest file that is sent; with base64's third on top, requests stay below 30 MB."""


async def load_image(
    path: str, *, detail: str | None = None, reach: Reach = UNCONFINED
) -> InputImage | str:
    """Return a picture as a part of a message, or in one sentence why that cannot be.

    Pictures go to the model as they are: nothing is resized or converted.

    Args:
        path: Where it is. PNG, JPEG, GIF and WebP are known by their first bytes.
        detail: How closely the model is to look; ``high`` if not given.
        reach: What may be read, wherever links lead.

    Cancellation: nothing has happened.
    """
    try:
        data = await trio.to_thread.run_sync(_read, path, reach, abandon_on_cancel=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return f"unable to locate image at {path!r}: {reason}"
    if isinstance(data, str):
        return data
    kind = _kind(data)
    if kind is None:
        return (
            f"unable to process image {path!r}: it is no complete PNG, JPEG, GIF or WebP;"
            " convert it to one of these"
        )
    text = base64.b64encode(data).decode("ascii")
    return InputImage(f"data:image/{kind};base64,{text}", detail or "high")


def _read(path: str, reach: Reach) -> bytes | str:
    try:
        content = read_content(os.path.abspath(path), reach, most=MAX_IMAGE_BYTES)
    except IsADirectoryError:
        return f"image path {path!r} is not a file"
    if content.status.st_size > MAX_IMAGE_BYTES:
        return (
            f"unable to process image {path!r}: it has {content.status.st_size} bytes, and"
            f" {MAX_IMAGE_BYTES} is the most that can be sent; make it smaller"
        )
    return content.data


def _kind(data: bytes) -> str | None:
    """Tell the format, by how files of it begin and end.

    A picture that was cut off would be refused by the provider, and, being in the history,
    would spoil every later request.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n") and b"IEND" in data[-4096:]:
        return "png"
    if data.startswith(b"\xff\xd8\xff") and b"\xff\xd9" in data[3:]:
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")) and b"\x3b" in data[13:]:
        return "gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp" if int.from_bytes(data[4:8], "little") + 8 <= len(data) else None
    return None


@final
@attrs.frozen(kw_only=True)
class _View:
    path: Annotated[str, "Path of the image file."]
    detail: Annotated[
        Literal["high", "original"] | None,
        "`original` keeps every pixel; `high`, the default, may be scaled down.",
    ] = None


async def _view_image(view: _View, call: ToolCall, context: ToolContext) -> ToolOutput:
    model = context.settings.model
    if "image" not in model.input_modalities:
        await trio.lowlevel.checkpoint()
        return refuse(call, f"view_image is not possible: {model.slug} takes no images")
    path = absolute(view.path, context.settings.cwd)
    detail = view.detail if model.supports_image_detail_original else None
    reach = await trio.to_thread.run_sync(reach_of, context.settings, context.guard.held)
    picture = await load_image(path, detail=detail, reach=reach)
    if isinstance(picture, str):
        return refuse(call, picture)
    item = ImageViewItem(id=call.call_id, path=path)
    announce_completed(item, context, started_at_ms=announce_started(item, context))
    return ToolOutput(call_id=call.call_id, output=(picture,), kind=call.kind)


def view_image(*, original: bool) -> Tool:
    """Return the tool that shows the model a picture on disk.

    Args:
        original: Whether the model can look at pictures without scaling them down.
    """
    return function_tool(
        name="view_image",
        description="Shows you an image file that is on this machine.",
        arguments=_View,
        run=_view_image,
        hidden=() if original else ("detail",),
        gate="shared",
    )
