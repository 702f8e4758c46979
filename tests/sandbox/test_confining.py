"""Every sandbox that works here, with real commands."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
import trio

from codex_actors.protocol import (
    Access,
    DangerFullAccess,
    GlobPlace,
    ManagedProfile,
    MinimalPlace,
    PathPlace,
    PermissionEntry,
    PermissionProfile,
    ProjectPlace,
    ReadOnly,
    RootPlace,
    SandboxPolicy,
    WorkspaceWrite,
)
from codex_actors.sandbox import (
    CouldNotStart,
    Landlock,
    NoSandbox,
    ProcessSpec,
    Sandbox,
    SandboxRefused,
    confine,
    find_sandboxes,
    open_processes,
)

SANDBOXES = find_sandboxes()
MOUNTING = [sandbox for sandbox in SANDBOXES if not isinstance(sandbox, Landlock)]
NARROW = WorkspaceWrite(exclude_slash_tmp=True, exclude_tmpdir_env_var=True)
each = pytest.mark.parametrize("sandbox", SANDBOXES, ids=lambda sandbox: sandbox.name)
mounting = pytest.mark.parametrize("sandbox", MOUNTING, ids=lambda sandbox: sandbox.name)
pytestmark = pytest.mark.skipif(not SANDBOXES, reason="no sandbox works on this machine")


class Sink:
    def __init__(self) -> None:
        self.data = b""

    def append(self, data: bytes, /) -> None:
        self.data += data

    @property
    def text(self) -> str:
        return self.data.decode()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "work"
    root.mkdir()
    return root


async def confined(
    sandbox: Sandbox,
    policy: SandboxPolicy | PermissionProfile,
    work: Path,
    script: str,
    *,
    tty: bool = False,
) -> ProcessSpec:
    spec = ProcessSpec(argv=("/bin/sh", "-c", script), cwd=str(work), env=dict(os.environ), tty=tty)
    return await confine(spec, policy, workspace=str(work), sandbox=sandbox)


async def run(
    sandbox: Sandbox,
    policy: SandboxPolicy | PermissionProfile,
    work: Path,
    script: str,
    *,
    tty: bool = False,
) -> tuple[int, str]:
    spec, sink = await confined(sandbox, policy, work, script, tty=tty), Sink()
    async with open_processes() as processes:
        process = await processes.start(spec, sink)
        return await process.wait(), sink.text


@each
async def test_read_only_reads_and_writes_nothing(sandbox: Sandbox, work: Path) -> None:
    (work / "f").write_text("old\n")

    code, text = await run(sandbox, ReadOnly(), work, "cat f; echo new > f || echo refused")

    assert (0, "old") == (code, text.split("\n")[0])
    assert text.endswith("refused\n")
    assert "old\n" == (work / "f").read_text()


@mounting
async def test_the_workspace_is_written_and_nothing_else(sandbox: Sandbox, work: Path) -> None:
    outside = work.parent / "outside"

    await run(sandbox, NARROW, work, f"echo x > f; echo x > {outside}; echo x > ../outside")

    assert ["f"] == os.listdir(work)
    assert not outside.exists()


@mounting
async def test_what_configures_the_workspace_stays(sandbox: Sandbox, work: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("mine")

    code, _ = await run(
        sandbox,
        NARROW,
        work,
        "echo x > .git/config; mv .git g; mkdir .codex/x; rmdir .codex; mv .codex c; exit 0",
    )

    assert 0 == code
    assert [".git"] == sorted(os.listdir(work)), "stand-ins are taken away"
    assert "mine" == (work / ".git" / "config").read_text()


@mounting
@pytest.mark.parametrize("there", [True, False])
async def test_what_says_what_later_runs_do_stays(
    sandbox: Sandbox, work: Path, *, there: bool
) -> None:
    home = work / "home"
    if there:
        (home / "rules").mkdir(parents=True)
    script = "mkdir -p home/rules; echo x > home/rules/a.rules; mv home h; echo x > f; exit 0"
    spec = ProcessSpec(argv=("/bin/sh", "-c", script), cwd=str(work), env=dict(os.environ))
    spec = await confine(spec, NARROW, workspace=str(work), sandbox=sandbox, home=str(home))
    async with open_processes() as processes:
        await (await processes.start(spec, Sink())).wait()

    assert sorted(["f", "home"] if there else ["f"]) == sorted(os.listdir(work))
    assert not (home / "rules" / "a.rules").exists()


@mounting
async def test_a_folder_between_cannot_be_renamed(sandbox: Sandbox, work: Path) -> None:
    inner = work / "a" / "b"
    (inner / ".git").mkdir(parents=True)
    policy = WorkspaceWrite(
        writable_roots=(str(inner),), exclude_slash_tmp=True, exclude_tmpdir_env_var=True
    )

    await run(sandbox, policy, work, "mv a c; mkdir -p a/b/.git/hooks; echo x > a/b/.git/config")

    assert [] == os.listdir(inner / ".git")


@mounting
async def test_protected_links(sandbox: Sandbox, work: Path) -> None:
    (work / "real").mkdir()
    (work / ".codex").symlink_to("real")

    if sandbox.name == "bubblewrap":
        with pytest.raises(SandboxRefused, match="is a link"):
            await confined(sandbox, NARROW, work, "true")
        return
    await run(sandbox, NARROW, work, "echo x > .codex/config.toml; rm .codex; mkdir .codex/x")

    assert (work / ".codex").is_symlink()
    assert [] == os.listdir(work / "real")


def profile(*denied: str) -> ManagedProfile:
    return ManagedProfile(
        entries=(
            PermissionEntry(place=RootPlace(), access="read"),
            PermissionEntry(place=ProjectPlace(), access="write"),
            *(PermissionEntry(place=ProjectPlace(name), access="deny") for name in denied),
        )
    )


@mounting
async def test_denied_files_and_folders_cannot_be_read(sandbox: Sandbox, work: Path) -> None:
    (work / "keys").mkdir()
    (work / "keys" / "id").write_text("secret")
    (work / "token").write_text("secret")

    _, text = await run(
        sandbox,
        profile("keys", "token", "missing"),
        work,
        "cat keys/id; cat token; ls keys; chmod 777 keys token; cat token; echo x > missing; "
        "mv keys k; rm -f token",
    )

    assert "secret" not in text
    assert {"keys", "token"} == set(os.listdir(work))


@mounting
async def test_what_a_pattern_matches_cannot_be_read(sandbox: Sandbox, work: Path) -> None:
    (work / "a" / "b").mkdir(parents=True)
    for name in (".env", "a/b/x.env", "a/open", "a/b/key.d"):
        (work / name).write_text(f"secret of {name}\n")
    (work / "a" / "link.env").symlink_to("../a/b/key.d")
    (work / "a" / "up.env").symlink_to("..")
    patterns = (PermissionEntry(place=GlobPlace("**/*.env"), access="deny"),)
    entries = profile().entries
    assert entries is not None
    denying = ManagedProfile(entries=(*entries, *patterns))

    _, text = await run(
        sandbox, denying, work, "cat .env a/b/x.env a/link.env a/b/key.d 2>&1; cat a/open; echo > n"
    )

    assert "secret of a/open" == text.splitlines()[-1]
    assert 1 == text.count("secret")
    assert (work / "n").exists()


def some_of_the_disk(*places: Path, access: Access = "read") -> ManagedProfile:
    named = (PermissionEntry(place=PathPlace(str(place)), access=access) for place in places)
    return ManagedProfile(entries=(PermissionEntry(place=MinimalPlace(), access="read"), *named))


@each
async def test_only_some_of_the_disk(sandbox: Sandbox, work: Path) -> None:
    (work / "f").write_text("seen\n")
    hidden = work.parent / "hidden"
    hidden.write_text("secret")

    code, text = await run(
        sandbox,
        some_of_the_disk(work),
        work,
        f"cat f; cat {hidden}; ls {work.parent}; echo x > f; cat /proc/1/root{hidden}; echo x > /y",
    )

    assert text.startswith("seen\n")
    assert "secret" not in text
    assert "hidden\n" not in text.replace(f"{hidden}", "")
    assert 0 != code
    assert not Path("/y").exists()


@each
async def test_a_single_file_can_be_shown(sandbox: Sandbox, work: Path) -> None:
    (work / "f").write_text("seen\n")
    (work / "g").write_text("secret\n")
    spec = ProcessSpec(argv=("/bin/cat", f"{work}/f", f"{work}/g"), cwd="/", env={})
    shown = some_of_the_disk(work / "f")

    sink = Sink()
    async with open_processes() as processes:
        confining = await confine(spec, shown, workspace=str(work), sandbox=sandbox)
        code = await (await processes.start(confining, sink)).wait()

    assert (1, "seen") == (code, sink.text.split("\n")[0])
    assert "secret" not in sink.text


@mounting
async def test_some_of_the_disk_is_written(sandbox: Sandbox, work: Path) -> None:
    script = (
        "echo x > f; echo x > .codex; echo x > /usr/x; echo x > /x; echo x > /dev/null && "
        "test -c /dev/urandom && test -d /proc/self && ls /proc | grep -c '^[0-9]'"
    )

    code, text = await run(sandbox, some_of_the_disk(work, access="write"), work, script)

    assert 0 == code, text
    assert 6 >= int(text.splitlines()[-1]), "only its own processes are to be seen"
    assert ["f"] == os.listdir(work)


@each
async def test_without_the_network_nobody_is_reached(sandbox: Sandbox, work: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        call = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('in')"
        script = (
            f'{sys.executable} -c "{call}" 2>&1 | tail -n 1; echo $CODEX_SANDBOX_NETWORK_DISABLED'
        )
        _, refused = await run(sandbox, ReadOnly(), work, script)
        _, reached = await run(sandbox, ReadOnly(network_access=True), work, script)

    assert "PermissionError: [Errno 1] Operation not permitted\n1\n" == refused
    assert "in\n\n" == reached


@each
async def test_no_rights_and_no_descriptors_are_inherited(sandbox: Sandbox, work: Path) -> None:
    _, text = await run(
        sandbox,
        ReadOnly(),
        work,
        "grep -E '^(CapEff|CapPrm|NoNewPrivs|Seccomp):' /proc/self/status; ls /proc/self/fd | wc -l",
    )

    zero = f"{0:016x}"
    assert f"CapPrm:\t{zero}\nCapEff:\t{zero}\nNoNewPrivs:\t1\nSeccomp:\t2\n4\n" == text


@each
@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -TERM $$", 143), (":", 0)])
async def test_exit_codes_come_through(
    sandbox: Sandbox, work: Path, script: str, code: int
) -> None:
    exit_code, _ = await run(sandbox, ReadOnly(), work, script)

    assert code == (exit_code if exit_code >= 0 else 128 - exit_code)


@each
async def test_threads_and_pipes_go_on_working(sandbox: Sandbox, work: Path) -> None:
    program = (
        "import asyncio, threading, subprocess; "
        "threading.Thread(target=int).start(); "
        "print(asyncio.run(asyncio.sleep(0, 'slept'))); "
        "print(subprocess.check_output(['echo', 'hi']))"
    )
    code, text = await run(sandbox, ReadOnly(), work, f'{sys.executable} -c "{program}" </dev/null')

    assert (0, "slept\nb'hi\\n'\n") == (code, text)


@each
async def test_a_terminal_is_the_command_s_own(sandbox: Sandbox, work: Path) -> None:
    script = "trap 'echo caught; exit 5' INT; echo ready; read -r line; sleep 60 & wait"
    spec, sink = await confined(sandbox, ReadOnly(), work, script, tty=True), Sink()
    async with open_processes() as processes:
        process = await processes.start(spec, sink)
        while "ready" not in sink.text:
            assert process.exit_code() is None, sink.text
            await process.wait_output(after=process.received())
        await process.write(b"\x03")
        with trio.fail_after(10):
            code = await process.wait()

    assert 5 == code
    assert "caught" in sink.text


@each
async def test_an_interrupt_reaches_the_command(sandbox: Sandbox, work: Path) -> None:
    script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    spec, sink = await confined(sandbox, ReadOnly(), work, script), Sink()
    async with open_processes() as processes:
        process = await processes.start(spec, sink)
        await process.wait_output(after=0)
        process.interrupt()
        with trio.fail_after(10):
            code = await process.wait()

    assert (5, "ready\ncaught\n") == (code, sink.text)


@each
async def test_killing_takes_daemons_along(sandbox: Sandbox, work: Path) -> None:
    name = f"sandbox-daemon-{os.getpid()}-{sandbox.name}"
    script = f"(setsid sh -c 'sleep 1000; : {name}' &) ; echo up; sleep 1000"
    spec, sink = await confined(sandbox, ReadOnly(), work, script), Sink()
    async with open_processes() as processes:
        process = await processes.start(spec, sink)
        await process.wait_output(after=0)
        assert () == await process.kill()

    assert [] == [line for line in command_lines() if name in line]


@each
@pytest.mark.parametrize("end", ["kill", "leave", "exit"])
async def test_a_daemon_that_threw_off_its_marks_ends_all_the_same(
    sandbox: Sandbox, work: Path, end: str
) -> None:
    """Nobody has looked at it before its parent died, so nothing but its ancestors gives it away."""
    name = f"unmarked-{os.getpid()}-{sandbox.name}-{end}"
    script = f"(setsid env -i sh -c 'sleep 1000; : {name}' &) ; echo up"
    spec = await confined(
        sandbox, ReadOnly(), work, script if end == "exit" else f"{script}; sleep 1000"
    )
    sink = Sink()
    async with open_processes() as processes:
        process = await processes.start(spec, sink)
        await process.wait_output(after=0)
        if end == "kill":
            assert () == await process.kill()
        elif end == "exit":
            assert 0 == await process.wait()
            assert [] == [line for line in command_lines() if name in line]
    assert () == processes.survivors()

    assert [] == [line for line in command_lines() if name in line]


def command_lines() -> list[str]:
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            found.append(Path(f"/proc/{pid}/cmdline").read_text())
        except OSError:
            continue
    return found


@each
async def test_a_program_that_is_not_there(sandbox: Sandbox, work: Path) -> None:
    spec = ProcessSpec(argv=("no-such-program",), cwd=str(work), env={"PATH": "/usr/bin"})

    with pytest.raises(CouldNotStart) as caught:
        await confine(spec, ReadOnly(), workspace=str(work), sandbox=sandbox)

    assert "missing program" == caught.value.fault


async def test_landlock_refuses_what_it_cannot_express(work: Path) -> None:
    with pytest.raises(SandboxRefused, match="protect"):
        await confined(Landlock(), NARROW, work, "true")
    with pytest.raises(SandboxRefused, match="from being read"):
        await confined(Landlock(), profile("keys"), work, "true")


@mounting
async def test_a_sandbox_that_the_command_could_change_is_not_used(
    sandbox: Sandbox, work: Path
) -> None:
    everything = WorkspaceWrite(writable_roots=("/usr", sys.base_prefix))

    with pytest.raises(SandboxRefused, match="could change"):
        await confined(sandbox, everything, work, "true")


async def test_full_access_is_the_command_itself(work: Path) -> None:
    spec = ProcessSpec(argv=("true",), cwd=str(work), env={})

    assert spec is await confine(spec, DangerFullAccess(), workspace=str(work))
    with pytest.raises(SandboxRefused):
        await confine(spec, ReadOnly(), workspace=str(work), sandbox=NoSandbox())
