"""Running a command in place, for a person who waits for it."""

from __future__ import annotations

import signal
from contextlib import ExitStack

from ._child import start_directly
from ._spec import ProcessSpec
from ._stand_ins import hold_stand_ins
from ._start import handing_over, refusals_of


def run_here(spec: ProcessSpec) -> int:
    """Run a command with this program's own terminal, input and output. Blocks until it ends.

    Ctrl-C is the command's business meanwhile.

    Returns:
        Its exit status, as shells tell it: 128 and the signal if it died of one.

    Raises:
        CouldNotStart: if the system refuses.
    """
    with ExitStack() as held, refusals_of(spec), handing_over(spec) as (argv, descriptors):
        hold_stand_ins(held, spec)
        child = start_directly(argv, cwd=spec.cwd, env=spec.env, pass_fds=descriptors)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = child.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code
