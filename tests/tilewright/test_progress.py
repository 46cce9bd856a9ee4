"""What is told while something lasts: on a terminal only, and how far an RTL simulation has come."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pytest

from isa.assembler import assemble
from isa.config import preset
from isa.doing import Doing, Pace
from isa.faults import MachineFault
from isa.instructions import Region
from isa.program import Program
from isa.program_file import save_program
from sim.functional.machine import FunctionalMachine
from sim.rtl.machine import RtlMachine
from sim.rtl.process import run_process
from tilewright.progress import stage_reporter
from tilewright.running import cycle_progress

ROOT = Path(__file__).parents[2]
NANO = preset("nano")
STUCK = "START config=CONFIG\nLOAD wait=SAVE rows=1 pixels=1 run=1\nEND\n"


def test_stages_are_shown_on_a_terminal_and_wiped(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with stage_reporter() as report:
        report("search")
        report("")
    assert capsys.readouterr().err == "\r\033[K   0.0 s  search\r\033[K\r\033[K"
    with stage_reporter(quiet=True) as report:
        report("search")
    assert capsys.readouterr().err == ""


def test_the_seconds_go_on_while_a_stage_lasts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("tilewright.progress.TICK_SECONDS", 0.02)
    with stage_reporter() as report:
        report("build")
        time.sleep(0.5)
    seconds = re.findall(r"([\d.]+) s  build", capsys.readouterr().err)
    assert len(seconds) > 3
    assert float(seconds[-1]) > float(seconds[0])


def test_the_time_left_goes_down_while_a_stage_lasts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("tilewright.progress.TICK_SECONDS", 0.05)
    with stage_reporter() as report:
        report(Doing("search", 40.0))
        time.sleep(2.2)
    shown = [int(left) for left in re.findall(r"search, about (\d+) s left", capsys.readouterr().err)]
    assert shown[0] == 40
    assert shown == sorted(shown, reverse=True)
    assert shown[-1] <= 38


def test_work_goes_on_at_the_pace_of_what_is_done() -> None:
    now = [100.0]
    pace = Pace(60, clock=lambda: now[0])
    assert pace.doing("yosys") == "yosys, about 60 s left"
    now[0] += 20
    assert pace.doing("yosys") == "yosys, about 40 s left"
    assert pace.doing("yosys", 0.2) == "yosys, about 80 s left", "a fifth took 20 s"
    now[0] += 180
    assert pace.doing("yosys") == "yosys, about 40 s left", "longer than expected: a fifth of what it has taken"


def test_nothing_is_shown_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    with stage_reporter() as report:
        report("search")
    assert capsys.readouterr().err == ""


def test_cycles_become_a_share_a_speed_and_a_time_left() -> None:
    said: list[str] = []
    program = Program(NANO, tuple(assemble("START config=CONFIG\nLOADP count=3 buffer=TAPS\nEND\n", config=NANO)))
    told = cycle_progress(program, "rtl", said.append)
    told(1)
    told(1_000_000)
    assert "builds its simulator" in said[0]
    assert [line.split(",")[0] for line in said[1:]] == ["RTL simulation: 1%", "RTL simulation: 100%"]
    assert said[2].endswith(" cycles/s, 0 s left")


def test_the_functional_simulator_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.functional.machine.PROGRESS_SECONDS", -1.0)
    seen: list[int] = []
    program = Program(NANO, tuple(assemble("START config=CONFIG\n" + 5 * "LOADP count=3 buffer=TAPS\n" + "END\n", config=NANO)))
    FunctionalMachine(NANO).run(program.words, np.zeros(4096, np.uint8), dict.fromkeys(Region, 0), seen.append)
    assert seen == [0, *range(2, len(program.words), 4)]
    said: list[str] = []
    told = cycle_progress(program, "functional", said.append)
    told(len(program.words) // 2)
    assert said[0].startswith("functional simulation: 48%, ")
    assert said[0].endswith(" s left")


def test_a_program_that_runs_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sim.rtl.process.TICK_SECONDS", 0.02)
    ticks: list[int] = []
    since = time.perf_counter()
    assert run_process(["sh", "-c", "sleep 0.3; echo done"], tmp_path, tick=lambda: ticks.append(1)) == (0, "done\n")
    assert 1 <= len(ticks) <= (time.perf_counter() - since) / 0.02


def test_an_rtl_simulation_tells_its_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a program that waits for a token until the watchdog comes."""
    monkeypatch.setattr("sim.rtl.process.TICK_SECONDS", 0.02)
    seen: list[int] = []
    memory = np.zeros(4096, np.uint8)
    words = assemble(STUCK, config=NANO, check_rules=False)
    with pytest.raises(MachineFault):
        RtlMachine(NANO).run(words, memory, dict.fromkeys(Region, 0), watchdog=500_000, progress=seen.append)
    assert seen == sorted(seen)
    assert all(cycles % 65536 == 0 for cycles in seen)
    assert 65536 <= seen[-1] <= 600_000


@pytest.mark.parametrize(
    ("engine", "millions", "expected"),
    [
        ("functional", 40, r"functional simulation: \d+%, \d+ s left"),
        ("rtl", 1, r"RTL simulation: \d+%, \d+ cycles/s, \d+ s left"),
    ],
)
def test_a_long_simulation_on_a_terminal_says_how_far_it_is(engine: str, millions: int, expected: str, tmp_path: Path) -> None:
    """As a user sees it, of a program of so many million cycles; in the end the line is wiped."""
    work = "MISC mode=PASS m_a=1 lo=-128 hi=127 n0=1 n1=1 n2=1 n3=1000 n4=1000 o_addr=1\n"
    words = assemble("START config=CONFIG\n" + millions * work + "END\n", config=NANO)
    save_program(Program(NANO, tuple(words)), tmp_path / "long.elf")
    np.savez(tmp_path / "no.npz")
    terminal, screen = pty.openpty()
    command = [sys.executable, "-m", "tilewright", "run", "long.elf", "--input", "no.npz", "-o", "out.npz", "--engine", engine]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=PIPE, stderr=screen) as process:
        os.close(screen)
        said = b""
        with suppress(OSError):  # how a terminal whose other end was closed says so
            while part := os.read(terminal, 4096):
                said += part
        assert process.wait() == 0
    os.close(terminal)
    assert re.search(expected, said.decode())
    assert said.endswith(b"\r\x1b[K")
