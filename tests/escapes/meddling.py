"""Reaching for other processes and for the kernel."""

from __future__ import annotations

from typing import Final

from tests.escapes.attempt import NOBODY, ROOT, Attempt

MEDDLING: Final = (
    Attempt(
        number=111,
        name="kill another process",
        breaks="read-only",
        goal="harmed",
        script='kill -9 "$VICTIM"',
    ),
    Attempt(
        number=112,
        name="stop another process, network allowed",
        breaks="workspace-write, network",
        goal="harmed",
        script='kill -STOP "$VICTIM"',
    ),
    Attempt(
        number=113,
        name="kill another process group",
        breaks="workspace-write",
        goal="harmed",
        language="python",
        script="os.killpg(VICTIM, signal.SIGKILL)",
    ),
    Attempt(
        number=114,
        name="kill by a descriptor of the process",
        breaks="workspace-write",
        goal="harmed",
        language="python",
        script="signal.pidfd_send_signal(os.pidfd_open(VICTIM), signal.SIGKILL)",
    ),
    Attempt(
        number=115,
        name="have the kernel send a signal for us",
        breaks="workspace-write",
        goal="harmed",
        language="python",
        script="""
        import fcntl
        reader, writer = os.pipe()
        fcntl.fcntl(reader, fcntl.F_SETOWN, VICTIM)
        fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        os.write(writer, b"x")
        """,
    ),
    Attempt(
        number=116,
        name="trace another process and change its memory",
        breaks="workspace-write",
        goal="harmed",
        language="python",
        script="""
        libc.ptrace.argtypes = [ctypes.c_long] * 4
        if libc.ptrace(16, VICTIM, 0, 0) == 0:
            os.waitpid(VICTIM, 0x40000000)
            libc.ptrace(4, VICTIM, where("environment"), 0x4141414141414141)
            libc.ptrace(17, VICTIM, 0, 0)
        """,
        needs="tracing of processes that are no children",
    ),
    Attempt(
        number=117,
        name="write another process's memory",
        breaks="workspace-write",
        goal="harmed",
        language="python",
        script="""
        ours = ctypes.create_string_buffer(b"changed!")
        local = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(ours), 8))
        there = ctypes.create_string_buffer(struct.pack("PN", where("environment"), 8))
        libc.process_vm_writev(VICTIM, local, 1, there, 1, 0)
        """,
        needs="tracing of processes that are no children",
    ),
    Attempt(
        number=118,
        name="write another process's memory as a file",
        breaks="workspace-write",
        goal="harmed",
        language="python",
        script="""
        with open("/proc/%d/mem" % VICTIM, "r+b", buffering=0) as memory:
            memory.seek(where("environment"))
            memory.write(b"changed!")
        """,
        needs="tracing of processes that are no children",
    ),
    Attempt(
        number=119,
        name="read another process's memory",
        breaks="read-only",
        goal="read",
        language="python",
        script="""
        start, size = where("environment"), where("end") - where("environment")
        ours = ctypes.create_string_buffer(size)
        local = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(ours), size))
        there = ctypes.create_string_buffer(struct.pack("PN", start, size))
        libc.process_vm_readv(VICTIM, local, 1, there, 1, 0)
        print(ours.raw)
        """,
        needs="tracing of processes that are no children",
    ),
    Attempt(
        number=120,
        name="read another process's environment",
        breaks="read-only",
        goal="read",
        script='cat "/proc/$VICTIM/environ"',
    ),
    Attempt(
        number=121,
        name="take over a descriptor of another process",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script='os.write(call(438, os.pidfd_open(VICTIM), 3, 0), b"x")',
        needs="tracing of processes that are no children",
    ),
    Attempt(
        number=122,
        name="change another process's limits",
        breaks="workspace-write",
        goal="harmed",
        script='prlimit --pid "$VICTIM" --nofile=7:7',
    ),
    Attempt(
        number=123,
        name="change another process's priority",
        breaks="workspace-write",
        goal="harmed",
        script='renice -n 19 -p "$VICTIM"',
    ),
    Attempt(
        number=124,
        name="change when and where another process runs",
        breaks="workspace-write",
        goal="harmed",
        language="python",
        script="os.sched_setscheduler(VICTIM, os.SCHED_BATCH, os.sched_param(0))",
    ),
    Attempt(
        number=125,
        name="watch another process's counters",
        breaks="workspace-write",
        goal="claimed",
        language="python",
        script="""
        wanted = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 1) + bytes(96))
        call(298, wanted, VICTIM, -1, -1, 0)
        claim()
        """,
        users=ROOT,
        needs="counters of performance",
    ),
    Attempt(
        number=126,
        name="read a key of the session that started us",
        breaks="workspace-write",
        goal="read",
        language="python",
        script="""
        SESSION, SEARCH, READ_KEY = ctypes.c_long(-3), 10, 11
        key = call(250, SEARCH, SESSION, b"user", b"escape-" + TOKEN.encode(), 0)
        text = ctypes.create_string_buffer(200)
        call(250, READ_KEY, key, text, 200)
        print(text.value)
        """,
        needs="keys in the kernel, on x86_64",
    ),
    Attempt(
        number=127,
        name="write into memory that others share",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        libc.shmat.restype = ctypes.c_void_p
        memory = libc.shmat(libc.shmget(int(E["IPC_KEY"]), 0, 0), None, 0)
        if memory not in (None, 2**64 - 1):
            ctypes.memset(memory, 120, 1)
        """,
    ),
    Attempt(
        number=128,
        name="send to a message queue of others",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        queue = libc.msgget(int(E["IPC_KEY"]), 0)
        libc.msgsnd(queue, ctypes.create_string_buffer(struct.pack("l", 1) + b"x"), 1, 0o4000)
        """,
    ),
    Attempt(
        number=129,
        name="send to a POSIX message queue of others",
        breaks="workspace-write",
        goal="sent",
        language="python",
        script="""
        queue = call(240, E["QUEUE"].encode(), os.O_WRONLY | os.O_NONBLOCK, 0, None)
        call(242, queue, b"x", 1, 0, None)
        """,
        needs="POSIX message queues on x86_64",
    ),
    Attempt(
        number=130,
        name="run a program of root's as root",
        breaks="workspace-write",
        goal="changed",
        script='"$SETUID_TOUCH" "$OUT/roots/made"',
        users=NOBODY,
        needs="programs that run as their owner",
    ),
    Attempt(
        number=131,
        name="run a program with powers of its own",
        breaks="workspace-write",
        goal="changed",
        script='"$CAPABLE_TOUCH" "$OUT/roots/made"',
        users=NOBODY,
        needs="programs with capabilities",
    ),
    Attempt(
        number=132,
        name="run a program that is in no file",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        program = os.memfd_create("program")
        with open("/bin/sh", "rb") as file:
            os.write(program, file.read())
        os.execve(program, ["sh", "-c", 'echo x > "$OUT/canary"'], dict(E))
        """,
    ),
    Attempt(
        number=133,
        name="set a value of the kernel",
        breaks="workspace-write",
        goal="claimed",
        script="""
        value=$(cat /proc/sys/vm/stat_interval) && echo "$value" > /proc/sys/vm/stat_interval &&
            claim
        """,
        users=ROOT,
    ),
    Attempt(
        number=134,
        name="say what the kernel runs when a program crashes",
        breaks="workspace-write, network",
        goal="claimed",
        script="""
        value=$(cat /proc/sys/kernel/core_pattern) &&
            echo "$value" > /proc/sys/kernel/core_pattern && claim
        """,
        users=ROOT,
    ),
    Attempt(
        number=135,
        name="reach for the emergency keys",
        breaks="workspace-write",
        goal="claimed",
        script="(: > /proc/sysrq-trigger) && claim",
        users=ROOT,
        needs="emergency keys",
    ),
    Attempt(
        number=136,
        name="make a control group",
        breaks="workspace-write",
        goal="claimed",
        script="""
        for group in /sys/fs/cgroup /sys/fs/cgroup/*/; do
            mkdir "$group/escape-$TOKEN" && rmdir "$group/escape-$TOKEN" && claim && break
        done
        """,
        users=ROOT,
        needs="control groups",
    ),
    Attempt(
        number=137,
        name="rename the machine",
        breaks="workspace-write",
        goal="claimed",
        language="python",
        script="""
        if os.readlink("/proc/self/ns/uts") == E["UTS"]:
            socket.sethostname(socket.gethostname())
            claim()
        """,
        users=ROOT,
    ),
    Attempt(
        number=138,
        name="open the disk itself",
        breaks="workspace-write",
        goal="claimed",
        language="python",
        script="""
        import stat
        number = os.stat(E["OUT"]).st_dev
        try:
            os.mknod("disk", stat.S_IFBLK | 0o600, number)
            os.read(os.open("disk", os.O_RDONLY), 1)
        except OSError:
            with open("/sys/dev/block/%d:%d/uevent" % (os.major(number), os.minor(number))) as file:
                name = file.read().partition("DEVNAME=")[2].split()[0]
            os.open("/dev/" + name, os.O_WRONLY)
        claim()
        """,
        users=ROOT,
        needs="a disk below the temporary folder",
    ),
    Attempt(
        number=139,
        name="open the door of file systems in user space",
        breaks="workspace-write",
        goal="claimed",
        script="[ -c /dev/fuse ] && (: <> /dev/fuse) && claim",
        users=ROOT,
        needs="FUSE",
    ),
    Attempt(
        number=140,
        name="open the controls of loop devices",
        breaks="workspace-write",
        goal="claimed",
        script="[ -c /dev/loop-control ] && (: <> /dev/loop-control) && claim",
        users=ROOT,
        needs="loop devices",
    ),
    Attempt(
        number=141,
        name="write to the kernel's log",
        breaks="workspace-write",
        goal="claimed",
        script="[ -c /dev/kmsg ] && (: > /dev/kmsg) && claim",
        users=ROOT,
        needs="a kernel log",
    ),
    Attempt(
        number=142,
        name="write escape sequences to somebody's terminal",
        breaks="workspace-write",
        goal="terminal",
        script="""printf '\\033]0;evil\\007\\033[2J' > "$TERMINAL" """,
    ),
    Attempt(
        number=143,
        name="type into somebody's terminal",
        breaks="workspace-write",
        goal="terminal",
        language="python",
        script="""
        import fcntl, termios
        terminal = os.open(E["TERMINAL"], os.O_RDONLY | os.O_NOCTTY)
        for letter in b"evil":
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([letter]))
        """,
        users=ROOT,
        needs="terminals that can be typed into by programs",
    ),
    Attempt(
        number=144,
        name="reach a terminal through a process that has it open",
        breaks="read-only",
        goal="terminal",
        script="""printf '\\033[2J' > "/proc/$VICTIM/fd/4"; : "$TERMINAL" """,
    ),
    Attempt(
        number=145,
        name="load something into the kernel",
        breaks="workspace-write",
        goal="claimed",
        language="python",
        script="""
        program = ctypes.create_string_buffer(bytes.fromhex("b700000000000000 9500000000000000"))
        licence = ctypes.create_string_buffer(b"GPL")
        load = struct.pack("IIQQ", 1, 2, ctypes.addressof(program), ctypes.addressof(licence))
        call(321, 5, ctypes.create_string_buffer(load + bytes(96)), 120)
        claim()
        """,
        users=ROOT,
        needs="programs in the kernel",
    ),
)
