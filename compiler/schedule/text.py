"""Writes a schedule as TOML, with a heading for each group, so that two schedules can be compared line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from compiler.schedule.document import GroupSchedule, Ring, Schedule, Stay


def to_toml(schedule: Schedule, heading: str = "") -> str:
    """The text that ``read_schedule`` reads. ``heading``: lines of comment before it."""
    return "\n".join([*(f"# {line}" for line in heading.splitlines()), *_lines(schedule)]) + "\n"


def _lines(schedule: Schedule) -> Iterator[str]:
    if schedule.listed:
        yield 'order = "listed"'
    for group in schedule.groups:
        yield from ("", "[[group]]", *_group(group))
    memory = {"host_in_work": schedule.host_in_work, "overlap": schedule.overlap, "blocked": schedule.blocked}
    if schedule.places is not None or any(value is not None for value in memory.values()):
        yield from ("", "[dram]", *_values(memory))
    if schedule.places is not None:
        yield from ("", "[dram.places]", *_values(schedule.places))


def _group(group: GroupSchedule) -> Iterator[str]:
    yield from _values({
        "operations": group.operations, "passes": group.passes, "tiles": group.tiles, "bands": group.bands, "held": group.held,
        "steps": group.steps, "pipelined": group.pipelined, "end": group.end,
    })  # fmt: skip
    if group.rings is not None:
        yield "[group.rings]"
        yield from (f"{_quoted(name)} = {_ring(ring)}" for name, ring in group.rings.items())
    if group.parameters is not None:
        yield "[group.parameters]"
        for name, stays in group.parameters.items():
            tables = [_stay(stay) for stay in stays]
            yield f"{_quoted(name)} = {tables[0] if len(tables) == 1 else '[' + ', '.join(tables) + ']'}"


def _values(values: Mapping[str, object]) -> Iterator[str]:
    return (f"{_quoted(name)} = {_value(value)}" for name, value in values.items() if value is not None)


def _ring(ring: Ring) -> str:
    values = {"word": ring.word, "rows": ring.rows, "pitch": ring.pitch, "apart": ring.apart}
    return _inline(values | ({"shift": ring.shift} if ring.shift else {}))


def _stay(stay: Stay) -> str:
    return _inline({"stay": stay.stay, **stay.words})


def _inline(values: Mapping[str, object]) -> str:
    return "{" + ", ".join(_values(values)) + "}"


def _value(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_value, value)) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _quoted(name: str) -> str:
    """A key in TOML, without quotes where TOML allows that."""
    bare = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if bare else _text(name)


def _text(text: str) -> str:
    """A text in TOML. Its escapes are those of JSON, and one for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
