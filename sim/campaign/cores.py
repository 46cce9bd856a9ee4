"""How many cores one piece of work may use: all that this process may, or its share of them beside other workers."""

from __future__ import annotations

import os

from isa.errors import TilewrightError

CORES = "TILEWRIGHT_CORES"
"""Environment variable: cores that one compilation may use. A campaign's workers have their share in it, unless it is set."""


def all_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores_allowed() -> int:
    """What ``CORES`` says, else all."""
    text = os.environ.get(CORES, "")
    if not text:
        return all_cores()
    if not text.isdecimal() or int(text) < 1:
        raise TilewrightError(f"environment variable {CORES}: {text!r}; expected a number of cores, 1 or more; or unset it")
    return int(text)


def share_with(workers: int) -> None:
    """This process is one of so many that work at the same time, and so are those that it starts."""
    os.environ.setdefault(CORES, str(max(1, all_cores() // workers)))
