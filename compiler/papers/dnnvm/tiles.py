"""The cost of a group with DNNVM's tiles and loop order (section 4.3, equations 4 to 6).

A tile has ``T_h = h_p`` rows. The tile of a single operation also has ``T_oc = oc_p`` channels. It is as wide as fits:

    T_w T_h T_oc <= B_out,   T_ic K_w K_h T_oc <= B_weights,   T_ic F^-1(T_w) G^-1(T_h) <= B_in

Output channels are the outermost loop, rows the next, columns and input channels lie within. So an input is loaded again for
each ``oc_p`` output channels, unless ``B_in`` holds it in whole. Weights are loaded again for each tile of rows and columns,
unless ``B_weights`` holds those of ``oc_p`` output channels. Data on chip is not loaded again: rows that neighbouring tiles
share are loaded again only if ``B_in`` does not hold all channels of a tile.

Fused operations need all parameters on chip at once, the tile of the input in ``B_in``, and the tiles of all results, with all
channels, in ``B_out``. Only columns that neighbouring tiles share move twice. Time is the sum of loading, computing and saving
over all tiles (equation 4); within a group different units compute at the same time.

The paper does not say how its buffers are divided. Here half of the room for maps is ``B_in``, half is ``B_out``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from compiler.papers.accelerator import Accelerator
from compiler.papers.tiles import COLUMNS, ROWS, Tiles
from compiler.planning.objective import Cost
from compiler.xgraph.ops import Conv, ConvTranspose, Op

Taken = Callable[[dict[str, int], dict[str, int]], tuple[int, int]]
"""The bytes of the inputs, and of the rest, in a tile with these columns and rows of each map."""


@dataclass(frozen=True)
class DnnvmTiles:
    """The tiles of one group on one machine.

    ``beats`` are the cycles of the busiest unit; ``parameters`` are the bytes of those of all operations.
    """

    machine: Accelerator
    tiles: Tiles
    parameters: int
    beats: int

    def cost(self) -> Cost | None:
        """The cost of the group; None if it fits at no width."""
        moved = self._alone() if len(self.tiles.ops) == 1 else self._fused()
        return None if moved is None else Cost(self.beats + -(-moved // self.machine.bus_bytes), moved)

    @property
    def _half(self) -> int:
        return self.machine.maps // 2

    @property
    def _room(self) -> int:
        return self.machine.maps if self.machine.parameters is None else self.machine.parameters

    def whole(self) -> bool:
        """Whether all maps and parameters fit on chip at once, without tiles: the first condition for fusion (section 4)."""
        tensors = self.tiles.sets.graph.tensors
        maps = self.machine.word * sum(tensors[name].bytes // tensors[name].batch for name in self.tiles.maps)
        return self.machine.holds(maps, self.parameters)

    def _fused(self) -> int | None:
        if self.parameters > self._room:
            return None
        tiles, tensors = self.tiles, self.tiles.sets.graph.tensors
        once = self.machine.word * tiles.map_bytes + self.parameters
        if self.whole():
            return once
        width = self._widest(
            lambda wide, high: (self._bytes(tiles.inputs, wide, high), self._bytes(tiles.made, wide, high))
        )  # fmt: skip
        if width is None:
            return None
        columns = self._columns(width)
        again = sum(
            (columns[name] - tensors[name].width) * tensors[name].bytes // tensors[name].width
            for name in tiles.inputs if columns[name] > tensors[name].width
        )  # fmt: skip
        return once + self.machine.word * again

    def _alone(self) -> int | None:
        (op,) = self.tiles.ops
        tiles, machine, tensors = self.tiles, self.machine, self.tiles.sets.graph.tensors
        target = tensors[op.output]
        own = min(machine.channels, target.channels)
        reduced = _reduced(op)

        def taken(wide: dict[str, int], high: dict[str, int]) -> tuple[int, int]:
            part = machine.input_channels if reduced else own
            inputs = sum(min(part, tensors[name].channels) * wide[name] * high[name] for name in tiles.inputs)
            return machine.word * inputs, machine.word * own * wide[op.output] * high[op.output]

        width = self._widest(taken)
        chunks = -(-target.channels // own)
        of_chunk = -(-self.parameters // chunks)
        if width is None or (isinstance(op, Conv | ConvTranspose) and self._smallest_weights(op, own) > self._room):
            return None
        columns, rows = self._columns(width), tiles.needed(min(machine.rows, target.height), ROWS)
        wide = tiles.needed(width, COLUMNS)
        high, across = -(-target.height // min(machine.rows, target.height)), -(-target.width // width)
        moved = machine.word * target.bytes
        for name in tiles.inputs:
            tensor = tensors[name]
            if machine.word * tensor.bytes // tensor.batch <= self._half:
                moved += machine.word * tensor.bytes
                continue
            keeps_rows = machine.word * tensor.channels * wide[name] * rows[name] <= self._half
            loaded = tensor.height if keeps_rows else max(tensor.height, high * rows[name])
            size = machine.word * tensor.batch * max(columns[name], tensor.width) * loaded * tensor.channels
            moved += size * (chunks if reduced else 1)
        rounds = 1 if of_chunk <= self._room else high * across
        rounds *= 1 if self.parameters <= self._room else target.batch
        return moved + self.parameters * rounds

    def _smallest_weights(self, op: Conv | ConvTranspose, own: int) -> int:
        k_h, k_w = op.window.kernel
        reduced: int = op.weights.shape[3]
        return self.machine.word * min(self.machine.input_channels, reduced) * k_h * k_w * own

    def _bytes(self, names: Iterable[str], wide: dict[str, int], high: dict[str, int]) -> int:
        tensors = self.tiles.sets.graph.tensors
        return self.machine.word * sum(tensors[name].channels * wide[name] * high[name] for name in names)

    def _widest(self, taken: Taken) -> int | None:
        """The width of the widest tile whose inputs, and the rest, fit in half of the buffer each (equation 6), if any."""
        tiles = self.tiles
        high = tiles.needed(min(self.machine.rows, tiles.most(ROWS)), ROWS)

        def fits(width: int) -> bool:
            return max(taken(tiles.needed(width, COLUMNS), high)) <= self._half

        low, past = 0, tiles.most(COLUMNS) + 1
        while low + 1 < past:
            middle = (low + past) // 2
            low, past = (middle, past) if fits(middle) else (low, middle)
        return low or None

    def _columns(self, width: int) -> dict[str, int]:
        """The columns of each map that all tiles together need; those that two tiles share count twice."""
        needed = self.tiles.needed(width, COLUMNS)
        across = -(-self.tiles.most(COLUMNS) // width)
        return {name: needed[name] * across if across > 1 else self.tiles.size(name, COLUMNS) for name in self.tiles.inputs}


def _reduced(op: Op) -> bool:
    """Whether each output channel needs all channels of the input."""
    return isinstance(op, Conv | ConvTranspose) and op.groups == 1
