"""The constants on which Python and C++ must agree."""

from __future__ import annotations

from compiler.instructions.latency import UNTIL_TAKEN
from compiler.instructions.pending import GRANULE, Space
from compiler.tuned import WINDOW
from isa.faults import TOKEN_MAX
from isa.instructions import Unit


def header() -> str:
    """The text of ``layout.h``."""
    numbers = {
        "UNITS": len(Unit), "SPACES": len(Space), "LOAD": Unit.LOAD, "SAVE": Unit.SAVE, "CONST": Space.CONST,
        "ACCUMULATOR": Space.ACCUMULATOR, "WINDOW": WINDOW, "TOKEN_MAX": TOKEN_MAX,
    }  # fmt: skip
    lines = [f"constexpr i64 {name} = {int(value)};" for name, value in numbers.items()]
    lists = {"GRANULE": [GRANULE[space] for space in Space], "UNTIL_TAKEN": [UNTIL_TAKEN[unit] for unit in Unit]}
    lines += [f"constexpr i64 {name}[] = {{{', '.join(map(str, values))}}};" for name, values in lists.items()]
    return "\n".join(["#pragma once", "#include <cstdint>", "namespace schedule {", "using i64 = std::int64_t;", *lines, "}\n"])
