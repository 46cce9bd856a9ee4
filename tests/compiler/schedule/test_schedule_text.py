"""Schedules as text: written and read they are the same, and what cannot be read is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.schedule.document import GroupSchedule, Ring, Schedule, ScheduleError, Stay
from compiler.schedule.reading import BUFFERS, parse_schedule, read_schedule
from compiler.schedule.text import to_toml

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
counts = st.integers(1, 1 << 40)
rings = st.builds(Ring, st.integers(0, 1 << 20), counts, counts, st.integers(0, 64), st.integers(0, 9))
stays = st.builds(Stay, st.integers(0, 99), st.dictionaries(st.sampled_from(BUFFERS), counts))
groups = st.builds(
    GroupSchedule,
    st.lists(names, min_size=1, max_size=4).map(tuple),
    st.none() | counts, st.none() | st.booleans(), st.none() | counts, st.none() | counts,
    st.none() | st.lists(names, max_size=2).map(tuple), st.sampled_from([None, "bottom", "top"]),
    st.none() | st.dictionaries(names, rings, max_size=3),
    st.none() | st.dictionaries(names, st.lists(stays, min_size=1, max_size=3).map(tuple), max_size=3),
    st.none() | st.integers(2, 99),
)  # fmt: skip
schedules = st.builds(
    Schedule, st.lists(groups, max_size=3).map(tuple), st.booleans(), st.none() | st.booleans(), st.none() | st.booleans(),
    st.none() | st.dictionaries(names, st.integers(0, 1 << 40), max_size=3),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(schedules)
def test_written_and_read_it_is_the_same(schedule: Schedule) -> None:
    assert parse_schedule(to_toml(schedule, "Two lines\nof comment")) == schedule


TEXT = """\
# A comment.
order = "listed"

[[group]]
operations = ["conv0", "pool1"]
steps = 4
[group.rings]
x0 = {word = 0, rows = 4, pitch = 8}
"conv0/out" = {word = 64, rows = 4, pitch = 8, apart = 2}
[group.parameters]
conv0 = [{stay = 1}, {stay = 0, weight = 9}]

[[group]]
operations = ["add2"]

[dram]
overlap = true
[dram.places]
x0 = 64
"""


def test_what_the_text_says_is_there_with_its_lines() -> None:
    schedule = parse_schedule(TEXT, "S.toml")
    first, second = schedule.groups
    assert (schedule.listed, schedule.host_in_work, schedule.overlap, schedule.places) == (True, None, True, {"x0": 64})
    assert first.rings == {"x0": Ring(0, 4, 8), "conv0/out": Ring(64, 4, 8, 2)}
    assert first.parameters == {"conv0": (Stay(1), Stay(0, {"weight": 9}))}
    assert second.free
    assert str(first.refused("rings.conv0/out", "no")) == "S.toml, line 9: group conv0+pool1: no"
    assert str(first.refused("rings.conv0/out.rows", "no")).startswith("S.toml, line 9:")
    assert str(first.refused("passes", "no")).startswith("S.toml, line 4:")
    assert str(second.refused("", "no")) == "S.toml, line 13: group add2: no"
    assert str(schedule.origin.error("places.x0", "no")) == "S.toml, line 19: no"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("steps = 4", "step = 4", 6, "step: unknown; expected operations, passes"),
        ("steps = 4", "steps = 0", 6, "steps: 0: expected a whole number of at least 1"),
        ("steps = 4", "steps = true", 6, "steps: True: expected a whole number"),
        ("steps = 4", 'pipelined = "yes"', 6, "pipelined: 'yes': expected true or false"),
        ("steps = 4", 'end = "left"', 6, "end: 'left' is not one of bottom, top"),
        ("steps = 4", 'held = "x0"', 6, "held: 'x0': expected a list of names"),
        ('"listed"', '"mine"', 2, "order: 'mine' is not one of listed"),
        ('["add2"]', "[]", 14, "operations: expected the names of those that run together"),
        ("word = 64, ", "", 9, "rings.conv0/out: word is missing"),
        ("apart = 2", "part = 2", 9, "rings.conv0/out.part: unknown; expected word, rows, pitch, apart"),
        ("weight = 9", "wait = 9", 11, "parameters.conv0.wait: unknown; expected stay, weight, param, taps, pool_param"),
        ("[{stay = 1}, {stay = 0, weight = 9}]", "7", 11, "parameters.conv0: 7 is not a table"),
        ("x0 = 64", "x0 = -64", 19, "places.x0: -64: expected a whole number of at least 0"),
        ("overlap = true", "overlap = 1", 17, "overlap: 1: expected true or false"),
        ("[dram]\n", "[memory]\n", 16, "memory: unknown; expected order, group, dram"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_line(old: str, new: str, line: int, message: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(ScheduleError) as error:
        parse_schedule(TEXT.replace(old, new), "S.toml")
    assert str(error.value).startswith(f"S.toml, line {line}: {message}")


def test_what_is_not_toml_is_refused() -> None:
    with pytest.raises(ScheduleError, match=r"S\.toml: not TOML: .*line 2"):
        parse_schedule("order = 'listed'\n[[group\n", "S.toml")


FULL = Schedule(
    (
        GroupSchedule(
            ("conv0", "pool 1"), 4, True, 2, 3, ("x0",), "top", {"x0": Ring(0, 4, 8), "a/b": Ring(64, 4, 8, 2, 1)},
            {"conv0": (Stay(1, {"weight": 9}),), "pool 1": (Stay(), Stay(2))}, 5,
        ),
        GroupSchedule(("add2",)),
    ),
    True, False, True, {"x0": 64},
)  # fmt: skip
WRITTEN = """\
# Two
# lines
order = "listed"

