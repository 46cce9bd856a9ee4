"""Progress on stderr while something lasts; nothing where nobody watches."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from isa.doing import Doing
from isa.errors import printable

Report = Callable[[str], None]
"""A function that is told what is being done. An empty text wipes the line, so that something else can be printed."""
TICK_SECONDS = 0.5


@contextmanager
def stage_reporter(quiet: bool = False) -> Iterator[Report]:
    """Shows the running stage and the seconds since the start on one line, if stderr is a terminal."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda stage: None
        return
    line = _Line()
    ticker = threading.Thread(target=line.tick, daemon=True)
    ticker.start()
    try:
        yield line.say
    finally:
        line.over.set()
        ticker.join()
        line.say("")


class _Line:
    """The line. The clock and whoever has something to say write it."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self._since = time.perf_counter()
        self._stage = ""
        self._writing = threading.Lock()

    def say(self, stage: str) -> None:
        self._said = time.perf_counter()
        self._stage = stage
        self._show(stage)

    def _show(self, stage: str) -> None:
        with self._writing:
            shown = f"{time.perf_counter() - self._since:6.1f} s  {printable(stage)}" if stage else ""
            click.echo(f"\r\033[K{shown}", nl=False, err=True)

    def tick(self) -> None:
        while not self.over.wait(TICK_SECONDS):
            stage = self._stage
            if stage:
                self._show(stage.after(time.perf_counter() - self._said) if isinstance(stage, Doing) else stage)


def share_done(what: str, done: float, total: float, seconds: float, speed: str = "") -> str:
    """The share done, as ``what: 37%, 250000 cycles/s, 12 s left``."""
    left = max(0.0, total - done) * seconds / max(done, 1)
    return ", ".join([f"{what}: {min(1.0, done / max(total, 1)):.0%}", *([speed] if speed else []), f"{left:.0f} s left"])
