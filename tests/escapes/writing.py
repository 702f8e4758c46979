"""Writing where writing is not allowed."""

from __future__ import annotations

from typing import Final

from tests.escapes.attempt import NOBODY, ROOT, Attempt

WRITING: Final = (
    Attempt(
        number=1,
        name="write by an absolute path, where nothing may be written",
        breaks="read-only",
        goal="changed",
        script='echo x > "$OUT/canary"',
    ),
    Attempt(
        number=2,
        name="write in the working directory, where nothing may be written",
        breaks="read-only",
        goal="changed",
        script="echo x > file.txt",
    ),
    Attempt(
        number=3,
        name="write into /tmp, where nothing may be written",
        breaks="read-only",
        goal="changed",
        script='echo x > "/tmp/escape-$TOKEN"',
    ),
    Attempt(
        number=4,
        name="write by an absolute path",
        breaks="workspace-write",
        goal="changed",
        script='echo x > "$OUT/canary"',
    ),
    Attempt(
        number=5,
        name="write by a relative path with ..",
        breaks="workspace-write",
        goal="changed",
        script="echo x > ../outside/canary",
    ),
    Attempt(
        number=6,
        name="write by .. below a folder made for it",
        breaks="workspace-write, network",
        goal="changed",
        script="mkdir -p a/b; echo x > a/b/../../../outside/canary",
    ),
    Attempt(
        number=7,
        name="make a file",
        breaks="workspace-write, network",
        goal="changed",
        script='echo x > "$OUT/made"',
    ),
    Attempt(
        number=8,
        name="remove a file",
        breaks="workspace-write",
        goal="changed",
        script='rm -f "$OUT/canary"',
    ),
    Attempt(
        number=9,
        name="remove a folder with all below it",
        breaks="workspace-write",
        goal="changed",
        script="rm -rf ../outside/folder",
    ),
    Attempt(
        number=10,
        name="make and remove folders",
        breaks="workspace-write",
        goal="changed",
        script='mkdir "$OUT/made"; rmdir "$OUT/folder/empty"',
    ),
    Attempt(
        number=11,
        name="truncate without opening",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script='os.truncate(OUT + "/canary", 0)',
    ),
    Attempt(
        number=12,
        name="write through a symbolic link to a folder",
        breaks="workspace-write",
        goal="changed",
        script='ln -s "$OUT" door; echo x > door/canary',
    ),
    Attempt(
        number=13,
        name="write through a chain of links and ..",
        breaks="workspace-write",
        goal="changed",
        script="ln -s .. up; ln -s up/outside over; echo x > over/canary",
    ),
    Attempt(
        number=14,
        name="make a file through a dangling link",
        breaks="workspace-write",
        goal="changed",
        script='ln -s "$OUT/made" door; echo x > door',
    ),
    Attempt(
        number=15,
        name="write through a hard link",
        breaks="workspace-write",
        goal="changed",
        script='ln "$OUT/canary" twin && echo x > twin',
    ),
    Attempt(
        number=16,
        name="write through a hard link made from a descriptor",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        fd = os.open(OUT + "/canary", os.O_RDONLY)
        libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"twin", 0x400)
        open("twin", "w").write("x")
        """,
    ),
    Attempt(
        number=17,
        name="rename a file out of its folder into ours",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script='os.rename(OUT + "/canary", "taken")',
    ),
    Attempt(
        number=18,
        name="rename a file of ours over another",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script='os.rename("file.txt", OUT + "/canary")',
    ),
    Attempt(
        number=19,
        name="exchange two files in one step",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        RENAMEAT2, HERE, EXCHANGE = 316, -100, 2
        call(RENAMEAT2, HERE, b"file.txt", HERE, (OUT + "/canary").encode(), EXCHANGE)
        """,
        needs="x86_64",
    ),
    Attempt(
        number=20,
        name="change a mode",
        breaks="workspace-write",
        goal="changed",
        script='chmod 777 "$OUT/canary"',
    ),
    Attempt(
        number=21,
        name="change a time",
        breaks="workspace-write",
        goal="changed",
        script='touch -d 2001-01-01 "$OUT/canary"',
    ),
    Attempt(
        number=22,
        name="change an owner",
        breaks="workspace-write",
        goal="changed",
        script='chown 1:1 "$OUT/canary"',
        users=ROOT,
    ),
    Attempt(
        number=23,
        name="set an extended attribute",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script='os.setxattr(OUT + "/canary", "user.escape", b"x")',
        needs="a file system with attributes of users",
    ),
    Attempt(
        number=24,
        name="make a fifo and a socket",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        try:
            os.mkfifo(OUT + "/fifo")
        finally:
            socket.socket(socket.AF_UNIX).bind(OUT + "/socket")
        """,
    ),
    Attempt(
        number=25,
        name="write through shared memory of a mapped file",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        with open(OUT + "/canary", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[:1] = b"x"
        """,
    ),
    Attempt(
        number=26,
        name="link a nameless file into a folder",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        fd = os.open(WORK, os.O_TMPFILE | os.O_RDWR)
        os.write(fd, b"x")
        libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, (OUT + "/made").encode(), 0x400)
        """,
        needs="a file system with nameless files",
    ),
    Attempt(
        number=27,
        name="open for reading, then again for writing through /proc",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        fd = os.open(OUT + "/canary", os.O_RDONLY)
        with open("/proc/self/fd/%d" % fd, "w") as file:
            file.write("x")
        """,
    ),
    Attempt(
        number=28,
        name="go through the root of our own process",
        breaks="workspace-write",
        goal="changed",
        script='echo x > "/proc/self/root$OUT/canary"',
    ),
    Attempt(
        number=29,
        name="go through the root of the first process",
        breaks="workspace-write",
        goal="changed",
        script='echo x > "/proc/1/root$OUT/canary"',
        users=ROOT,
        needs="a first process that root may look into",
    ),
    Attempt(
        number=30,
        name="go through the root of every process there is",
        breaks="workspace-write",
        goal="changed",
        script="""
        for root in /proc/[0-9]*/root; do (echo x > "$root$OUT/canary") 2>/dev/null; done
        """,
    ),
    Attempt(
        number=31,
        name="go through the working directory of another process",
        breaks="workspace-write",
        goal="changed",
        script='echo x > "/proc/$VICTIM/cwd/canary"',
    ),
    Attempt(
        number=32,
        name="go through a file that another process has open",
        breaks="workspace-write",
        goal="changed",
        script='echo x > "/proc/$VICTIM/fd/3"',
    ),
    Attempt(
        number=33,
        name="swap a folder for a link between check and use",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        import threading
        os.mkdir("real")
        os.symlink(OUT, "false")
        done = False
        def swap():
            while not done:
                for old, new in (("real", "door"), ("door", "real"), ("false", "door"), ("door", "false")):
                    try:
                        os.rename(old, new)
                    except OSError:
                        pass
        threading.Thread(target=swap, daemon=True).start()
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            try:
                with open("door/raced", "w") as file:
                    file.write("x")
            except OSError:
                pass
        done = True
        """,
    ),
    Attempt(
        number=34,
        name="move the folder that we stand in and go up from there",
        breaks="workspace-write",
        goal="changed",
        script="""
        mkdir -p a/b/c; cd a/b/c; mv "$WORK/a/b" "$WORK/b"; cd -P ../..
        echo x > outside/canary; echo x > ../outside/canary
        """,
    ),
    Attempt(
        number=35,
        name="open a file by its handle",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        NAME_TO_HANDLE, OPEN_BY_HANDLE = 303, 304
        handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
        mount = ctypes.c_int()
        call(NAME_TO_HANDLE, -100, (OUT + "/canary").encode(), handle, ctypes.byref(mount), 0)
        fd = call(OPEN_BY_HANDLE, os.open(WORK, os.O_RDONLY), handle, os.O_RDWR)
        os.write(fd, b"x")
        """,
        users=ROOT,
        needs="x86_64",
    ),
    Attempt(
        number=36,
        name="give the new root of a chroot the slip",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        os.mkdir("jail")
        os.chroot("jail")
        os.chdir("../" * 30)
        os.chroot(".")
        open(OUT + "/canary", "w").write("x")
        """,
        users=ROOT,
    ),
    Attempt(
        number=37,
        name="write a file in shared memory's folder",
        breaks="workspace-write",
        goal="changed",
        script='echo x > "/dev/shm/escape-$TOKEN"',
    ),
    Attempt(
        number=38,
        name="write into temporary folders that are excluded",
        breaks="workspace-write",
        goal="changed",
        script='echo x > "/tmp/escape-$TOKEN"; echo x > "/var/tmp/escape-$TOKEN"',
    ),
    Attempt(
        number=39,
        name="write into the system's folders",
        breaks="workspace-write",
        goal="changed",
        script='for d in /etc /usr /var /run /opt; do echo "#" > "$d/escape-$TOKEN"; done',
        users=ROOT,
    ),
    Attempt(
        number=40,
        name="win a race for a name in a temporary folder by a link",
        breaks="workspace-write",
        goal="changed",
        script="""
        ln -s "$OUT/made" "$WORK/tmp.link"
        cp file.txt "$WORK/tmp.link"; cp -P "$WORK/tmp.link" "/tmp/escape-$TOKEN"
        """,
    ),
)
MOUNTING: Final = (
    Attempt(
        number=41,
        name="mount writable what is mounted read-only",
        breaks="workspace-write",
        goal="changed",
        script="""
        unshare -m sh -c 'mount -o remount,bind,rw "$OUT"; mount -o remount,rw /
                          echo x > "$OUT/canary"'
        """,
        users=ROOT,
    ),
    Attempt(
        number=42,
        name="mount it again in a namespace of our own",
        breaks="workspace-write",
        goal="changed",
        script="""
        unshare -Urm sh -c 'mount -o remount,bind,rw /; mount --bind "$OUT" "$WORK/sub"
                            echo x > "$WORK/sub/canary"'
        """,
        needs="namespaces for users",
    ),
    Attempt(
        number=43,
        name="take away what covers a protected folder",
        breaks="workspace-write",
        goal="changed",
        script="""
        unshare -Urm sh -c 'umount -l "$WORK/.git"; echo x > "$WORK/.git/config"'
        """,
        needs="namespaces for users",
    ),
    Attempt(
        number=44,
        name="clone a mount and make the clone writable",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        OPEN_TREE, MOUNT_SETATTR, CLONE, EMPTY, READ_ONLY = 428, 442, 1, 0x1000, 1
        tree = call(OPEN_TREE, -100, OUT.encode(), CLONE | 0x80000)
        change = ctypes.create_string_buffer(struct.pack("QQQQ", 0, READ_ONLY, 0, 0))
        call(MOUNT_SETATTR, tree, b"", EMPTY, change, 32)
        os.write(os.open("canary", os.O_WRONLY, dir_fd=tree), b"x")
        """,
        users=ROOT,
        needs="Linux 5.12 on x86_64",
    ),
    Attempt(
        number=45,
        name="put another root below us",
        breaks="workspace-write",
        goal="changed",
        script="""
        unshare -Urm sh -c 'mount --rbind / "$WORK/sub" && cd "$WORK/sub" &&
            pivot_root . . ; echo x > ".$OUT/canary"; echo x > "$OUT/canary"'
        """,
        needs="namespaces for users",
    ),
    Attempt(
        number=46,
        name="step into the mounts of another process",
        breaks="workspace-write",
        goal="changed",
        script="""nsenter -t "$VICTIM" -m sh -c 'echo x > "$OUT/canary"'""",
        users=ROOT,
    ),
    Attempt(
        number=47,
        name="step into the mounts of the first process",
        breaks="workspace-write",
        goal="changed",
        script="""nsenter -t 1 -m sh -c 'echo x > "$OUT/canary"'""",
        users=ROOT,
        needs="a first process that root may look into",
    ),
    Attempt(
        number=48,
        name="become root of a namespace of our own and write",
        breaks="workspace-write, network",
        goal="changed",
        script="""unshare -Ur sh -c 'echo x > "$OUT/canary"'""",
        users=NOBODY,
        needs="namespaces for users",
    ),
)
