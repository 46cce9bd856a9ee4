"""Makes Python's collector of reference cycles run seldom while a program is compiled.

Programs are hundreds of thousands of small objects that stay, without cycles among them. By its usual thresholds the collector
walks over all of them again and again: a sixth of the time that ResNet-50 took.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 1_000_000
"""The number of new objects after which the collector looks at the youngest. Compiling ResNet-50 keeps fewer."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Raises the collector's threshold, and restores it afterwards."""
    before = gc.get_threshold()
    # An application that set 0 wants no collections at all.
    gc.set_threshold(max(SELDOM, before[0]) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
