"""What group code generation asks of an operation: row ranges, parameter blocks, instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import Pending
from compiler.layers.placed import Placed, Rows
from compiler.xgraph.ops import Op, Window
from isa.config import MachineConfig
from isa.instructions import Buffer, Unit

if TYPE_CHECKING:
    from compiler.layers.views import View

Ends = NDArray[np.int64]
Shifts = Sequence[tuple[int, int]]
"""For each operand, the rows and columns by which it begins before what the first result is made of, where maps are parts of
others. Empty: none. Windows take them as padding instead (``Op.offset``)."""


ParameterWords = Mapping[Buffer, int]
"""First word of a block in each parameter buffer."""


@dataclass(frozen=True, eq=False)
class OfMap:
    """How parameters are made of a map that lies in DRAM."""

    bytes: int
    """That are read of it."""
    loads: Callable[[ParameterWords, View], Sequence[Pending]]
    """The instructions, for words on chip and a place of the map."""


@dataclass(frozen=True, eq=False)
class Block:
    """Parameters that are loaded together, and the part of the operation that they serve."""

    sizes: Mapping[Buffer, int]
    """Words in each parameter buffer."""
    part: object
    """What ``Layer.emit`` needs to know of the part; its own business."""
    pack: Callable[[], Mapping[Buffer, NDArray[np.uint8]]] = dict
    """Makes the words, rows of DRAM bytes; plans that are only weighed against others never ask."""

    divisible: bool = True
    """Whether rows may be computed in several pieces: not if their sums wait in the accumulator buffer."""

    int4: bool = False
    """Whether DRAM holds the weights in four bits each."""

    of_map: OfMap | None = None
    """In place of ``pack``, where no constants are loaded."""

    def pitch(self, config: MachineConfig, buffer: Buffer) -> int:
        """Bytes of a word in DRAM."""
        return config.buffer_dram_bytes(buffer.name, self.int4 and buffer is Buffer.WEIGHT)

    def bytes(self, config: MachineConfig) -> int:
        if self.of_map is not None:
            return self.of_map.bytes
        return sum(words * self.pitch(config, buffer) for buffer, words in self.sizes.items())


class Layer(Protocol):
    """An operation lowered for one machine configuration.

    Row functions map output row boundaries to input row boundaries and are monotonic; they work on
    arrays, so that a plan deduces the ranges of all its steps at once (Deep Fusion's shape deduction).
    """

    @property
    def op(self) -> Op: ...

    @property
    def unit(self) -> Unit: ...

    @property
    def inputs(self) -> tuple[str, ...]: ...

    @property
    def output(self) -> str: ...

    @property
    def window(self) -> Window | None:
        """The window over the input, where there is just one."""

    @property
    def shifts(self) -> Shifts: ...

    @property
    def table(self) -> NDArray[np.int8] | None:
        """The activation table, if the layer has one."""

    @property
    def beats(self) -> int:
        """Cycles that the unit needs for the whole map, per batch element, without stalls."""

    def input_end(self, index: int, output_end: Ends) -> Ends:
        """One past the last row of input ``index`` that output rows below ``output_end`` need."""

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        """First row of input ``index`` that output rows from ``output_begin`` on need."""

    def rows_at_most(self, budget: Mapping[Buffer, int]) -> int:
        """Most output rows that one step may compute; 0 if the layer cannot be computed at all."""

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        """The operation in parts whose parameters fit the budget of words per buffer."""

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        """Instructions that compute these output rows for this part."""
