"""The meaning of the exit codes of ``tilewright``."""

from __future__ import annotations

import enum


class Exit(enum.IntEnum):
    DONE = 0
    CHECK_FAILED = 1
    """The work was done, and found something wrong: a mismatch, a failing bench."""
    BAD_INPUT = 2
    """A file, an option or a configuration cannot be used; one line on stderr says why."""
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141
    """The reader of a pipe has gone."""
