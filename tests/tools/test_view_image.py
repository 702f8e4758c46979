from __future__ import annotations

import base64
import os
import struct
import zlib
from pathlib import Path

import attrs
import pytest

from codex_actors.protocol import (
    GlobPlace,
    ImageViewItem,
    InputImage,
    ItemCompleted,
    ItemStarted,
    ManagedProfile,
    PermissionEntry,
    Profiled,
    ProjectPlace,
    RootPlace,
    ToolOutput,
)
from codex_actors.tools import MAX_IMAGE_BYTES, load_image
from tests.tools.support import World, make_settings, open_world


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + png_chunk(b"IDAT", zlib.compress(b"\0\x10\x20\x30"))
    + png_chunk(b"IEND", b"")
)
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 20 + b"\xff\xd9"
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WEBP = base64.b64decode("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=")
PICTURES = [("png", PNG), ("jpeg", JPEG), ("gif", GIF), ("webp", WEBP)]


@pytest.mark.parametrize(("kind", "data"), PICTURES)
async def test_a_picture_goes_to_the_model(
    world: World, tmp_path: Path, kind: str, data: bytes
) -> None:
    (tmp_path / "picture").write_bytes(data)
    output = await world.call("view_image", path="picture")
    url = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    item = ImageViewItem(id="c0", path=str(tmp_path / "picture"))

    assert ToolOutput(call_id="c0", output=(InputImage(url, "high"),)) == output
    assert [
        ItemStarted(thread_id="thread", turn_id="turn", item=item, started_at_ms=1000),
        ItemCompleted(
            thread_id="thread",
            turn_id="turn",
            item=item,
            started_at_ms=1000,
            completed_at_ms=1000,
        ),
    ] == world.events


@pytest.mark.parametrize(("kind", "data"), PICTURES)
async def test_half_a_picture_does_not(
    world: World, tmp_path: Path, kind: str, data: bytes
) -> None:
    (tmp_path / "picture").write_bytes(data[: len(data) // 2])

    assert "no complete" in (await world.call("view_image", path="picture")).text


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nope.png", "No such file"),
        ("dir", "is not a file"),
        ("", "is not a file"),
        ("pipe", "is not a file"),
        ("text.png", "no complete PNG"),
        ("empty.png", "no complete PNG"),
        ("huge.png", f"{MAX_IMAGE_BYTES + 1} bytes"),
        ("loop", "symbolic links"),
        ("a\0b", "null byte"),
        ("text.png/below", "Not a directory"),
    ],
)
async def test_what_is_no_picture_is_refused_in_words(
    world: World, tmp_path: Path, path: str, words: str
) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "text.png").write_text("hello")
    (tmp_path / "empty.png").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(MAX_IMAGE_BYTES + 1)
    output = await world.call("view_image", path=path)

    assert not output.ok
    assert words in output.text
    assert [] == world.events


async def test_an_unreadable_file(world: World, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (tmp_path / "picture").write_bytes(PNG)
    (tmp_path / "picture").chmod(0)

    assert "Permission denied" in (await world.call("view_image", path="picture")).text


async def test_a_model_without_eyes(tmp_path: Path) -> None:
    model = attrs.evolve(make_settings(tmp_path).model, input_modalities=("text",))
    async with open_world(tmp_path, model=model) as world:
        output = await world.call("view_image", path="picture")

    assert "view_image is not possible: mock-model takes no images" == output.text


@pytest.mark.parametrize(
    ("supported", "asked", "given"),
    [
        (False, None, "high"),
        (False, "original", "high"),
        (True, None, "high"),
        (True, "high", "high"),
        (True, "original", "original"),
    ],
)
async def test_detail(tmp_path: Path, supported: bool, asked: str | None, given: str) -> None:
    (tmp_path / "picture").write_bytes(PNG)
    model = attrs.evolve(make_settings(tmp_path).model, supports_image_detail_original=supported)
    async with open_world(tmp_path, model=model) as world:
        output = await world.call("view_image", path="picture", detail=asked)

    assert [given] == [part.detail for part in output.output if isinstance(part, InputImage)]


@pytest.mark.parametrize("arguments", ["{}", '{"path": 5}', '{"path": "p", "detail": "low"}'])
async def test_bad_arguments(world: World, arguments: str) -> None:
    output = await world.send("view_image", arguments)

    assert not output.ok
    assert output.text.startswith("failed to parse function arguments: ")


async def test_pictures_of_users_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(GIF)
    picture = await load_image(str(tmp_path / "picture"), detail="low")
    missing = await load_image(str(tmp_path / "missing"))

    assert InputImage(f"data:image/gif;base64,{base64.b64encode(GIF).decode()}", "low") == picture
    assert isinstance(missing, str)


DENYING = Profiled(
    profile=ManagedProfile(
        entries=(
            PermissionEntry(place=RootPlace(), access="read"),
            PermissionEntry(place=ProjectPlace("private"), access="deny"),
            PermissionEntry(place=GlobPlace("**/*.secret"), access="deny"),
        )
    )
)


@pytest.mark.parametrize("path", ["private/a.png", "b.secret", "link.png", "x.secret", "in/c.png"])
async def test_what_a_profile_denies_is_not_shown(tmp_path: Path, path: str) -> None:
    (tmp_path / "private").mkdir()
    for name in ("private/a.png", "b.secret", "open.png", "private/c.png"):
        (tmp_path / name).write_bytes(PNG)
    (tmp_path / "link.png").symlink_to("private/a.png")
    (tmp_path / "x.secret").symlink_to("open.png")
    (tmp_path / "in").symlink_to("private")

    async with open_world(tmp_path, sandbox_policy=DENYING) as world:
        refused = await world.call("view_image", path=path)
        shown = await world.call("view_image", path="open.png")

    assert not refused.ok
    assert "Permission denied" in refused.text
    assert shown.ok
