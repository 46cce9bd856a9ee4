"""Nothing outlives an interrupted run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import FrameType

import pytest

from sim.rtl.process import run_process


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_status_and_output_of_both_streams(tmp_path: Path) -> None:
    assert run_process(["sh", "-c", "echo one; echo two >&2; exit 3"], tmp_path) == (3, "one\ntwo\n")


def test_an_interrupt_ends_the_program_and_its_children(tmp_path: Path) -> None:
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_process(["sh", "-c", "sleep 60 & echo $! > child; echo $$ > parent; wait"], tmp_path)
    finally:
        signal.signal(signal.SIGALRM, previous)
    pids = [int((tmp_path / name).read_text()) for name in ("parent", "child")]
    deadline = time.monotonic() + 5
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(alive(pid) for pid in pids)
    assert os.getpid() not in pids
