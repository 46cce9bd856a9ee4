"""The place of a feature map in DRAM, and the LOAD and SAVE instructions that move its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from compiler.instructions.pending import Access, Pending, Space
from compiler.layers.placed import Placed, Rows
from isa.config import MachineConfig
from isa.instructions import Region

_SPACES = {Region.WORK: Space.WORK, Region.INPUT: Space.INPUT, Region.OUTPUT: Space.OUTPUT}


@dataclass(frozen=True)
class View:
    """A map in DRAM. Pixel ``(y, x)`` of image ``n`` lies at ``offset + n * batch_stride + y * row_stride + x * step``.

    A view may cover some channels of a wider map (concat, split), or some of its pixels (slice, depth-to-space). That is why
    these operations cost nothing. All channels of a pixel lie together, or they lie in ``blocks``: the channels of a block,
    which is a map of its own, and the bytes from one block to the next.
    """

    region: Region
    offset: int
    height: int
    width: int
    channels: int
    batch_stride: int
    row_stride: int
    step: int
    flip: bool = False
    blocks: tuple[int, int] | None = None
    lacking: int = 0
    """The pixels that the last row lacks."""

    def blocked(self, channels: int) -> View:
        """A view of the same bytes as a dense map in blocks of ``channels`` channels, which divide the map's channels."""
        size = self.height * self.width * channels
        return replace(self, row_stride=self.width * channels, step=channels, blocks=(channels, size))

    def apart(self) -> Iterator[tuple[int, View]]:
        """Yields each block as a view of its own, with its number. A map that is not blocked is one block."""
        if self.blocks is None:
            yield 0, self
            return
        channels, size = self.blocks
        for number in range(self.channels // channels):
            yield number, replace(self, offset=self.offset + number * size, channels=channels, blocks=None)

    def row(self, y: int, batch: int) -> int:
        return self.offset + batch * self.batch_stride + y * self.row_stride

    def channels_from(self, first: int, count: int) -> View:
        """A view of some of the channels. If the map is blocked, these are whole blocks."""
        if self.blocks is not None:
            channels, size = self.blocks
            return replace(self, offset=self.offset + first // channels * size, channels=count)
        return replace(self, offset=self.offset + first, channels=count)

    def rows_from(self, first: int, count: int) -> View:
        """A view of some of the rows."""
        lacking = self.lacking if first + count == self.height else 0
        return replace(self, offset=self.offset + first * self.row_stride, height=count, lacking=lacking)

    def columns_from(self, first: int, count: int) -> View:
        """A view of some of the columns."""
        lacking = max(0, self.lacking - (self.width - first - count))
        return replace(self, offset=self.offset + first * self.step, width=count, lacking=min(lacking, count))

    def sampled(self, rows: int, columns: int, height: int, width: int) -> View:
        """A view of every ``rows``-th row and every ``columns``-th column."""
        return replace(self, height=height, width=width, row_stride=self.row_stride * rows, step=self.step * columns)

    def stacked(self, batch: int) -> View:
        """A view of a batch of maps of one pixel as one map with an image in each row."""
        return replace(self, height=batch, row_stride=self.batch_stride)

    def in_rows(self, pixels: int) -> View:
        """A view of a map of one row, cut into rows of ``pixels`` pixels. The last row may have fewer."""
        rows = -(-self.width // pixels)
        lacking = rows * pixels - self.width
        return replace(self, height=rows, width=pixels, row_stride=pixels * self.step, lacking=lacking)

    def even(self, rows: Rows) -> Iterator[tuple[View, Rows]]:
        """Yields these rows in parts of equal width, each with its view."""
        last = self.height - 1
        if not self.lacking or rows.end <= last:
            yield self, rows
            return
        if rows.begin < last:
            yield replace(self, lacking=0), Rows(rows.begin, last)
        if self.lacking < self.width:
            yield replace(self, width=self.width - self.lacking, lacking=0), Rows(last, rows.end)

    @property
    def dense(self) -> bool:
        return self.step == self.channels

    def access(self, rows: Rows, batch: int) -> Access:
        """The bytes of these rows, including gaps between pixels."""
        start = self.row(rows.begin, batch)
        ends = (
            part.row(some.end - 1, batch) + (part.width - 1) * part.step + part.channels for part, some in self.even(rows)
        )
        return self.stretch(start, max(ends, default=start) - start)

    def stretch(self, start: int, length: int) -> Access:
        """The access to ``length`` bytes of its region."""
        return Access(_SPACES[self.region], start, length)

    @property
    def in_one_row(self) -> bool:
        """Whether all pixels of the map lie at equal distances."""
        return self.height == 1 or self.row_stride == self.width * self.step


def dense_view(region: Region, offset: int, shape: tuple[int, int, int, int], flip: bool = False) -> View:
    _, h, w, c = shape
    return View(region, offset, h, w, c, h * w * c, w * c, c, flip)


@dataclass(frozen=True)
class Fold:
    """Kernel columns that are folded into channels: pixel ``x`` holds the bytes that output column ``x`` needs."""

    step: int
    run: int
    lead: int
    fill: int
    columns: int

    def vectors(self, config: MachineConfig) -> int:
        return -(-self.run // config.ic_p)


def load_rows(
    config: MachineConfig, view: View, placed: Placed, rows: Rows, batch: int, fold: Fold | None
) -> Iterator[Pending]:
    """Yields instructions that load rows: one for each run of rows that the ring does not cut, and each block of channels."""
    for number, block in view.apart():
        for part, some in block.even(rows):
            yield from _load_block(config, part, placed, some, batch, fold, number)


def _load_block(
    config: MachineConfig, view: View, placed: Placed, rows: Rows, batch: int, fold: Fold | None, first: int
) -> Iterator[Pending]:
    """Yields the instructions that load a block. ``first``: the plane of the map on chip at which the block begins."""
    step, run = (fold.step, fold.run) if fold else (view.step, view.channels)
    pixels = fold.columns if fold else view.width
    vectors = -(-run // config.ic_p)
    for tile in placed.segments(rows):
        values = {
            "offset": view.row(tile.begin, batch), "region": int(view.region), "flip": int(view.flip),
            "rows": len(tile), "pixels": pixels, "row_stride": view.row_stride,
            "step": step, "run": run, "lead": fold.lead if fold else 0, "fill": fold.fill if fold else 0,
            "valid": view.width * view.channels,
            "d_addr": placed.word(tile.begin, first), "d_xs": 1, "d_ys": placed.pitch, "d_cs": placed.plane,
        }  # fmt: skip
        beats = len(tile) * -(-view.width * view.channels // config.axi_bytes)
        words = len(tile) * pixels * vectors
        reads = [] if view.region is Region.CONST else [view.access(tile, batch)]
        yield Pending("LOAD", values, reads, placed.access(tile, first, vectors), max(beats, words) + 8)


def save_rows(config: MachineConfig, view: View, placed: Placed, rows: Rows, batch: int) -> Iterator[Pending]:
    """Yields instructions that save rows: one for each run of rows that the ring does not cut, and each block of channels."""
    for number, block in view.apart():
        for part, some in block.even(rows):
            yield from _save_block(config, part, placed, some, batch, number)


def _save_block(
    config: MachineConfig, view: View, placed: Placed, rows: Rows, batch: int, first: int
) -> Iterator[Pending]:  # fmt: skip
    vectors = -(-view.channels // config.ic_p)
    for tile in placed.segments(rows):
        values = {
            "offset": view.row(tile.begin, batch), "region": int(view.region), "flip": int(view.flip),
            "rows": len(tile), "pixels": view.width, "row_stride": view.row_stride,
            "step": view.step, "run": view.channels,
            "s_addr": placed.word(tile.begin, first), "s_xs": 1, "s_ys": placed.pitch, "s_cs": placed.plane,
        }  # fmt: skip
        per_pixel = 1 if view.dense else -(-view.channels // config.axi_bytes) * config.axi_bytes / view.channels
        beats = int(len(tile) * view.width * view.channels * per_pixel) // config.axi_bytes
        words = len(tile) * view.width * vectors
        yield Pending("SAVE", values, placed.access(tile, first, vectors), [view.access(tile, batch)], max(beats, words) + 8)
