"""Reads a schedule from TOML. It checks the type of every value, and every error names its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler.schedule.document import GroupSchedule, Origin, Ring, Schedule, ScheduleError, Stay
from isa.instructions import Buffer

BUFFERS = tuple(b.name.lower() for b in Buffer if b is not Buffer.TABLE)
"""The names of parameter buffers in ``Stay``."""
_TOP = ("order", "group", "dram")
_GROUP = ("operations", "passes", "tiles", "bands", "held", "steps", "pipelined", "end", "rings", "parameters")
_DRAM = ("host_in_work", "overlap", "blocked", "places")
_RING = ("word", "rows", "pitch", "apart", "shift")
_HEADING = re.compile(r"\s*\[\[?\s*([\w.\"' -]+?)\s*\]")
_KEY = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\w-]+)\s*=")


def read_schedule(path: Path) -> Schedule:
    """Reads the schedule of a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScheduleError(f"{path}: not text: byte {error.start} is not UTF-8; expected a schedule in TOML") from None
    except OSError as error:
        raise ScheduleError(f"{path}: cannot be read: {error.strerror}") from None
    return parse_schedule(text, str(path))


def parse_schedule(text: str, name: str = "schedule") -> Schedule:
    """Reads the schedule of a text. ``name``: the name of its source, for errors."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib raises other errors than its own, too
        raise ScheduleError(f"{name}: not TOML: {error}") from None
    top, dram, groups = _lines_of(text)
    table = _Table(values, Origin(name, top), "", _TOP)
    order = table.text("order", ("listed",))
    found = table.value("group", [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise table.origin.error("group", "group: expected headings [[group]], each with its operations")
    lines = [*groups, *({} for _ in found)]
    memory = table.value("dram", {})
    if not isinstance(memory, dict):
        raise table.origin.error("dram", "dram: expected a heading [dram]")
    dram_table = _Table(memory, Origin(name, dram or top), "", _DRAM)
    places = dram_table.table("places")
    offsets = None
    if places is not None:
        offsets = {key: _count(places.origin, f"places.{key}", value) for key, value in places.values.items()}
    return Schedule(
        tuple(_group(each, Origin(name, at)) for each, at in zip(found, lines, strict=False)),
        order == "listed", dram_table.switch("host_in_work"), dram_table.switch("overlap"), offsets,
        dram_table.names("blocked"),
        Origin(name, {**top, **{key: line for key, line in dram.items() if key}}),
    )  # fmt: skip


class _Table:
    """A table of TOML whose keys are known."""

    def __init__(self, values: Mapping[str, Any], origin: Origin, within: str, known: Sequence[str] | None) -> None:
        self.values, self.origin, self._within = values, origin, within
        for key in values:
            if known is not None and key not in known:
                raise origin.error(f"{within}{key}", f"{within}{key}: unknown; expected {', '.join(known)}")

    def value(self, key: str, otherwise: Any = None) -> Any:
        return self.values.get(key, otherwise)

    def table(self, key: str, known: Sequence[str] | None = None) -> _Table | None:
        found = self.value(key)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise self.origin.error(self._within + key, f"{self._within}{key}: {found!r} is not a table")
        return _Table(found, self.origin, f"{self._within}{key}.", known)

    def text(self, key: str, choices: Sequence[str]) -> Any:
        found = self.value(key)
        if found is not None and found not in choices:
            raise self.origin.error(key, f"{key}: {found!r} is not one of {', '.join(choices)}; leave it out to have it chosen")
        return found

    def switch(self, key: str) -> bool | None:
        found = self.value(key)
        if found is not None and not isinstance(found, bool):
            raise self.origin.error(key, f"{key}: {found!r}: expected true or false; leave it out to have it chosen")
        return found

    def names(self, key: str) -> tuple[str, ...] | None:
        found = self.value(key)
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self.origin.error(key, f'{key}: {found!r}: expected a list of names, as ["conv1", "pool1"]')
        return tuple(found)

    def count(self, key: str, least: int = 1) -> int | None:
        found = self.value(key)
        return None if found is None else _count(self.origin, self._within + key, found, least)


def _count(origin: Origin, key: str, value: object, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise origin.error(key, f"{key}: {value!r}: expected a whole number of at least {least}")
    return value


def _group(values: Mapping[str, Any], origin: Origin) -> GroupSchedule:
    table = _Table(values, origin, "", _GROUP)
    operations = table.names("operations")
    if not operations:
        raise origin.error("operations", 'operations: expected the names of those that run together, as ["conv1", "pool1"]')
    rings, parameters = table.table("rings"), table.table("parameters")
    return GroupSchedule(
        operations, table.count("steps"), table.switch("pipelined"), table.count("passes"), table.count("tiles"),
        table.names("held"), table.text("end", ("bottom", "top")),
        None if rings is None else {name: _ring(rings, name) for name in rings.values},
        None if parameters is None else {name: _stays(parameters, name) for name in parameters.values},
        table.count("bands", 2), origin,
    )  # fmt: skip


def _ring(rings: _Table, name: str) -> Ring:
    table = rings.table(name, _RING)
    assert table is not None
    missing = [key for key in _RING[:3] if key not in table.values]
    if missing:
        raise rings.origin.error(f"rings.{name}", f"rings.{name}: {missing[0]} is missing; expected {', '.join(_RING[:3])}")
    least = {"word": 0, "rows": 1, "pitch": 1, "apart": 0, "shift": 0}
    return Ring(**{key: table.count(key, least[key]) or 0 for key in table.values})


def _stays(parameters: _Table, name: str) -> tuple[Stay, ...]:
    """Reads one table for all passes, or a list with one for each."""
    found = parameters.values[name]
    tables = found if isinstance(found, list) and found else [found]
    stays = []
    for each in tables:
        table = _Table({name: each}, parameters.origin, "parameters.", None).table(name, ("stay", *BUFFERS))
        assert table is not None
        words = {buffer: table.count(buffer) or 0 for buffer in BUFFERS if buffer in table.values}
        stays.append(Stay(table.count("stay", 0) or 0, words))
    return tuple(stays)


def _lines_of(text: str) -> tuple[dict[str, int], dict[str, int], list[dict[str, int]]]:
    """The lines of the keys at the top, under ``[dram]``, and under each ``[[group]]``. A heading has the key ''.

    They are only for messages: text that looks like TOML, such as a key within a text of several lines, may mislead it.
    """
    top: dict[str, int] = {}
    dram: dict[str, int] = {}
    groups: list[dict[str, int]] = []
    table, within = top, ""
    for number, line in enumerate(text.splitlines(), 1):
        heading, key = _HEADING.match(line), _KEY.match(line)
        if heading:
            name = heading[1].replace(" ", "")
            if name == "group":
                groups.append({"": number})
            table = groups[-1] if name.startswith("group") and groups else dram if name.startswith("dram") else top
            within = name.partition(".")[2]
            table.setdefault(within, number)
            within += "." if within else ""
        elif key:
            table[within + _unquoted(key[1])] = number
    return top, dram, groups


def _unquoted(key: str) -> str:
    (name,) = tomllib.loads(f"{key} = 0")
    return name
