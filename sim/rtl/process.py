"""Other programs, run so that nothing of them outlives an interrupted caller."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

TICK_SECONDS = 0.5
INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


class _HeldInterrupts:
    """From when it is made until ``release``, interrupts wait: one that came while a program is being started would
    find nobody who knows of that program."""

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
        """Hand on what came meanwhile."""
        while self._handlers:
            signal.signal(*self._handlers.popitem())
        for number in self._came:
            signal.raise_signal(number)


def run_process(
    command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, tick: Callable[[], None] | None = None
) -> tuple[int, str]:
    """Exit status and output (both streams). Whatever ends the wait ends the program, and all that it has started.

    ``tick`` is called every half second while the program runs.
    """
    held = _HeldInterrupts()
    try:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
    except BaseException:
        held.release()
        raise
    with process:
        try:
            held.release()
            output = _output(process, tick)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, output


def _output(process: subprocess.Popen[str], tick: Callable[[], None] | None) -> str:
    if tick is None:
        return process.communicate()[0]
    while True:
        try:
            return process.communicate(timeout=TICK_SECONDS)[0]
        except subprocess.TimeoutExpired:
            tick()
