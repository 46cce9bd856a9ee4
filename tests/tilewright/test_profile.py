"""What instructions wait for, whose they are, what they move, and how the timeline shows it."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from compiler.driver import Compiled
from isa.assembler import assemble
from isa.config import preset
from isa.instructions import Unit
from isa.program import Program
from isa.program_file import save_program
from sim.rtl.machine import TraceEvent
from tests.tilewright.small_models import float_model, images
from tilewright.cli import main
from tilewright.compiling import compile_model
from tilewright.processors import PROCESSORS
from tilewright.profile.activity import INSIDE, ISSUE, MOVES, Timing, activities, modelled
from tilewright.profile.dataflow import dataflow
from tilewright.profile.network import macs_of_nodes
from tilewright.profile.rates import buckets, rate
from tilewright.profile.timeline import timeline, visible
from tilewright.profile.whole import whole_time
from tilewright.summary import array_macs

NANO = preset("nano")
COPY = """START config=CONFIG
LOAD signal=SAVE rows=2 pixels=4 step=3 run=3 row_stride=12 valid=12 region=INPUT d_xs=1 d_ys=4
SAVE wait=LOAD rows=2 pixels=4 step=3 run=3 row_stride=12 region=OUTPUT s_xs=1 s_ys=4
LOADP count=3 buffer=TAPS
END
"""
LOAD, SAVE, LOADP = 2, 12, 20
"""Word offsets."""


BY_HAND = Timing(
    "by hand",
    160,
    [TraceEvent(Unit.LOAD, LOAD, 30, 130), TraceEvent(Unit.SAVE, SAVE, 135, 150), TraceEvent(Unit.LOAD, LOADP, 40, 140)],
    [160],
)


@pytest.fixture(scope="module")
def copy() -> Program:
    return Program(NANO, tuple(assemble(COPY, config=NANO)))


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    """One group, ``conv`` and ``pool``."""
    return compile_model(float_model(), "nano", calibration={"image": images(8)}, groups=[["conv", "pool"]])


def test_waits_are_told_by_cause_and_bytes_by_fields(copy: Program) -> None:
    load, save, parameters = activities(copy, BY_HAND)
    assert (load.read, save.written, parameters.read) == (24, 24, 3 * NANO.buffer_dram_bytes("TAPS"))
    assert save.givers == (load.number,)
    assert load.waits == {ISSUE: 30, INSIDE: 100 - load.work}
    assert save.waits[Unit.LOAD.name] == 131, "a token given in cycle 130 can be taken in 131"
    assert save.waits[ISSUE] == 4
    assert parameters.waits == {INSIDE: 10 - parameters.work}, "it started while the load was in work, and ended 10 later"
    assert visible([load, save, parameters]) == [(30, 130), (135, 150), (130, 140)]


def test_cycles_of_a_unit_add_up(compiled: Compiled) -> None:
    timing = modelled(compiled.program)
    items = activities(compiled.program, timing)
    for unit in {item.unit for item in items} - {*MOVES}:
        mine = [item for item in items if item.unit is unit]
        total = sum(item.work + sum(item.waits.values()) for item in mine)
        overlap = sum(max(0, before.finish - after.start) for before, after in pairwise(mine))
        assert max(item.finish for item in mine) <= total <= max(item.finish for item in mine) + overlap
    assert timing.cycles == pytest.approx(max(item.finish for item in items), abs=4)


def test_moves_belong_to_the_layers_that_they_feed_and_empty(compiled: Compiled) -> None:
    items = activities(compiled.program, modelled(compiled.program))
    flow = dataflow(NANO, items)
    owners = {(item.op.name, flow.layer_of[item.number]) for item in items}
    assert owners == {("LOAD", "conv"), ("LOADP", "conv"), ("CONV", "conv"), ("POOL", "pool"), ("SAVE", "pool")}
    assert flow.group_of == {"conv": 1, "pool": 1}
    saved = sum(item.written for item in items)
    assert saved == 5 * 3 * 3


def test_layers_that_meet_only_in_dram_are_two_groups() -> None:
    apart = compile_model(float_model(), "nano", calibration={"image": images(8)}, strategy="naive")
    items = activities(apart.program, modelled(apart.program))
    assert dataflow(NANO, items).group_of == {"conv": 1, "pool": 2}


def test_words_are_held_until_their_last_reader_has_ended(copy: Program) -> None:
    (resident,) = dataflow(NANO, activities(copy, BY_HAND)).residents
    assert (resident.words.tolist(), resident.since, resident.until) == ([[0, 8]], 30, 150)


def test_macs_are_those_of_the_model(compiled: Compiled) -> None:
    assert macs_of_nodes(compiled.program) == {"conv": 5 * 3 * 9 * 36}
    assert array_macs(compiled) == 5 * 3 * 9 * 36
    assert macs_of_nodes(Program(NANO, (2,))) == {}


def test_rate_spreads_amounts_evenly() -> None:
    edges = np.array([0.0, 10.0, 20.0, 30.0])
    assert rate([(5, 25, 40), (12, 12, 3)], edges).tolist() == [1.0, 2.3, 1.0]
    assert rate([], edges).tolist() == [0.0, 0.0, 0.0]
    assert len(buckets(100_000)) <= 1002
    assert buckets(100)[-1] >= 100


def test_timeline_has_a_track_for_each_unit_arrows_and_counters(compiled: Compiled) -> None:
    timing = modelled(compiled.program)
    document = timeline(compiled.program, timing, whole_time(compiled.program, timing.steps, PROCESSORS["cortex-a53"]))
    events = document["traceEvents"]
    assert document["otherData"]["cycles"] == timing.cycles
    host = [event for event in events if event["ph"] == "X" and event["pid"] == 2]
    assert [event["cat"] for event in host] == ["cpu", "transfer", "transfer", "cpu"]
    slices = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
    assert min(event["ts"] for event in slices) >= host[1]["ts"] + host[1]["dur"] - 1, "it waits for its inputs"
    assert len(slices) == len(compiled.program.debug)
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == 1}
    assert list(tracks.values()) == [unit.name for unit in Unit]
    for track in tracks:
        mine = [(s["ts"], s["ts"] + s["dur"]) for s in slices if s["tid"] == track]
        assert all(before[1] <= after[0] for before, after in pairwise(mine)), tracks[track]
    arrows = [event for event in events if event["ph"] in "sf"]
    assert set(Counter(event["id"] for event in arrows).values()) == {2}
    for arrow in arrows:
        inside = [s for s in slices if s["tid"] == arrow["tid"] and s["ts"] <= arrow["ts"] <= s["ts"] + s["dur"]]
        assert inside, f"{arrow} begins or ends at no slice"
    assert {e["name"] for e in events if e["ph"] == "C"} == {"DRAM bytes per cycle", "array occupancy"}


def test_counters_add_up_to_the_bytes(compiled: Compiled) -> None:
    timing = modelled(compiled.program)
    whole = whole_time(compiled.program, timing.steps, PROCESSORS["vexriscv"])
    events = timeline(compiled.program, timing, whole)["traceEvents"]
    counters = [e for e in events if e["ph"] == "C" and e["name"] == "DRAM bytes per cycle"]
    span = counters[1]["ts"] - counters[0]["ts"]
    items = activities(compiled.program, timing)
    assert sum(e["args"]["read"] for e in counters) * span == pytest.approx(sum(i.read for i in items), rel=0.01)
    assert sum(e["args"]["written"] for e in counters) * span == pytest.approx(sum(i.written for i in items), rel=0.05)


def test_trace_command(copy: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elf, out = tmp_path / "copy.elf", tmp_path / "trace.json"
    save_program(copy, elf)
    assert main(["trace", str(elf), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    document = json.loads(out.read_text())
    told = whole_time(copy, modelled(copy).steps, PROCESSORS["vexriscv"]).told
    assert said == f"{out}: 3 instructions, {document['otherData']['cycles']} cycles (cycle model); end to end {told}\n"
    assert main(["trace", str(elf), "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["instructions"] == 3
