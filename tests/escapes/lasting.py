"""Living on, acting later, and using up what there is."""

from __future__ import annotations

from typing import Final

from tests.escapes.attempt import Attempt

LASTING: Final = (
    Attempt(
        number=171,
        name="write later, from a session of its own",
        breaks="workspace-write",
        goal="changed",
        script="""setsid sh -c 'sleep 0.2; echo x > "$OUT/canary"' > /dev/null 2>&1 & sleep 0.2""",
        linger=1.0,
    ),
    Attempt(
        number=172,
        name="write later, after two forks",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(0.2)
                open(OUT + "/canary", "w").write("x")
            os._exit(0)
        time.sleep(0.2)
        """,
        linger=1.0,
    ),
    Attempt(
        number=173,
        name="write later, deaf to the end of the terminal",
        breaks="read-only",
        goal="changed",
        script="""nohup setsid sh -c 'sleep 0.2; echo x > "$OUT/canary"' > /dev/null 2>&1 & sleep 0.2""",
        linger=1.0,
    ),
    Attempt(
        number=174,
        name="live on in a session of its own",
        breaks="workspace-write",
        goal="left",
        script='setsid sh -c "sleep 300; : $TOKEN" > /dev/null 2>&1 & sleep 0.2',
    ),
    Attempt(
        number=175,
        name="live on after two forks",
        breaks="workspace-write",
        goal="left",
        language="python",
        script="""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in range(64):
                    try:
                        os.close(number)
                    except OSError:
                        pass
                os.chdir("/")
                time.sleep(300)
            os._exit(0)
        time.sleep(0.2)
        """,
    ),
    Attempt(
        number=176,
        name="live on without the environment",
        breaks="workspace-write",
        goal="left",
        script='setsid env -i sh -c "sleep 300; : $TOKEN" > /dev/null 2>&1 & sleep 0.2',
    ),
    Attempt(
        number=177,
        name="live on, deaf to every signal that one can be deaf to",
        breaks="read-only",
        goal="left",
        script="""
        setsid sh -c "trap '' HUP INT QUIT TERM USR1 USR2 ALRM PIPE; sleep 300; : $TOKEN" \\
            > /dev/null 2>&1 & sleep 0.2
        """,
    ),
    Attempt(
        number=178,
        name="live on as one who takes in orphans",
        breaks="workspace-write, network",
        goal="left",
        language="python",
        script="""
        if os.fork() == 0:
            os.setsid()
            libc.prctl(36, 1, 0, 0, 0)
            for _ in range(3):
                if os.fork() == 0:
                    if os.fork() == 0:
                        time.sleep(300)
                    os._exit(0)
            time.sleep(300)
        time.sleep(0.2)
        """,
    ),
    Attempt(
        number=179,
        name="live on in a namespace of processes",
        breaks="workspace-write",
        goal="left",
        script='setsid unshare -Urpf sh -c "sleep 300; : $TOKEN" > /dev/null 2>&1 & sleep 0.2',
        needs="namespaces for users",
    ),
    Attempt(
        number=180,
        name="run away from fork to fork",
        breaks="workspace-write",
        goal="left",
        language="python",
        script="""
        for number in range(15):
            child = os.fork()
            while child and not number and os.getsid(child) == os.getsid(0):
                time.sleep(0.05)
            if child:
                os._exit(0)
            os.setsid()
            time.sleep(1.0)
        """,
    ),
    Attempt(
        number=181,
        name="be many",
        breaks="workspace-write",
        goal="left",
        language="python",
        script="""
        for _ in range(5):
            os.fork()
        os.setsid() if os.getpid() != os.getpgid(0) else None
        time.sleep(300)
        """,
        limit=60.0,
    ),
    Attempt(
        number=182,
        name="be many who fork again when one of them goes",
        breaks="workspace-write",
        goal="overrun",
        language="python",
        script="""
        def keep():
            for _ in range(20):
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(300)
                os.wait()
        for _ in range(5):
            if os.fork() == 0:
                keep()
        time.sleep(300)
        """,
        limit=60.0,
    ),
    Attempt(
        number=183,
        name="fill a disk",
        breaks="workspace-write",
        goal="changed",
        script='ulimit -f 8192; dd if=/dev/zero of="$OUT/fill" bs=65536 count=64',
    ),
    Attempt(
        number=184,
        name="use up the names of a disk",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        for number in range(500):
            open("%s/fill-%d" % (OUT, number), "w").close()
        """,
    ),
    Attempt(
        number=185,
        name="fill what is shared memory",
        breaks="read-only",
        goal="changed",
        script='ulimit -f 8192; dd if=/dev/zero of="/dev/shm/escape-$TOKEN" bs=65536 count=64',
    ),
    Attempt(
        number=186,
        name="use a processor for ever, deaf to signals",
        breaks="workspace-write",
        goal="overrun",
        script="trap '' HUP INT QUIT TERM; while :; do sleep 0.01; done",
    ),
    Attempt(
        number=187,
        name="print for ever",
        breaks="read-only",
        goal="overrun",
        script="while :; do echo y; sleep 0.001; done",
    ),
    Attempt(
        number=188,
        name="stop, and be in nobody's way",
        breaks="workspace-write",
        goal="overrun",
        script="kill -STOP $$",
    ),
    Attempt(
        number=189,
        name="hold on to memory",
        breaks="workspace-write",
        goal="overrun",
        language="python",
        script="""
        memory = bytearray(32 * 1024 * 1024)
        libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory))), 4096)
        time.sleep(300)
        """,
    ),
    Attempt(
        number=190,
        name="leave the dead unburied",
        breaks="workspace-write",
        goal="overrun",
        language="python",
        script="""
        for _ in range(100):
            if os.fork() == 0:
                os._exit(0)
        time.sleep(300)
        """,
    ),
)
