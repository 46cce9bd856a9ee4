"""Permissions of files that count for root, too."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

VERSION = 0x20080522
"""The third of Linux's structures: three sets of 64 capabilities in two halves."""
OVERRIDES = ~(1 << 1)
"""All but CAP_DAC_OVERRIDE: to write whatever the permissions are."""


def with_permissions(work: Callable[[], str]) -> str:
    """Does it in a thread to which files are as closed as to any user: root gives up its right to ignore permissions there."""
    with ThreadPoolExecutor(1, initializer=_give_up) as threads:
        return threads.submit(work).result()


def _give_up() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    sets[0] &= OVERRIDES  # effective
    sets[1] &= OVERRIDES  # permitted, which access(2) goes by
    assert libc.capset(header, sets) == 0
