"""Holds interrupts while something is half done, and makes folders that no interrupt leaves behind."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


class HeldInterrupts:
    """Holds interrupts from its creation until ``release``. An interrupt while a program starts or a folder is made would
    otherwise leave it without an owner."""

    def __init__(self) -> None:
        self._came: list[int] = []
        self._handlers: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            for number in INTERRUPTS:
                if signal.getsignal(number) not in (None, signal.SIG_IGN):
                    self._handlers[number] = signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came.append(number)

    def release(self) -> None:
        """Raises the interrupts that came meanwhile."""
        while self._handlers:
            signal.signal(*self._handlers.popitem())
        came, self._came = self._came, []
        for number in came:
            signal.raise_signal(number)


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A folder that is removed afterwards, even if an interrupt comes while it is made or removed."""
    held = HeldInterrupts()
    try:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix="tilewright-"))
    except BaseException:
        held.release()
        raise
    try:
        held.release()
        yield folder
    finally:
        try:
            held = HeldInterrupts()
        finally:
            shutil.rmtree(folder)
            held.release()
