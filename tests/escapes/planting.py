"""Leaving something behind that somebody else will run."""

from __future__ import annotations

from typing import Final

from tests.escapes.attempt import ROOT, Attempt

PLANTING: Final = (
    Attempt(
        number=51,
        name="plant a git hook",
        breaks="workspace-write",
        goal="changed",
        script="echo 'evil' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    ),
    Attempt(
        number=52,
        name="have git's configuration run a program",
        breaks="workspace-write, network",
        goal="changed",
        script="printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config",
    ),
    Attempt(
        number=53,
        name="rename the repository away and plant another",
        breaks="workspace-write",
        goal="changed",
        script="mv .git .old; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
    ),
    Attempt(
        number=54,
        name="remove the repository",
        breaks="workspace-write",
        goal="changed",
        script="rm -rf .git",
    ),
    Attempt(
        number=55,
        name="have a link take the repository's place",
        breaks="workspace-write",
        goal="changed",
        script="mkdir evil; mv .git .old; ln -s evil .git",
    ),
    Attempt(
        number=56,
        name="write the repository's configuration through a hard link",
        breaks="workspace-write",
        goal="changed",
        script="ln .git/config twin && echo evil >> twin",
    ),
    Attempt(
        number=57,
        name="exchange the repository with a folder of ours",
        breaks="workspace-write",
        goal="changed",
        language="python",
        script="""
        os.makedirs("evil/hooks")
        RENAMEAT2, HERE, EXCHANGE = 316, -100, 2
        call(RENAMEAT2, HERE, b"evil", HERE, b".git", EXCHANGE)
        """,
        needs="x86_64",
    ),
    Attempt(
        number=58,
        name="make a sample hook one that runs",
        breaks="workspace-write",
        goal="changed",
        script="mv .git/hooks/pre-push.sample .git/hooks/pre-push; chmod +x .git/hooks/*",
    ),
    Attempt(
        number=59,
        name="let git itself write its configuration",
        breaks="workspace-write",
        goal="changed",
        script="git config --file .git/config core.pager evil",
        needs="git",
    ),
    Attempt(
        number=60,
        name="point a worktree to another repository",
        breaks="workspace-write",
        goal="changed",
        ground="worktree",
        script="mkdir evil; echo 'gitdir: evil' > .git",
    ),
    Attempt(
        number=61,
        name="plant a hook where a worktree's pointer leads",
        breaks="workspace-write",
        goal="changed",
        ground="worktree",
        script="echo evil > real/.git/hooks/post-checkout",
    ),
    Attempt(
        number=62,
        name="change a worktree's own settings where its pointer leads",
        breaks="workspace-write",
        goal="changed",
        ground="worktree",
        script="echo '[core]' > real/.git/worktrees/here/config.worktree",
    ),
    Attempt(
        number=63,
        name="rename the folder above the place that a worktree points to",
        breaks="workspace-write",
        goal="changed",
        ground="worktree",
        script="""
        mv real old && mkdir -p real/.git/worktrees/here real/.git/hooks
        echo evil > real/.git/hooks/post-checkout
        """,
    ),
    Attempt(
        number=64,
        name="plant a hook below another writable root",
        breaks="workspace-write",
        goal="changed",
        script='echo evil > "$EXTRA/.git/hooks/pre-commit"',
    ),
    Attempt(
        number=65,
        name="change the project's settings of this very program",
        breaks="workspace-write",
        goal="changed",
        script="echo 'sandbox_mode = \"danger-full-access\"' >> .codex/config.toml",
    ),
    Attempt(
        number=66,
        name="rename the settings away and plant others",
        breaks="workspace-write",
        goal="changed",
        script="mv .codex .old; mkdir .codex; echo 'a = 1' > .codex/config.toml",
    ),
    Attempt(
        number=67,
        name="plant a skill",
        breaks="workspace-write",
        goal="changed",
        script="mkdir -p .agents/skills/evil; echo evil > .agents/skills/evil/SKILL.md",
    ),
    Attempt(
        number=68,
        name="make settings where there were none",
        breaks="workspace-write",
        goal="changed",
        ground="empty",
        script="mkdir -p .codex; echo 'a = 1' > .codex/config.toml",
    ),
    Attempt(
        number=69,
        name="have a link become the settings that were missing",
        breaks="workspace-write",
        goal="changed",
        ground="empty",
        script="mkdir evil; echo 'a = 1' > evil/config.toml; ln -s evil .codex",
    ),
    Attempt(
        number=70,
        name="rename a folder into the settings that were missing",
        breaks="workspace-write",
        goal="changed",
        ground="empty",
        script="mkdir evil; echo 'a = 1' > evil/config.toml; mv evil .codex",
    ),
    Attempt(
        number=71,
        name="plant a program on the search path",
        breaks="workspace-write",
        goal="changed",
        script="""printf '#!/bin/sh\\n' > "$HOME/bin/ls"; chmod +x "$HOME/bin/ls" """,
    ),
    Attempt(
        number=72,
        name="have later shells preload a library",
        breaks="workspace-write",
        goal="changed",
        script="""echo 'export LD_PRELOAD=/evil.so' | tee -a ~/.profile ~/.bashrc > ~/.zshenv""",
    ),
    Attempt(
        number=73,
        name="have the linker look elsewhere",
        breaks="workspace-write",
        goal="changed",
        script='echo "#" > "/etc/escape-$TOKEN"',
        users=ROOT,
    ),
    Attempt(
        number=74,
        name="let oneself in later",
        breaks="workspace-write, network",
        goal="changed",
        script="mkdir -p ~/.ssh; echo 'ssh-ed25519 evil' >> ~/.ssh/authorized_keys",
    ),
    Attempt(
        number=75,
        name="be started with the session",
        breaks="workspace-write",
        goal="changed",
        script="mkdir -p ~/.config/autostart ~/.config/systemd/user; echo > ~/.config/autostart/e",
    ),
    Attempt(
        number=76,
        name="be started by cron",
        breaks="workspace-write",
        goal="changed",
        script='mkdir -p /etc/cron.d; echo "# nothing" > "/etc/cron.d/escape-$TOKEN"',
        users=ROOT,
    ),
    Attempt(
        number=77,
        name="have git's own settings of the user run a program",
        breaks="workspace-write",
        goal="changed",
        script="printf '[core]\\n\\tpager = evil\\n' >> ~/.gitconfig",
    ),
    Attempt(
        number=78,
        name="plant a module that Python imports by itself",
        breaks="workspace-write",
        goal="changed",
        script="d=~/.local/lib/python3/site-packages; mkdir -p $d; echo > $d/usercustomize.py",
    ),
)
