"""The interface of layers for planning and emitting groups: row ranges, parameter blocks and instructions."""

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
"""For each operand: the rows and the columns that it holds before the pixel of which the first result is made. They are not 0
where maps are parts of others. Empty: all are 0. Windows take them as padding instead (``Op.offset``)."""


ParameterWords = Mapping[Buffer, int]
"""The first word of a block in each parameter buffer."""


@dataclass(frozen=True, eq=False)
class OfMap:
    """Parameters that are made of a map in DRAM."""

    bytes: int
    """The bytes that are read of the map."""
    loads: Callable[[ParameterWords, View], Sequence[Pending]]
    """Makes the instructions that load them, for words on chip and a place of the map."""


@dataclass(frozen=True, eq=False)
class Block:
    """Parameters that are loaded together, and the part of the operation that they serve."""

    sizes: Mapping[Buffer, int]
    """The words in each parameter buffer."""
    part: object
    """The part, in the form that the layer's ``emit`` needs. No other code looks into it."""
    pack: Callable[[], Mapping[Buffer, NDArray[np.uint8]]] = dict
    """Makes the words as rows of DRAM bytes. It is not called for plans that are only weighed."""

    divisible: bool = True
    """Whether rows may be computed in several pieces. They may not if their sums wait in the accumulator buffer."""

    int4: bool = False
    """Whether DRAM holds the weights in four bits each."""

    of_map: OfMap | None = None
    """The map of which the parameters are made, in place of ``pack``. None: the parameters are constants."""

    def pitch(self, config: MachineConfig, buffer: Buffer) -> int:
        """The bytes of a word in DRAM."""
        return config.buffer_dram_bytes(buffer.name, self.int4 and buffer is Buffer.WEIGHT)

    def bytes(self, config: MachineConfig) -> int:
        if self.of_map is not None:
            return self.of_map.bytes
        return sum(words * self.pitch(config, buffer) for buffer, words in self.sizes.items())


class Layer(Protocol):
    """An operation lowered for one machine configuration.

    Row functions map boundaries of output rows to boundaries of input rows and are monotonic. They work on arrays, so that a
    plan deduces the ranges of all its steps at once (Deep Fusion's shape deduction).
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
        """The window over the input. None: there is not exactly one."""

    @property
    def shifts(self) -> Shifts: ...

    @property
    def table(self) -> NDArray[np.int8] | None:
        """The activation table. None: the layer has none."""

    @property
    def beats(self) -> int:
        """The cycles that the unit needs for the whole map of one image, without stalls."""

    def input_end(self, index: int, output_end: Ends) -> Ends:
        """One past the last row of input ``index`` that output rows below ``output_end`` need."""

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        """The first row of input ``index`` that output rows from ``output_begin`` on need."""

    def rows_at_most(self, budget: Mapping[Buffer, int]) -> int:
        """The most output rows that one step may compute. 0: the layer cannot be computed."""

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        """The blocks of the operation whose parameters fit the budget of words of each buffer. Empty: it cannot be cut so."""

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        """The instructions that compute these output rows for this block."""
