"""Told to end in the middle of a simulation: one line, exit code 130, no process and no file left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilewright.exits import Exit

ROOT = Path(__file__).parents[2]
SLEEPER = """
import sys
from pathlib import Path
import tilewright.commands.isa as command
from sim.rtl.process import run_process
from tilewright.cli import run
command.reference = lambda: run_process(["sh", "-c", "sleep 60 & sleep 0.3; echo $! > child; wait"], Path.cwd())[1]
sys.argv = ["tilewright", "isa"]
run()
"""
"""A command that waits for a program with a child of its own, as a simulation, or the build of a simulator, is."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_simulation_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        child = tmp_path / "child"
        until = time.monotonic() + 30
        while not (child.exists() and child.read_text().strip()):
            assert time.monotonic() < until, "the program never began"
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (Exit.INTERRUPTED, "", "tilewright: interrupted")
    assert gone(int(child.read_text()))


def gone(pid: int) -> bool:
    """Within a second; one that has ended and that nobody has asked for yet is gone, too."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
