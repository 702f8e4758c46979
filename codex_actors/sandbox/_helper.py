"""Starting our own code in the new process, before it becomes the command."""

from __future__ import annotations

import marshal
import os
import sys
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

import attrs

from ._spec import ProcessSpec

PYTHON: Final = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
"""The interpreter itself, not a virtual environment's, which may lie in a workspace."""
# A word of the command line that becomes a descriptor; no argument has a null byte.
_JOB: Final = "\0job"
# The modules import each other as a package that nobody has to look for.
_BOOT: Final = (
    "import marshal,sys\n"
    "with open(int(sys.argv[1]),'rb') as f: codes,job=marshal.load(f)\n"
    "new=type(sys)\n"
    "sys.modules['inside']=new('inside')\n"
    "for name,code in codes:\n"
    "    sys.modules['inside.'+name]=module=new('inside.'+name)\n"
    "    module.__package__='inside'\n"
    "    exec(code,module.__dict__)\n"
    "module.main(job)\n"
)
_MODULES: Final = ("_kernel", "_inside")


def helper_spec(spec: ProcessSpec, job: dict[str, Any]) -> ProcessSpec:
    """Return what runs `_inside.main` with the job, which ends as the command of ``spec``."""
    job |= {
        "argv": list(spec.argv),
        "cwd": spec.cwd,
        "terminal": spec.tty and not spec.in_session,
    }
    return attrs.evolve(
        spec,
        argv=(PYTHON, "-I", "-S", "-c", _BOOT, _JOB),
        handed={_JOB: marshal.dumps((_codes(), job))},
        confined=True,
    )


@cache
def _codes() -> tuple[tuple[str, Any], ...]:
    """The modules' code: read once, before any command may have changed their files."""
    return tuple((name, _code(f"{__package__}.{name}")) for name in _MODULES)


def _code(module: str) -> Any:
    found = find_spec(module)
    assert found is not None
    get_code: Any = getattr(found.loader, "get_code")  # noqa: B009 - loaders are typed without
    return get_code(found.name)
