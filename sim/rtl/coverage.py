"""The counts of Verilator: how often each branch of the machine's Verilog was taken, and each bit toggled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sim.mutants.netlist import TOP, unit_of

SOURCE = "core.v"
"""The file of the machine. The bench around it is in other files."""
KINDS = {"line": "v_line", "branch": "v_branch", "toggle": "v_toggle"}


@dataclass(frozen=True)
class Point:
    """A branch, or one direction of a bit. Each has a count."""

    kind: str
    unit: str
    module: str
    line: int
    what: str
    """For a toggle the bit, and the direction."""


@dataclass
class Counts:
    """The sums over any number of runs of one build, whose points stay in order."""

    points: list[Point | None] = field(default_factory=list)
    """The points; None for those outside of the machine."""
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, file: Path) -> None:
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("C '")]
        if not self.points:
            self.points = [point_of(line) for line in lines]
            self.counts = np.zeros(len(lines), np.int64)
        self.counts += np.array([int(line.rpartition(" ")[2]) for line in lines], np.int64)

    def of_machine(self) -> Iterator[tuple[Point, int]]:
        """Yields each point once. Instances of the same module count together."""
        total: dict[Point, int] = {}
        for point, count in zip(self.points, self.counts.tolist(), strict=True):
            if point is not None:
                total[point] = total.get(point, 0) + count
        yield from total.items()


def point_of(line: str) -> Point | None:
    """The point of a line of Verilator's file: ``C 'key value ...' count``, with 1 before each key and 2 before each value."""
    fields = dict(pair.split("\2", 1) for pair in line[3 : line.rindex("'")].split("\1") if "\2" in pair)
    page = fields.get("page", "")
    kind = next((name for name, start in KINDS.items() if page.startswith(start)), None)
    if kind is None or Path(fields["f"]).name != SOURCE:
        return None
    module = page.partition("/")[2]
    if not module.startswith(TOP):
        module = f"{TOP}_memory" if module.startswith("memory_") else module
    return Point(kind, unit_of(module), module, int(fields["l"]), fields.get("o", ""))
