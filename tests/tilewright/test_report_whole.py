"""The head of the report: end to end first, accuracy beside it, the device's resources, what takes most and what would help."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

from compiler.driver import Compiled
from isa.config import preset
from isa.instructions import Unit
from isa.program import Program
from tests.tilewright.small_models import alternating_model, hosted_program, images, judged_program
from tilewright.compiling import compile_model
from tilewright.explain.source import of_program
from tilewright.processors import PROCESSORS
from tilewright.profile.activity import modelled
from tilewright.profile.timeline import timeline
from tilewright.profile.whole import WholeTime, whole_time
from tilewright.report.bottlenecks import bottlenecks
from tilewright.report.compared import Run, compared
from tilewright.report.layers import GroupRow, LayerRow
from tilewright.report.page import page
from tilewright.report.whole import resources

BASE = preset("base")


def row(unit: Unit, **how: Any) -> LayerRow:
    return LayerRow("layer", 1, unit, **how)




@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_model(alternating_model(), "base", calibration={"image": images(8)}, strategy="naive", cache=False)


@pytest.fixture(scope="module")
def judged() -> Program:
    return judged_program("base")


def time_of(program: Program, cpu: str = "cortex-a53") -> WholeTime:
    return whole_time(program, modelled(program).steps, PROCESSORS[cpu])


def shown(program: Program) -> str:
    return page(program, modelled(program), time_of(program), "small")


def boxes(text: str) -> dict[str, str]:
    """Facts at the head: what each is, and how much, in their order."""
    return {unescape(name): value for value, name in re.findall(r"<div><b>([^<]*)</b><span>([^<]*)</span></div>", text)}


def test_end_to_end_comes_first_and_is_the_sum(compiled: Compiled) -> None:
    found = boxes(shown(compiled.program))
    assert list(found)[:2] == ["ms end to end", "inferences/s"]
    parts = ("ms of the machine at 300 MHz, not measured", "ms on cortex-a53", "ms of transfers")
    assert float(found["ms end to end"]) == pytest.approx(sum(float(found[name]) for name in parts), rel=0.02)


def test_accuracy_is_beside_speed(compiled: Compiled, judged: Program) -> None:
    found = boxes(shown(judged))
    assert list(found)[2].startswith("float ")
    assert found[list(found)[2]] == "4 samples"
    assert float(found["dB, least signal to noise"]) > 10
    assert not [name for name in boxes(shown(compiled.program)) if "signal" in name or "right" in name]


def test_parts_that_compute_the_same_are_one_bottleneck(compiled: Compiled) -> None:
    time = time_of(compiled.program)
    softmax, *others = bottlenecks(compiled.program.config, time, ())
    assert len(others) == 2, "of many the three that take most"
    assert softmax.what == "parts cpu1, cpu2 on cortex-a53: DequantizeLinear, Hardmax, QuantizeLinear"
    assert softmax.ms == pytest.approx(sum(span.ms or 0 for span in time.spans if "Hardmax" in span.operators))
    assert "in place of Hardmax, which no unit computes" in softmax.remedy
    assert "each takes 0.12 ms to begin and end" in softmax.remedy
    assert {each.remedy[:13] for each in others} == {"--input-type ", "--output-type"}


GROUPS: dict[str, tuple[int, list[LayerRow], str, str]] = {
    "two layers of one unit": (
        1100, [row(Unit.CONV, work=500, macs=250_000), row(Unit.CONV, work=500, macs=250_000), row(Unit.MISC, work=600)],
        "CONV works 1,000 of them", "a larger array (ic_p, oc_p, px_p)",
    ),
    "waits": (
        1000, [row(Unit.CONV, work=100, waits=Counter(LOAD=700)), row(Unit.CONV, work=200, waits=Counter(issue=50))],
        "its busiest unit, CONV, works 300 of them, and waits for LOAD, issue", "a larger batch or fewer, larger layers",
    ),
    "an array that is not filled": (
        1000, [row(Unit.CONV, work=900, macs=46_080)], "CONV fills 10% of the array while it works",
        "channels in multiples of 16",
    ),
    "an elementwise layer": (1000, [row(Unit.MISC, work=900)], "MISC works 900 of them", "more lanes (misc_lanes)"),
    "bytes": (
        1000, [row(Unit.CONV, work=700, read=12_000)], "DRAM moves 12 kB in 75% of that", "a wider bus (axi_data_bits)",
    ),
    "bytes beside more work": (
        1000, [row(Unit.CONV, work=900, read=12_000)], "CONV works 900 of them", "a larger array",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPS)
def test_what_bounds_a_group_is_what_most_of_its_time_goes_to(name: str, compiled: Compiled) -> None:
    cycles, layers, what, remedy = GROUPS[name]
    time = replace(time_of(compiled.program), spans=())
    (found,) = bottlenecks(BASE, time, [GroupRow(1, tuple(layers), cycles)])
    assert found.ms == cycles / 300_000
    assert what in found.what
    assert found.remedy.startswith(remedy)


def test_transfers_are_one_bottleneck(compiled: Compiled) -> None:
    time = time_of(compiled.program)
    copied = replace(time, spans=tuple(span for span in time.spans if span.kind == "transfer"))
    (found,) = bottlenecks(compiled.program.config, copied, ())
    assert found.ms == pytest.approx(time.ms_of("transfer"))
    assert "and 3 more" in found.what
    assert f": {sum(span.bytes for span in copied.spans)} B" in found.what


def test_a_program_without_a_machine_part_has_no_empty_charts() -> None:
    """Nor does anything quantise its model again, with a warning that data are missing."""
    program = hosted_program()
    text = shown(program)
    assert re.findall("<h2>(.*?)</h2>", text) == ["The whole run", "Where the time goes", "Device", "Partition"]
    assert re.findall('aria-label="(.*?)"', text) == ["The whole run"]
    assert (boxes(text)["utilisation"], boxes(text)["of DRAM, data"]) == ("-", "0 B")
    events = timeline(program, modelled(program), time_of(program))["traceEvents"]
    assert [event["name"] for event in events if event["ph"] == "X"] == ["cpu0"]
    assert [event["ts"] for event in events if event["ph"] == "C"] == [0.0, 0.0]
    assert not of_program(program, "program").groups


def test_every_resource_of_the_chip_has_a_bar() -> None:
    rows = re.findall(r"<tr><td>(\w+)</td><td>.*?width:([\d.]+)%.*?</td><td>([\d,]+) of ([\d,]+)", resources(BASE))
    assert [name for name, *_ in rows] == ["LUT", "FF", "DSP", "BRAM", "URAM"]
    for _, width, used, there in rows:
        assert float(width) == pytest.approx(100 * number(used) / number(there), abs=0.5)
    assert rows[-1][2] == "32", "UltraRAMs are counted"
    assert "URAM" not in resources(preset("zu2")), "its chip has none"
    assert resources(replace(BASE, chip="", weight_ram="auto")) == ""


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_two_programs_have_their_accuracy_and_products_side_by_side(compiled: Compiled, judged: Program) -> None:
    runs = [Run(name, each, modelled(each), time_of(each)) for name, each in (("a", compiled.program), ("b", judged))]
    text = compared(*runs)
    rows = {cells[0]: cells[1:] for cells in re.findall("<td>([^<]*)</td>" * 4, text)}
    assert rows["MACs"][:2] == ("8,748", "4,860")
    assert rows["accuracy"][0] == "-"
    assert rows["accuracy"][1].startswith("4 samples: float ")
    (turned,) = re.findall("<td>ms of transfers</td>" + "<td>([^<]*)</td>" * 3, compared(*runs[::-1]))
    assert turned[2].endswith(" times") or turned[2].startswith("+")
