"""The cores that one piece of work may use: all that this process may use, or its share of them beside other workers."""

from __future__ import annotations

import os

from isa.errors import TilewrightError

CORES = "TILEWRIGHT_CORES"
"""The environment variable for the cores that one compilation may use. A campaign sets its workers' share unless it is set."""


def all_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores_allowed() -> int:
    """The number of cores that the variable ``CORES`` says, or all."""
    text = os.environ.get(CORES, "")
    if not text:
        return all_cores()
    if not text.isdecimal() or int(text) < 1:
        raise TilewrightError(f"environment variable {CORES}: {text!r}; expected a number of cores, 1 or more; or unset it")
    return int(text)


def share_with(workers: int) -> None:
    """Gives this process its share of the cores, since so many work at the same time. Processes that it starts inherit it."""
    os.environ.setdefault(CORES, str(max(1, all_cores() // workers)))
