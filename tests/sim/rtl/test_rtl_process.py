"""Nothing outlives an interrupted run."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_program_is_being_started_ends_it(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when the program is there, and nobody has been told."""
    started: list[int] = []

    class Untimely(subprocess.Popen[str]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self.pid)
            signal.raise_signal(number)

    monkeypatch.setattr("sim.rtl.process.subprocess.Popen", Untimely)
    previous = signal.signal(number, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_process(["sleep", "60"], tmp_path)
        assert signal.getsignal(number) is interrupt
    finally:
        signal.signal(number, previous)
    assert len(started) == 1
    assert not alive(started[0])


def test_a_program_that_cannot_be_started_leaves_the_interrupts_as_they_were(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(FileNotFoundError):
        run_process(["no-such-program"], tmp_path)
    assert signal.getsignal(signal.SIGINT) is before


def test_programs_may_be_started_from_any_thread(tmp_path: Path) -> None:
    found: list[tuple[int, str]] = []
    thread = threading.Thread(target=lambda: found.append(run_process(["echo", "here"], tmp_path)))
    thread.start()
    thread.join()
    assert found == [(0, "here\n")]
