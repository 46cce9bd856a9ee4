"""The timeline, by the rules of the Trace Event Format as Perfetto reads it: from the cycle model and from the RTL."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest

from isa.config import preset
from isa.instructions import Unit
from isa.program import MachineStep, Program
from isa.program_file import load_program, save_program
from tests.tilewright.small_models import float_model, images
from tilewright.cli import main
from tilewright.compiling import compile_model
from tilewright.profile.activity import activities, modelled

NANO = preset("nano")
KNOWN = {"X": {"dur", "args"}, "M": {"args"}, "C": {"args"}, "s": {"id"}, "f": {"id", "bp"}}
"""Phases that the timeline uses, and what each must have beside its name, process and time."""
Event = dict[str, Any]


def broken_rules(document: dict[str, Any]) -> list[str]:
    """Everything in a document that Perfetto would leave out, move or misread."""
    found = []
    if document.get("displayTimeUnit") not in ("ms", "ns"):
        found.append("displayTimeUnit is ms or ns")
    events: list[Event] = document["traceEvents"]
    for event in events:
        missing = KNOWN.get(event["ph"], {"a phase that is known"}) - event.keys() - {"args"} | {"name", "pid"} - event.keys()
        if missing or (event["ph"] not in "MC" and "tid" not in event) or (event["ph"] != "M" and "ts" not in event):
            found.append(f"{event} lacks {missing}")
        times = [event[key] for key in ("ts", "dur") if key in event]
        if any(not math.isfinite(time) or time < 0 for time in times):
            found.append(f"{event}: times are not negative")
    found += _tracks(events)
    found += _flows(events)
    found += _counters(events)
    return found


def _slices(events: list[Event]) -> dict[int, list[tuple[float, float]]]:
    """Begin and end by track, in order of time."""
    slices: dict[int, list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            slices.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
    return {track: sorted(mine) for track, mine in slices.items()}


def _tracks(events: list[Event]) -> list[str]:
    names = [event["tid"] for event in events if event["name"] == "thread_name"]
    found = [f"track {track} has no name" for track in _slices(events) if names.count(track) != 1]
    for track, mine in _slices(events).items():
        if any(end <= begin for begin, end in mine):
            found.append(f"track {track}: a slice without length, to which no arrow can be tied")
        if any(before[1] > after[0] for before, after in pairwise(mine)):
            found.append(f"track {track}: slices overlap without one being inside the other")
    return found


def _flows(events: list[Event]) -> list[str]:
    slices = _slices(events)
    arrows = sorted((event for event in events if event["ph"] in "sf"), key=lambda event: (event["id"], event["ph"] == "f"))
    found = []
    for number, both in groupby(arrows, lambda event: event["id"]):
        ends = list(both)
        if [end["ph"] for end in ends] != ["s", "f"] or ends[1]["bp"] != "e":
            found.append(f"arrow {number}: one start, one end that is tied to the slice around it")
            continue
        if (ends[0]["cat"], ends[0]["name"]) != (ends[1]["cat"], ends[1]["name"]) or ends[0]["ts"] > ends[1]["ts"]:
            found.append(f"arrow {number}: the same name at both ends, and forward in time")
        for end in ends:
            if not any(begin <= end["ts"] < past for begin, past in slices.get(end["tid"], [])):
                found.append(f"arrow {number}: {end} is in no slice")
    return found


def _counters(events: list[Event]) -> list[str]:
    found = []
    counters = [event for event in events if event["ph"] == "C"]
    last = max((past for mine in _slices(events).values() for _, past in mine), default=0)
    for name in {event["name"] for event in counters}:
        mine = [event for event in counters if event["name"] == name]
        if any(before["ts"] >= after["ts"] for before, after in pairwise(mine)):
            found.append(f"counter {name}: samples ascend in time")
        if any(not math.isfinite(value) or value < 0 for event in mine for value in event["args"].values()):
            found.append(f"counter {name}: numbers, not negative")
        if any(mine[-1]["args"].values()) or mine[-1]["ts"] < last - 16:
            found.append(f"counter {name}: it ends with nothing, when everything is over")
    return found


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("programs")
    calibration = {"image": images(8)}
    made = {
        "one group": compile_model(float_model(), "nano", calibration=calibration, groups=[["conv", "pool"]]).program,
        "two groups": compile_model(float_model(), "nano", calibration=calibration, strategy="naive").program,
    }
    made["two machine steps"] = twice(made["one group"])
    for name, program in made.items():
        save_program(program, folder / f"{name}.elf")
    return {name: folder / f"{name}.elf" for name in made}


def twice(program: Program) -> Program:
    """The same instructions as two steps one after the other."""
    machine = next(step for step in program.run_order if isinstance(step, MachineStep))
    words = program.words[machine.first_word :][: machine.words]
    again = [replace(record, pc=record.pc + len(words)) for record in program.debug]
    steps = list(program.run_order)
    steps.insert(steps.index(machine) + 1, MachineStep(len(words), len(words)))
    return replace(program, words=words * 2, debug=(*program.debug, *again), steps=tuple(steps))


@pytest.mark.parametrize("engine", ["cycle", "rtl"])
@pytest.mark.parametrize("name", ["one group", "two groups", "two machine steps"])
def test_perfetto_understands_everything(name: str, engine: str, programs: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    assert main(["trace", str(programs[name]), "-o", str(out), "--engine", engine]) == 0
    document = json.loads(out.read_text())
    assert broken_rules(document) == []
    events = document["traceEvents"]
    assert document["otherData"]["source"] == {"cycle": "cycle model", "rtl": "RTL"}[engine]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert [*tracks.values()] == [*(unit.name for unit in Unit), "parts on the CPU", "transfers"]
    assert {e["name"] for e in events if e["ph"] == "C"} == {"DRAM bytes per cycle", "array occupancy"}
    assert max(e["args"]["percent"] for e in events if e["name"] == "array occupancy") > 10
    assert max(e["args"]["read"] for e in events if e["name"] == "DRAM bytes per cycle") > 1


def test_an_arrow_for_every_token(programs: dict[str, Path], tmp_path: Path) -> None:
    """From the unit that gives it to the unit that takes it."""
    program = load_program(programs["one group"])
    items = activities(program, modelled(program))
    expected = sorted((items[giver].unit + 1, item.unit + 1) for item in items for giver in item.givers)
    assert main(["trace", str(programs["one group"]), "-o", str(tmp_path / "trace.json")]) == 0
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    ends = {ph: {e["id"]: e["tid"] for e in events if e["ph"] == ph} for ph in "sf"}
    assert sorted((ends["s"][number], ends["f"][number]) for number in ends["s"]) == expected
    assert len(expected) == sum(len(item.op.wait) for item in items)


SLICE = {"ph": "X", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "name": "a", "args": {}}
NAME = {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "CONV"}}
START = {"ph": "s", "pid": 1, "tid": 1, "ts": 10, "name": "t", "cat": "t", "id": 0}
END = {**START, "ph": "f", "bp": "e", "ts": 14}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([SLICE, NAME, START, END], None),
        ([SLICE], "has no name"),
        ([{**SLICE, "dur": 0}, NAME], "without length"),
        ([SLICE, {**SLICE, "ts": 12}, NAME], "overlap"),
        ([SLICE, NAME, START], "one start, one end"),
        ([SLICE, NAME, START, {**END, "ts": 15}], "is in no slice"),
        ([SLICE, NAME, {**START, "ts": 14}, {**END, "ts": 11}], "forward in time"),
        ([{**SLICE, "ts": -1}, NAME], "not negative"),
        ([{"ph": "C", "pid": 1, "ts": ts, "name": "c", "args": {"v": 0}} for ts in (5, 5)], "samples ascend"),
        ([{"ph": "C", "pid": 1, "ts": 5, "name": "c", "args": {"v": 1}}], "ends with nothing"),
        ([{"ph": "Q", "pid": 1, "tid": 1, "ts": 5, "name": "c"}], "lacks"),
    ],
)
def test_the_rules_are_rules(events: list[Event], expected: str | None) -> None:
    found = broken_rules({"displayTimeUnit": "ns", "traceEvents": events})
    assert (found == []) if expected is None else any(expected in rule for rule in found)
