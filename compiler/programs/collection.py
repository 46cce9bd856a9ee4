"""Python's collector of cycles, while a program is compiled: seldom.

Programs are hundreds of thousands of small objects that stay, without cycles among them. By its usual thresholds the collector
walks over all of them again and again: a sixth of the time that ResNet-50 took.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 1_000_000
"""New objects after which the youngest are looked at: more than the compilation of ResNet-50 makes and keeps."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """The thresholds are as they were afterwards."""
    before = gc.get_threshold()
    # 0 is an application's own wish: no collections at all.
    gc.set_threshold(max(SELDOM, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
