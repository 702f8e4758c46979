from __future__ import annotations

from codex_actors.core import user_shell_message
from codex_actors.protocol import user_message


def test_the_form_is_the_one_that_models_know() -> None:
    assert user_message(
        "<user_shell_command>\n<command>\nls -l\n</command>\n<result>\nExit code: 2\n"
        "Duration: 0.1235 seconds\nOutput:\nno such file\n</result>\n</user_shell_command>"
    ) == user_shell_message("ls -l", 2, 0.12345, "no such file")
