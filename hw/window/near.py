"""Keeps the near end of long counts in small registers, so that a raster decides in a LUT or two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.utils import bits_for

from hw.arithmetic.choice import pick


def shortened(count: Value, less: Sequence[int], most: int, index: Value) -> Value:
    """``count - less[index]``, clamped to 0 and ``most``."""
    bits = bits_for(max(less) + most - 1)
    known = [[min(max(number - by, 0), most) for number in range(1 << bits)] for by in less]
    return Mux(count[bits:].any(), most, pick([pick(numbers, count[:bits]) for numbers in known], index))


@dataclass(frozen=True)
class Places:
    """Where the pixels 0 to ``lanes`` places further on lie.

    ``wraps`` counts the row ends that are passed on the way. ``after`` is the column that is reached, if a row end was passed.
    """

    wraps: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, left: int, width: int, lanes: int) -> Places:
        """The places when ``left`` pixels of a row of ``width`` remain. Pixel ``left`` opens the next row."""
        wraps, after = [0], [0]
        for pixel in range(1, lanes + 1):
            opens = pixel == left or (wraps[-1] > 0 and after[-1] + 1 == width)
            after.append(after[-1] + 1 if wraps[-1] and not opens else 0)
            wraps.append(wraps[-1] + int(opens))
        return cls(tuple(wraps), tuple(after))


class Near:
    """Tells where the next ``lanes`` pixels of a raster lie, and whether rows end among them. A step takes
    ``advances[phase]`` of these pixels.

    The long counts are the pixels ``left`` in the row, the row's width and the ``rows`` left. Of each it keeps a copy that is
    clamped to what matters for ``lanes`` pixels. The copies are stepped together with the long counts, so no decision waits for
    a comparison of long numbers.
    """

    def __init__(
        self, m: Module, left: Signal, rows: Signal, lanes: int, advances: Sequence[int], phase: Signal
    ) -> None:
        self._m = m
        self._left, self._rows = left, rows
        self._lanes = lanes
        self._less, self._phase = ((advances[0],), phase[:0]) if len(set(advances)) == 1 else (tuple(advances), phase)
        number = range(lanes + 1)
        self._near = Signal(number, name="near")
        """The pixels that are left in the row behind the next one, clamped."""
        self._span = Signal(range(2 * lanes), name="span")
        """The pixels of a row behind its first one, clamped."""
        self.rows = Signal(range(lanes + 2), name="near_rows")
        self.wraps = [Signal(number, name=f"wraps{p}") for p in range(lanes + 1)]
        self.after = [Signal(number, name=f"after{p}") for p in range(lanes + 1)]
        again = [Signal(number, name=f"again{p}") for p in range(lanes + 1)]
        """For each number of pixels taken: the new ``near``, if a row ends on the way."""
        with m.Switch(Cat(self._near, self._span)):
            for near in number:
                for span in range(2 * lanes):
                    places = Places.of(near + 1, span + 1, lanes)
                    with m.Case(near | span << len(self._near)):
                        m.d.comb += [to.eq(value) for to, value in zip(self.wraps, places.wraps, strict=True)]
                        m.d.comb += [to.eq(value) for to, value in zip(self.after, places.after, strict=True)]
                        m.d.comb += [to.eq(min(max(span - at, 0), lanes)) for to, at in zip(again, places.after, strict=True)]
        self.ends = self._taken(self.wraps)
        """Row ends among the pixels that are taken."""
        self.column = self._taken(self.after)
        self._again = self._taken(again)
        self.wrapped = Signal(name="wrapped")
        self.rows_over = Signal(name="rows_over")
        m.d.comb += [self.wrapped.eq(self.ends.any()), self.rows_over.eq(self.ends >= self.rows)]

    def _taken(self, options: Sequence[Value]) -> Value:
        return pick([options[advance] for advance in self._less], self._phase)

    def step(self) -> None:
        """Take ``advances[phase]`` pixels."""
        further = shortened(self._left, [advance + 1 for advance in self._less], self._lanes, self._phase)
        fewer = shortened(self._rows, range(self._lanes + 1), self._lanes + 1, self.ends)
        self._m.d.sync += [self._near.eq(Mux(self.wrapped, self._again, further)), self.rows.eq(fewer)]

    def first_row(self, height: Value) -> None:
        """Begin the raster again, with ``height`` rows of the same width."""
        fewest = self._lanes + 1
        near = Mux(self._span < self._lanes, self._span, self._lanes)
        self._m.d.sync += [self._near.eq(near), self.rows.eq(shortened(height, (0,), fewest, self._phase[:0]))]

    def begin(self, width: Value, height: Value) -> None:
        """Begin another raster."""
        for to, most in ((self._near, self._lanes), (self._span, 2 * self._lanes - 1)):
            self._m.d.sync += to.eq(shortened(width, (1,), most, self._phase[:0]))
        self._m.d.sync += self.rows.eq(shortened(height, (0,), self._lanes + 1, self._phase[:0]))
