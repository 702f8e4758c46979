"""Where an attempt is made, and what must be as it was when it is over."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias, final

import attrs

from tests.escapes.attempt import Attempt, User

Traces: TypeAlias = Mapping[str, tuple[object, ...]]

_PYTHONS: Final = ("/usr/bin/python3", sys.executable)
_SYSTEM: Final = ("/tmp", "/var/tmp", "/dev/shm", "/etc", "/etc/cron.d")
_ROOTS_ONLY: Final = ("/usr", "/var", "/run", "/opt")


@final
@attrs.frozen(kw_only=True)
class Scene:
    """The folders of one attempt."""

    root: Path
    token: str
    secret: str
    user: User
    work: Path
    outside: Path
    extra: Path
    home: Path

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.home / 'bin'}:{os.environ['PATH']}:/usr/sbin:/sbin",
            "HOME": str(self.home),
            "WORK": str(self.work),
            "OUT": str(self.outside),
            "EXTRA": str(self.extra),
            "TOKEN": self.token,
            "LC_ALL": "C",
        }

    def system_files(self) -> Iterator[Path]:
        """Where attempts may put something that is not below the scene."""
        for folder in (*_SYSTEM, *_ROOTS_ONLY):
            yield Path(folder, f"escape-{self.token}")

    def remove(self) -> None:
        for path in self.system_files():
            path.unlink(missing_ok=True)
        shutil.rmtree(self.root, ignore_errors=True)


def set_scene(root: Path, attempt: Attempt, user: User, token: str) -> Scene:
    """Make the folders of an attempt, all of them the user's own."""
    scene = Scene(
        root=root,
        token=token,
        secret=f"SECRET-{token[::-1]}",
        user=user,
        work=root / "work",
        outside=root / "outside",
        extra=root / "extra",
        home=root / "home",
    )
    _fill(root, scene, attempt)
    _give(root, user)
    if attempt.uses("roots"):
        _make_powers(scene)
    return scene


def _fill(root: Path, scene: Scene, attempt: Attempt) -> None:
    files = {
        "outside/canary": "untouched\n",
        "outside/folder/file": "untouched\n",
        "outside/private/secret": scene.secret,
        "work/file.txt": "ours\n",
        "work/.env": scene.secret,
        "work/private/secret": scene.secret,
        "work/deep/private/secret": scene.secret,
        "extra/.git/hooks/sample": "#!/bin/sh\n",
        "extra/.git/HEAD": "ref: refs/heads/main\n",
        "home/.profile": "# nothing\n",
        **_GROUNDS[attempt.ground],
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("<ROOT>", str(root)))
    for folder in ("outside/folder/empty", "work/sub", "home/bin"):
        (root / folder).mkdir(parents=True)


_REPOSITORY: Final = {
    "HEAD": "ref: refs/heads/main\n",
    "config": "[core]\n\tbare = false\n",
    "hooks/pre-push.sample": "#!/bin/sh\n",
    "objects/info/none": "",
    "refs/heads/none": "",
}
_GROUNDS: Final[Mapping[str, Mapping[str, str]]] = {
    "repository": {
        **{f"work/.git/{name}": text for name, text in _REPOSITORY.items()},
        "work/.codex/config.toml": "# nothing\n",
        "work/.agents/skills/good/SKILL.md": "good\n",
    },
    "worktree": {
        **{f"work/real/.git/{name}": text for name, text in _REPOSITORY.items()},
        "work/.git": "gitdir: <ROOT>/work/real/.git/worktrees/here\n",
        "work/real/.git/worktrees/here/HEAD": "ref: refs/heads/other\n",
        "work/real/.git/worktrees/here/commondir": "../..\n",
        "work/real/.git/worktrees/here/gitdir": "<ROOT>/work/.git\n",
    },
    "empty": {},
}


def _give(root: Path, user: User) -> None:
    root.chmod(0o755)
    if os.getuid() != 0:
        return
    owner = pwd.getpwnam(user)
    for folder, _, files in os.walk(root):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            os.chown(path, owner.pw_uid, owner.pw_gid, follow_symlinks=False)


def _make_powers(scene: Scene) -> None:
    """Programs that may write below a folder of root's, which their user may not."""
    (scene.outside / "roots").mkdir(mode=0o755)
    touch = shutil.which("touch") or "/bin/touch"
    for name in ("setuid-touch", "capable-touch"):
        shutil.copy(touch, scene.outside / name)
    (scene.outside / "setuid-touch").chmod(0o4755)
    # Revision 2, effective, CAP_DAC_OVERRIDE: see capabilities(7).
    powers = bytes.fromhex("0100000202000000000000000000000000000000")
    os.setxattr(scene.outside / "capable-touch", "security.capability", powers)


def program_words(attempt: Attempt) -> tuple[str, ...]:
    if attempt.language == "sh":
        return ("/bin/sh", "-c", attempt.program())
    return (_find_python(), "-I", "-S", "-c", attempt.program())


def _find_python() -> str:
    """One that everybody may run, if there is one."""
    return next(path for path in _PYTHONS if os.access(path, os.X_OK))


def as_user(words: tuple[str, ...], user: User) -> tuple[str, ...]:
    """The same command, run by somebody; only root can choose."""
    if os.getuid() != 0 or user == "root":
        return words
    owner = pwd.getpwnam(user)
    ids = ("--reuid", str(owner.pw_uid), "--regid", str(owner.pw_gid), "--clear-groups")
    return ("setpriv", *ids, "--", *words)


_KEYED: Final = """
import ctypes, os, sys
name, secret, *words = sys.argv[1:]
libc = ctypes.CDLL(None)
libc.syscall(250, 1, None)
libc.syscall(248, b"user", name.encode(), secret.encode(), len(secret), ctypes.c_long(-3))
os.execvp(words[0], words)
"""


def with_key(words: tuple[str, ...], scene: Scene) -> tuple[str, ...]:
    """The same command in a session of the kernel's keys, with one that is a secret."""
    name = f"escape-{scene.token}"
    return (_find_python(), "-I", "-S", "-c", _KEYED, name, scene.secret, *words)


# --- looking ----------------------------------------------------------------


def look(scene: Scene, attempt: Attempt) -> Traces:
    """Everything that the attempt must leave as it is."""
    tops = [scene.outside, scene.home, *scene.system_files()]
    match attempt.breaks:
        case "read-only":
            tops += [scene.work, scene.extra]
        case _:
            kept = [scene.work / name for name in (".git", ".codex", ".agents", "real/.git")]
            tops += [*kept, scene.extra / ".git"]
    return {str(path): _trace(path) for top in tops for path in _below(top)}


def _below(top: Path) -> Iterator[Path]:
    if not os.path.lexists(top):
        return
    yield top
    if top.is_dir() and not top.is_symlink():
        for path in sorted(top.iterdir()):
            yield from _below(path)


def _trace(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    plain = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns)
    if stat.S_ISLNK(status.st_mode):
        return (*plain, os.readlink(path))
    if stat.S_ISREG(status.st_mode):
        return (*plain, status.st_size, path.read_bytes()[:4096], *os.listxattr(path))
    return plain
