"""Runs other programs so that nothing of them outlives an interrupted caller."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sim.rtl.interrupts import HeldInterrupts

TICK_SECONDS = 0.5


def run_process(
    command: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, tick: Callable[[], None] | None = None
) -> tuple[int, str]:
    """Returns exit status and output (both streams). Whatever ends the wait ends the program, and all that it has started.

    ``tick`` is called every half second while the program runs.
    """
    held = HeldInterrupts()
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
