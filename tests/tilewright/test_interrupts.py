"""Told to end in the middle of anything that lasts: one line, exit code 130, no process and no file left."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from compiler.zoo.squeezenet import squeezenet
from isa.assembler import assemble
from isa.config import preset
from isa.program import Program
from isa.program_file import save_program
from sim.rtl.build import cache_directory, core_verilog
from tests.tools import needs
from tilewright.exits import Exit

ROOT = Path(__file__).parents[2]
NANO = preset("nano")
MARK = "TILEWRIGHT_TEST_MARK"
LONG = "MISC mode=PASS m_a=1 lo=-128 hi=127 n0=1 n1=1 n2=1 n3=1000 n4=1000 o_addr=1\n"
"""A million cycles."""
Seen = Callable[[str], bool]


def processes(mark: str) -> dict[int, str]:
    """Everything that was started by whoever carries the mark in its environment: command lines by number."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            ended = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            if f"{MARK}={mark}\0".encode() in (folder / "environ").read_bytes() and not ended:
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return found


def handles(pid: int) -> bool:
    """Whether the process has settled what a signal does: before, it is still Python that starts."""
    caught = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def _heeds_interrupts() -> None:
    """In the child: a suite that was started in the background ignores SIGINT, and hands that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(
    folder: Path, number: signal.Signals, arguments: list[str], *, when: Seen | None = None, after: float = 0.0,
    cache: Path | None = None, module: str = "tilewright",
) -> None:  # fmt: skip
    """Start ``tilewright``, or another program, wait until one of its processes is what ``when`` looks for, then a while
    more, and tell it to end."""
    mark = uuid.uuid4().hex
    temporary, work = folder / "temporary", folder / "work"
    temporary.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), MARK: mark}
    if cache is not None:
        environment["XDG_CACHE_HOME"] = str(cache)
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments], cwd=work, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=_heeds_interrupts,
    ) as process:  # fmt: skip
        until = time.monotonic() + 300
        while when is not None and not any(when(line) for line in processes(mark).values()):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until, "what was waited for never began"
            time.sleep(0.01)
        while not handles(process.pid):
            assert time.monotonic() < until, "the command never began"
            time.sleep(0.01)
        time.sleep(after)
        assert process.poll() is None, process.communicate()
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    line = f"{module.split('.')[0]}: interrupted\n"
    assert (process.returncode, err) == (Exit.INTERRUPTED, line), (process.returncode, out, err)
    for _ in range(100):
        if not processes(mark):
            break
        time.sleep(0.02)
    assert processes(mark) == {}
    assert [*temporary.glob("tilewright-*")] == []
    assert [*work.iterdir()] == []


def simulation(line: str) -> bool:
    return "+script=script.hex" in line


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``long.elf``, 150 million cycles of element-wise work; ``no.npz``, its inputs; and a network that takes
    long to calibrate and to search."""
    folder = tmp_path_factory.mktemp("given")
    words = assemble("START config=CONFIG\n" + 150 * LONG + "END\n", config=NANO)
    save_program(Program(NANO, tuple(words)), folder / "long.elf")
    np.savez(folder / "no.npz")
    (folder / "network.onnx").write_bytes(squeezenet(size=160).SerializeToString())
    np.savez(folder / "images.npz", image=np.random.default_rng(0).random((300, 3, 160, 160), np.float32))
    return folder


SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@SIGNALS
def test_functional_simulation(number: signal.Signals, given: Path, tmp_path: Path) -> None:
    arguments = ["run", str(given / "long.elf"), "--input", str(given / "no.npz"), "-o", "out.npz"]
    interrupted(tmp_path, number, arguments, after=1.0)


@pytest.mark.parametrize(
    ("command", "number"),
    [("run", signal.SIGINT), ("run", signal.SIGTERM), pytest.param("trace", signal.SIGINT, marks=pytest.mark.slow)],
)
def test_rtl_simulation(command: str, number: signal.Signals, given: Path, tmp_path: Path) -> None:
    arguments = [command, str(given / "long.elf"), "--engine", "rtl", "--input", str(given / "no.npz"), "-o", "out"]
    interrupted(tmp_path, number, arguments, when=simulation, after=0.3)


def test_many_short_simulations_at_any_moment(tmp_path: Path) -> None:
    """Simulators are started all the time: some interrupts come between the start and the first look at one."""
    rng = random.Random(0)
    for number in (signal.SIGINT, signal.SIGTERM) * 2:
        arguments = ["fuzz", "--config", "nano", "--count", "100000", "--engine", "rtl"]
        interrupted(tmp_path, number, arguments, when=simulation, after=rng.uniform(0, 0.1))


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("yosys", signal.SIGINT),
        pytest.param("verilator_bin", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("-MMD", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_build_of_a_simulator(stage: str, number: signal.Signals, given: Path, tmp_path: Path) -> None:
    """In a cache of its own: the netlist, the C++, its compilation by any compiler. The next build finds no half of it."""
    cache = tmp_path / "cache"
    if stage != "yosys":  # the netlist is there already
        core_verilog(NANO)
        (cache / "tilewright" / "verilog").mkdir(parents=True)
        for file in (cache_directory() / "verilog").glob(f"{NANO.name}-*"):
            shutil.copy(file, cache / "tilewright" / "verilog")
    arguments = ["run", str(given / "long.elf"), "--engine", "rtl", "--input", str(given / "no.npz"), "-o", "out.npz"]
    interrupted(tmp_path, number, arguments, when=lambda line: stage in line, after=0.1, cache=cache)
    assert [path for path in (cache / "tilewright" / "rtl").glob("*") if path.suffix != ".lock"] == []
    assert [path for path in (cache / "tilewright" / "verilog").glob("*") if path.suffix not in (".v", ".json")] == []


@needs("iverilog")
def test_benches(tmp_path: Path) -> None:
    arguments = ["regress", "--config", "nano", "--simulator", "icarus"]
    interrupted(tmp_path, signal.SIGTERM, arguments, when=lambda line: "vvp" in line)


def test_verilog(tmp_path: Path) -> None:
    arguments = ["verilog", "--config", "nano", "-o", "core"]
    interrupted(tmp_path, signal.SIGTERM, arguments, after=0.5, cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("command", "rest"), [("compile", ["-o", "out.elf"]), ("check", []), ("explain", ["-o", "groups.svg"])]
)
def test_compilation(command: str, rest: list[str], given: Path, tmp_path: Path) -> None:
    arguments = [command, str(given / "network.onnx"), "--calibrate", str(given / "images.npz"), *rest]
    interrupted(tmp_path, signal.SIGINT, arguments, after=0.7, cache=tmp_path / "cache")


def test_demo(tmp_path: Path) -> None:
    arguments = ["--config", "nano", "--out", str(tmp_path / "out")]
    cache = tmp_path / "cache"
    interrupted(tmp_path, signal.SIGTERM, arguments, after=0.5, cache=cache, module="demo.run")
