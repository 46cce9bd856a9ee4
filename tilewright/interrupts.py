"""Being told to end, by Ctrl-C or by SIGTERM: what was started is ended, too."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from sim.rtl.interrupts import INTERRUPTS

_came: list[int] = []


def catch_interrupts() -> None:
    """Both become a ``KeyboardInterrupt``, once; one that the caller has chosen to ignore stays ignored."""
    for number in INTERRUPTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: object) -> None:
    """The first one; whoever is impatient must not interrupt the cleaning up."""
    for each in INTERRUPTS:
        signal.signal(each, signal.SIG_IGN)
    _came.append(number)
    raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whatever went wrong since: a library that is interrupted while it is loaded says that it cannot be loaded."""
    return bool(_came)


def leave(code: int) -> None:
    """End the interrupted process with this exit code: an interpreter that remembers an interrupt in a library's own code
    would end by the signal, whatever ``sys.exit`` is told."""
    _end_children()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _end_children() -> None:
    """Programs that libraries have started, and that they leave running when they are interrupted (yosys, by Amaranth)."""
    mine = f"PPid:\t{os.getpid()}\n"
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            if mine in status.read_text():
                os.kill(int(status.parent.name), signal.SIGKILL)
