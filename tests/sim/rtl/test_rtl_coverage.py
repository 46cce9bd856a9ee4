"""What Verilator counts is read by unit, and sums over runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from isa.config import preset
from isa.instructions import Region
from sim.rtl.coverage import Counts, Point, point_of
from sim.rtl.machine import RtlMachine

STANDIN = (Path(__file__).parent / "standin_core.v").read_text()


def line(page: str, file: str, name: str, count: int) -> str:
    return f"C '\1f\2{file}\1l\0027\1n\0023\1t\2toggle\1page\2{page}\1o\2{name}\1h\2TOP.bench.core' {count}"


def test_a_point_of_the_machine_knows_its_unit() -> None:
    found = point_of(line("v_toggle/tilewright_core_conv_array", "core.v", "acc[3]", 5))
    assert found == Point("toggle", "conv", "tilewright_core_conv_array", 7, "acc[3]")
    assert point_of(line("v_line/tilewright_dram", "/x/dram.v", "block", 5)) is None
    assert point_of("C 'nonsense' 3") is None


def test_runs_and_copies_of_a_module_count_together(tmp_path: Path) -> None:
    file = tmp_path / "coverage.dat"
    rows = [("v_line/tilewright_core", "a", 1), ("v_line/tilewright_core", "a", 2), ("v_branch/tilewright_core", "b", 0)]
    file.write_text("# header\n" + "".join(line(page, "core.v", name, count) + "\n" for page, name, count in rows))
    counts = Counts()
    counts.add(file)
    counts.add(file)
    assert {(point.kind, point.what): count for point, count in counts.of_machine()} == {("line", "a"): 6, ("branch", "b"): 0}


def test_a_run_of_the_bench_counts(tmp_path: Path) -> None:
    config = replace(preset("nano"), build_pool=False, build_misc=False)
    file = tmp_path / "coverage.dat"
    machine = RtlMachine(config, verilog=STANDIN, coverage=True, plusargs=(f"+coverage={file}",))
    machine.run([1, 2], np.zeros(64, np.uint8), {Region.OUTPUT: 32})
    counts = Counts()
    counts.add(file)
    found = list(counts.of_machine())
    assert {point.kind for point, _ in found} >= {"line", "toggle"}
    assert {point.unit for point, _ in found} == {"core"}
    assert any(count for _, count in found)
    assert not all(count for _, count in found)
