"""What the model is told of a command that its user ran. The form is the reference's."""

from __future__ import annotations

from ..protocol import Message, user_message


def user_shell_message(command: str, exit_code: int, seconds: float, output: str) -> Message:
    """Return what the history holds of a command that the user ran.

    Args:
        command: As it was typed.
        exit_code: How it exited.
        seconds: How long it took.
        output: What it printed, short enough for the model.
    """
    result = f"Exit code: {exit_code}\nDuration: {seconds:.4f} seconds\nOutput:\n{output}"
    parts = (
        "<user_shell_command>",
        f"<command>\n{command}\n</command>",
        f"<result>\n{result}\n</result>",
        "</user_shell_command>",
    )
    return user_message("\n".join(parts))
