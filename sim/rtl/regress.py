"""Runs the cocotb benches on one configuration."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from isa.config import MachineConfig
from isa.instructions import Unit
from sim.campaign.run import ALONE, How, campaign
from sim.campaign.work import Lost
from sim.rtl.benches import BENCHES, Bench
from sim.rtl.build import (
    FAST_CLOCK_DEFINE,
    ROOT,
    SIMULATORS,
    Build,
    bench_defines,
    bus_limits,
    core_verilog,
    executable,
    memory_parameters,
)
from sim.rtl.cocotb_tests import BENCH_VARIABLE, FAST_VARIABLE
from sim.rtl.compiler import one_build
from sim.rtl.interrupts import temporary_folder
from sim.rtl.machine import SMALLEST_MEMORY, write_image
from sim.rtl.scenario import Scenario, token, whole
from sim.rtl.script import host_script
from sim.rtl.tools import SimulatorError
from sim.rtl.verilator import verilator_root

BenchResult = tuple[str, bool, str, float]
"""The name, whether it succeeded, a detail, and the seconds."""
LITE_TOP, TOP = "tilewright_lite_bench", "tilewright_bench"
LIMIT = 2_000_000
"""The cycles that one program of a bench may take."""


def run_regress(
    config: MachineConfig, simulator: str = "verilator", cache: Path | str | None = None, how: How = ALONE
) -> Iterator[BenchResult]:
    """Runs every bench, and yields its result as soon as it and those before it are there."""
    if simulator not in SIMULATORS:
        raise SimulatorError(f"simulator {simulator!r}: unknown; known are {', '.join(SIMULATORS)}")
    items = [(bench.name, config, simulator, cache) for bench in BENCHES]
    of = {"benches": config.name, "hash": config.hash, "simulator": simulator}
    with campaign(_timed, items, how, of) as results:
        for bench, result in zip(BENCHES, results, strict=True):
            failure, seconds = (result.reason, 0.0) if isinstance(result, Lost) else result
            yield bench.name, failure is None, failure or bench.doc, seconds


def _timed(item: tuple[str, MachineConfig, str, Path | str | None]) -> tuple[str | None, float]:
    """What went wrong in the bench of that name, or None, and the seconds that it took."""
    name, config, simulator, cache = item
    start = time.monotonic()
    failure = run_bench(next(bench for bench in BENCHES if bench.name == name), config, simulator, cache)
    return failure, time.monotonic() - start


def run_bench(bench: Bench, config: MachineConfig, simulator: str, cache: Path | str | None = None) -> str | None:
    """Runs one bench in cocotb; returns what went wrong, or None."""
    if bench.scenarios is None:
        return _run_lite(bench, config, simulator, cache)
    for number, scenario in enumerate(bench.scenarios(config)):
        failure = run_scenario(bench.test, scenario, simulator, cache)
        if failure is not None:
            return f"scenario {number}: {failure}"
    return None


def run_scenario(
    test: str, scenario: Scenario, simulator: str, cache: Path | str | None = None, limit: int = LIMIT
) -> str | None:
    """Plays one scenario in cocotb; returns what went wrong, or None."""
    config = scenario.config
    image = np.concatenate([scenario.memory, scenario.code])
    with temporary_folder() as work:
        write_image(work / "image", image, config.axi_port_bits // 8)
        scenario.expected.tofile(work / "expected")
        (work / "script.hex").write_text(host_script(scenario.starts, counters=False))
        wanted = {
            "endings": scenario.endings,
            "compare_memory": scenario.compare_memory,
            "expected": str(work / "expected"),
            "beat": config.axi_port_bits // 8,
        }
        (work / "bench.json").write_text(json.dumps(wanted))
        stalls = 0 if scenario.stalls_seed is None else 2 * scenario.stalls_seed + 1
        plusargs = [
            "+script=script.hex", "+result=result.txt", "+image=image", "+dump=dump", f"+limit={limit}",
            f"+memory_bytes={scenario.memory.size:x}", f"+program_base={scenario.program_base:x}",
            f"+program_bytes={scenario.code.size:x}", f"+stall_seed={stalls}", *scenario.dram.arguments(),
        ]  # fmt: skip
        parameters = {"HDL_IMAGE": 1, "CHECK": 1, **bus_limits(config)}
        build = _build(config, simulator, TOP, image.size, parameters, cache)
        return run_cocotb(build, simulator, test, work, plusargs, cache)


def _run_lite(bench: Bench, config: MachineConfig, simulator: str, cache: Path | str | None) -> str | None:
    program = whole(config, token(Unit.LOAD, signal=[Unit.SAVE]), token(Unit.SAVE, wait=[Unit.LOAD]))
    address = 0x1000
    image = np.zeros(1 << 14, np.uint8)
    image[address : address + 4 * len(program)] = np.array(program, "<u4").view(np.uint8)
    with temporary_folder() as work:
        write_image(work / "image", image, config.axi_port_bits // 8)
        beats = 4 * len(program) // config.axi_bytes
        wanted = {"hash": config.hash, "address": address, "words": len(program), "beats": beats}
        (work / "bench.json").write_text(json.dumps(wanted))
        build = _build(config, simulator, LITE_TOP, image.size, {"PORTS": config.axi_ports}, cache)
        return run_cocotb(build, simulator, bench.test, work, ["+image=image"], cache)


def _build(
    config: MachineConfig, simulator: str, top: str, image_bytes: int, more: dict[str, int], cache: Path | str | None
) -> Build:
    size = SMALLEST_MEMORY
    while size < image_bytes:
        size *= 16
    parameters = {**memory_parameters(config, size), **more}
    extra = ("lite_bench.v",) if top == LITE_TOP else ()
    return Build(
        simulator, core_verilog(config, cache), parameters, extra, top, bench_defines(config), cocotb=True,
        brief=top == LITE_TOP or one_build(),
    )  # fmt: skip


def run_cocotb(
    build: Build, simulator: str, test: str, work: Path, plusargs: list[str], cache: Path | str | None = None,
    module: str = "sim.rtl.cocotb_tests",
) -> str | None:  # fmt: skip
    """Runs one cocotb test of a module on a built simulator; returns the end of its log if it fails, or None."""
    program = executable(build, cache)
    runner = get_runner(simulator)
    log = work / "log.txt"
    environment = {
        BENCH_VARIABLE: str(work / "bench.json"),
        "COCOTB_ANSI_OUTPUT": "0",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    if FAST_CLOCK_DEFINE in build.defines:
        environment[FAST_VARIABLE] = "1"
    if simulator == "verilator":
        environment["PATH"] = f"{verilator_root() / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        results = runner.test(
            module, build.top, hdl_toplevel_lang="verilog", test_dir=work, build_dir=program.parent,
            plusargs=plusargs, extra_env=environment, results_xml=str(work / "results.xml"), test_filter=rf"\.{test}$",
            log_file=log,
        )  # fmt: skip
    except (SystemExit, RuntimeError) as stop:
        return _reason(log) or f"the simulator stopped: {stop}"
    tests, failures = get_results(results)
    if tests == 1 and failures == 0:
        return None
    return _reason(log) or f"{tests} tests ran, {failures} failed"


def _reason(log: Path) -> str:
    """The lines of a cocotb log that say why a test failed."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    errors = [line.strip() for line in lines if "Error" in line or "AXI rule" in line]
    return " | ".join(errors[-3:]) if errors else "\n".join(lines[-10:])
