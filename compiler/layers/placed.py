"""The place of a feature map on chip: a ring of rows in each plane, which holds one channel vector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from compiler.instructions.pending import Access, Space


@dataclass(frozen=True)
class Rows:
    """Rows ``begin .. end - 1`` of a map."""

    begin: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.begin)

    def pieces(self, most: int) -> Iterator[Rows]:
        """Yields the rows in pieces of at most ``most``."""
        for begin in range(self.begin, self.end, most):
            yield Rows(begin, min(self.end, begin + most))


class Placed(NamedTuple):
    """The place of a map. Row ``y`` of plane ``v`` starts at word ``base + v * plane + ((y + shift) mod ring) * pitch``."""

    base: int
    pitch: int
    """The words from one row to the next, at least the width."""
    ring: int
    """The rows of the ring: the map's height if all rows are kept, or more where other maps lie between them."""
    height: int
    width: int
    planes: int
    """The number of planes, one for each channel vector."""
    apart: int = 0
    """The unused words between one plane and the next."""
    shift: int = 0
    """The row of the ring at which row 0 lies."""

    @property
    def ring_words(self) -> int:
        return self.ring * self.pitch

    @property
    def plane(self) -> int:
        """The words from one plane to the next."""
        return self.ring_words + self.apart

    @property
    def words(self) -> int:
        return self.planes * self.plane

    @property
    def wraps(self) -> bool:
        return self.ring < self.shift + self.height

    def row(self, y: int) -> int:
        """The word offset of a row in its plane."""
        return (y + self.shift) % self.ring * self.pitch

    def word(self, y: int, plane: int = 0) -> int:
        return self.base + plane * self.plane + self.row(y)

    def segments(self, rows: Rows) -> Iterator[Rows]:
        """Yields the rows, cut where the ring starts again."""
        begin = rows.begin
        while begin < rows.end:
            end = min(rows.end, ((begin + self.shift) // self.ring + 1) * self.ring - self.shift)
            yield Rows(begin, end)
            begin = end

    def access(self, rows: Rows, first_plane: int = 0, planes: int | None = None) -> list[Access]:
        """The words of these rows in some planes (all of them by default)."""
        count = self.planes - first_plane if planes is None else planes
        return [
            Access(Space.FM, self.word(part.begin, first_plane), len(part) * self.pitch, count, self.plane)
            for part in self.segments(rows)
        ]


def meet(one: Placed, other: Placed) -> bool:
    """Whether the ranges from the first to the last word of two maps overlap."""
    return max(one.base, other.base) < min(one.base + one.words, other.base + other.words)
