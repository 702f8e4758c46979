"""Reading where reading is not allowed."""

from __future__ import annotations

from typing import Final

from tests.escapes.attempt import ROOT, Attempt

READING: Final = (
    Attempt(
        number=151,
        name="read a file of a denied folder",
        breaks="deny-read",
        goal="read",
        script='cat "$OUT/private/secret"',
    ),
    Attempt(
        number=152,
        name="read a denied file in the workspace",
        breaks="deny-read",
        goal="read",
        script="cat .env",
    ),
    Attempt(
        number=153,
        name="read through a symbolic link",
        breaks="deny-read",
        goal="read",
        script='ln -s "$OUT/private" door; cat door/secret; ln -s .env clear; cat clear',
    ),
    Attempt(
        number=154,
        name="read through a hard link",
        breaks="deny-read",
        goal="read",
        script="ln .env twin; cat twin",
    ),
    Attempt(
        number=155,
        name="read after a change of name",
        breaks="deny-read",
        goal="read",
        script="mv .env other; cat other",
    ),
    Attempt(
        number=156,
        name="read after a denied folder's change of name",
        breaks="deny-read",
        goal="read",
        script="mv private other; cat other/secret",
    ),
    Attempt(
        number=157,
        name="read after a change of name above a denied folder",
        breaks="deny-read",
        goal="read",
        script="mv deep other; cat other/private/secret",
    ),
    Attempt(
        number=158,
        name="read through the roots of processes",
        breaks="deny-read",
        goal="read",
        script="""cat /proc/[0-9]*/root"$OUT/private/secret" """,
    ),
    Attempt(
        number=159,
        name="read what another process stands above",
        breaks="deny-read",
        goal="read",
        script='cat "/proc/$VICTIM/cwd/private/secret"',
    ),
    Attempt(
        number=160,
        name="take away what covers it",
        breaks="deny-read",
        goal="read",
        script="""
        unshare -Urm sh -c 'umount -l "$OUT/private"; umount -l "$WORK/.env"
                            cat "$OUT/private/secret" "$WORK/.env"'
        """,
        needs="namespaces for users",
    ),
    Attempt(
        number=161,
        name="mount the same elsewhere",
        breaks="deny-read",
        goal="read",
        script="""
        unshare -Urm sh -c 'mount --bind "$OUT" "$WORK/sub"; cat "$WORK/sub/private/secret"'
        """,
        needs="namespaces for users",
    ),
    Attempt(
        number=162,
        name="open a denied file by its handle",
        breaks="deny-read",
        goal="read",
        language="python",
        script="""
        def handle_of(path):
            handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
            call(303, -100, path.encode(), handle, ctypes.byref(ctypes.c_int()), 0)
            return handle
        here, size = handle_of(WORK + "/file.txt"), 8
        inode = struct.unpack_from("I", here.raw, 8)[0]
        anchor = os.open(WORK, os.O_RDONLY)
        for number in range(max(inode - 60, 0), inode + 60):
            for generation in (0, struct.unpack_from("I", here.raw, 12)[0]):
                guess = ctypes.create_string_buffer(bytes(here.raw))
                struct.pack_into("II", guess, 8, number, generation)
                try:
                    print(os.read(call(304, anchor, guess, os.O_RDONLY), 100))
                except OSError:
                    pass
        try:
            print(os.read(call(304, anchor, handle_of(WORK + "/.env"), os.O_RDONLY), 100))
        except OSError as error:
            print(error)
        """,
        users=ROOT,
        needs="x86_64",
    ),
    Attempt(
        number=163,
        name="change the mode first",
        breaks="deny-read",
        goal="read",
        script='chmod -R 777 "$OUT/private" .env; cat "$OUT/private/secret" .env',
    ),
    Attempt(
        number=164,
        name="have a shell complain about it",
        breaks="deny-read",
        goal="read",
        script='sh .env; sh "$OUT/private/secret"',
    ),
    Attempt(
        number=165,
        name="pack the folder above it",
        breaks="deny-read",
        goal="read",
        script='tar -cf - -C "$OUT" . | cat; tar -cf - .',
    ),
    Attempt(
        number=166,
        name="step into the mounts of another process and read",
        breaks="deny-read",
        goal="read",
        script="""nsenter -t "$VICTIM" -m cat "$OUT/private/secret" """,
        users=ROOT,
    ),
)