[[group]]
operations = ["conv0", "pool 1"]
passes = 2
tiles = 3
bands = 5
held = ["x0"]
steps = 4
pipelined = true
end = "top"
[group.rings]
x0 = {word = 0, rows = 4, pitch = 8, apart = 0}
"a/b" = {word = 64, rows = 4, pitch = 8, apart = 2, shift = 1}
[group.parameters]
conv0 = {stay = 1, weight = 9}
"pool 1" = [{stay = 0}, {stay = 2}]

[[group]]
operations = ["add2"]

[dram]
host_in_work = false
overlap = true

[dram.places]
x0 = 64
"""


def test_the_text_of_a_whole_schedule() -> None:
    assert to_toml(FULL, "Two\nlines") == WRITTEN


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (Schedule(), ""),
        (Schedule(overlap=False), "\n[dram]\noverlap = false"),
        (Schedule(host_in_work=True), "\n[dram]\nhost_in_work = true"),
        (Schedule(places={}), "\n[dram]\n\n[dram.places]"),
        (Schedule((GroupSchedule(("a",)),)), '\n[[group]]\noperations = ["a"]'),
        (Schedule((GroupSchedule(("a",), pipelined=False),)), '\n[[group]]\noperations = ["a"]\npipelined = false'),
        (Schedule((GroupSchedule(("\x7f",), rings={}),)), '\n[[group]]\noperations = ["\\u007f"]\n[group.rings]'),
    ],
)
def test_what_is_left_open_is_not_written(schedule: Schedule, text: str) -> None:
    assert to_toml(schedule) == f"{text}\n"


LEAST = {
    "steps = {}": 1, "passes = {}": 1, "tiles = {}": 1, "bands = {}": 2, "rings.x0 = {{word = {}, rows = 1, pitch = 1}}": 0,
    "rings.x0 = {{word = 0, rows = {}, pitch = 1}}": 1, "rings.x0 = {{word = 0, rows = 1, pitch = {}}}": 1,
    "rings.x0 = {{word = 0, rows = 1, pitch = 1, apart = {}}}": 0,
    "rings.x0 = {{word = 0, rows = 1, pitch = 1, shift = {}}}": 0, "parameters.a = {{stay = {}}}": 0,
    "parameters.a = {{weight = {}}}": 1,
}  # fmt: skip


@pytest.mark.parametrize("line", LEAST)
def test_the_least_of_each_number(line: str) -> None:
    def group(number: int) -> str:
        return f'[[group]]\noperations = ["a"]\n{line.format(number)}\n'

    assert parse_schedule(group(LEAST[line])).groups[0].name == "a"
    with pytest.raises(ScheduleError, match=f": {LEAST[line] - 1}: expected a whole number of at least {LEAST[line]}"):
        parse_schedule(group(LEAST[line] - 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group = 3", "line 1: group: expected headings"), ("group = [1]", "line 1: group: expected headings"),
        ("\ndram = 3", r"line 2: dram: expected a heading \[dram\]"),
        ("[dram]\nplaces = 1", "line 2: places: 1 is not a table"),
        ("[[group]]\n\nsteps = 1", "line 1: operations: expected the names"),
        ('[[group]]\noperations = ["a", 1]', "line 2: operations: .*expected a list of names"),
        ('[[group]]\noperations = ["a"]\n[group.parameters]\na = []', r"line 4: parameters.a: \[\] is not a table"),
        ('[[group]]\noperations = ["a"]\n[group.rings]\nx = 1', "line 4: rings.x: 1 is not a table"),
        ('[[group]]\noperations = ["a"]\n[group . rings]\n[group.rings.x]\nword = 1', "line 4: rings.x: rows is missing"),
    ],
)  # fmt: skip
def test_other_forms_are_refused_with_their_lines(text: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        parse_schedule(text)


def test_switches_are_read_as_they_are() -> None:
    for name in ("host_in_work", "overlap"):
        for value in (True, False):
            schedule = parse_schedule(f"[dram]\n{name} = {str(value).lower()}")
            assert (schedule.host_in_work, schedule.overlap) == ((value, None) if name == "host_in_work" else (None, value))
    assert parse_schedule("") == Schedule()


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    with pytest.raises(ScheduleError, match=r"s\.toml: cannot be read: No such file"):
        read_schedule(path)
    path.write_bytes(b'order = "\xff"')
    with pytest.raises(ScheduleError, match="not text: byte 9 is not UTF-8"):
        read_schedule(path)
    path.write_text(WRITTEN, encoding="utf-8")
    assert read_schedule(path) == FULL
    assert read_schedule(path).origin.name == str(path)
