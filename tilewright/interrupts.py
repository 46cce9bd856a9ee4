"""Ends a command by Ctrl-C, by SIGTERM or by a budget of time, together with what it has started."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from isa.errors import TilewrightError
from sim.rtl.interrupts import INTERRUPTS
from tilewright.exits import Exit

PATIENCE = 0.8
"""The seconds that the main thread may stay in one call of a library after it was told to end."""
_POLL = 0.1
_AGAIN = 0.02
"""The seconds after which an interrupt that nobody heard is raised again."""
_came: list[int] = []
_out_of_time = ""
"""The text of the error once a budget of time is spent."""


class _OutOfTime(BaseException):
    """Raised when the budget of time is spent. No handler of errors may take it for an error."""


def catch_interrupts() -> None:
    """Turns both signals into a ``KeyboardInterrupt``, once. A signal that the caller has chosen to ignore stays ignored.

    Python looks at signals between its own steps. A thread of ours ends the process where a library does not come back.
    """
    for number in INTERRUPTS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _unheard
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    threading.Thread(target=_end_stuck, args=(told,), daemon=True).start()


@contextmanager
def time_budget(seconds: float | None, what: str, remedy: str) -> Iterator[None]:
    """Raises a ``TilewrightError`` if what is within takes longer than ``seconds``. None: there is no limit."""
    global _out_of_time
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _out_of_time = f"{what}: not done within {seconds:g} seconds (--seconds); {remedy}"
    before, hook = signal.signal(signal.SIGALRM, _alarm), sys.unraisablehook
    try:
        sys.unraisablehook = _unheard
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    except _OutOfTime:
        raise TilewrightError(_out_of_time) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = hook


def _unheard(unraisable: sys.UnraisableHookArgs) -> None:
    """Raises an interrupt again soon. Python drops what is raised while it deletes an object, or in a callback of a library."""
    if unraisable.exc_type is _OutOfTime:
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    elif unraisable.exc_type is KeyboardInterrupt and _came:
        number = _came.pop()
        signal.signal(number, _interrupt)
        again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(unraisable)


def _alarm(number: int, frame: object) -> None:
    warnings.simplefilter("ignore", ResourceWarning)  # of files that are open now, and that nobody comes to close
    raise _OutOfTime


def _end_stuck(told: int) -> None:
    """Ends the process if the main thread stays in one call for as long as ``PATIENCE`` after a signal."""
    while True:
        for number in os.read(told, 1):
            place, since = _place(), time.monotonic()
            while time.monotonic() < since + PATIENCE and _place() == place:
                time.sleep(_POLL)
            if _place() != place or number in _came:
                continue
            interrupt = number in INTERRUPTS and signal.getsignal(number) is not signal.SIG_IGN
            if interrupt or (number == signal.SIGALRM and signal.getsignal(number) is _alarm):
                message = "interrupted" if interrupt else _out_of_time
                sys.stderr.write(f"tilewright: {message}\n")
                leave(Exit.INTERRUPTED if interrupt else Exit.BAD_INPUT)


def _place() -> tuple[int, int]:
    """The place of the main thread in the code."""
    frame = sys._current_frames()[threading.main_thread().ident or 0]
    return id(frame), frame.f_lasti


def _interrupt(number: int, frame: object) -> None:
    """Takes the first signal and ignores those that follow: an impatient user must not interrupt the cleaning up."""
    for each in INTERRUPTS:
        signal.signal(each, signal.SIG_IGN)
    _came.append(number)
    warnings.simplefilter("ignore")  # of parts that are made and never used
    raise KeyboardInterrupt


def was_interrupted() -> bool:
    """Whether the process was interrupted. Later errors may follow from it: a library that is interrupted while it is loaded
    says that it cannot be loaded."""
    return bool(_came)


def leave(code: int) -> None:
    """Ends the interrupted process with this exit code. An interpreter that remembers an interrupt in a library's own code
    would end by the signal, whatever ``sys.exit`` is told."""
    _end_children()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _end_children() -> None:
    """Ends programs that libraries have started, and that they leave running when they are interrupted (yosys, by Amaranth)."""
    mine = f"PPid:\t{os.getpid()}\n"
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            if mine in status.read_text():
                os.kill(int(status.parent.name), signal.SIGKILL)
