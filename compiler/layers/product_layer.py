"""Products of two maps on the CONV unit. LOADW makes weights, and the records that belong to them, of the second map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from compiler.instructions.pending import Access, Pending, Space
from compiler.layers.array import ArrayLayer, Part
from compiler.layers.layer import Block, OfMap, ParameterWords, Shifts
from compiler.layers.scales import for_lanes
from compiler.layers.views import View
from compiler.layers.window import MOST_SIDE
from compiler.xgraph.ops import Requantisation, Window
from compiler.xgraph.products import Product
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import Buffer, Region
from isa.requantisation import BIAS_BITS, packed

HEAD = 8
"""The cycles of an instruction before its first pixel, as list scheduling estimates them."""


class ProductLayer(ArrayLayer):
    """A dense layer whose weights are the numbers of the second map.

    Each part holds whole sums, because the records of a part depend on all weights of its outputs.
    """

    def __init__(
        self, config: MachineConfig, op: Product, sources: Sequence[Tensor], target: Tensor, shifts: Shifts = ()
    ) -> None:
        rows, columns = shifts[0] if shifts else (0, 0)
        window = Window((1, 1), pads=(-rows, -columns, 0, 0))
        super().__init__(
            config, op, sources[0], target, window=window, finish=op.finish, groups=1, pad_value=op.a_zp, weight_zp=op.b_zp
        )
        self.product, self.shifts = op, shifts
        one = Requantisation(np.zeros(1, np.int32), np.array([op.mantissa], np.uint32), np.array([op.shift], np.uint8))
        fit = for_lanes(config, op, one)
        self.scale = packed(0, int(fit.mantissa[0]), int(fit.shift[0])) >> BIAS_BITS

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        inputs, vectors = self.source.channels, self.spans[0].vectors
        whole = vectors * self._unit(self.spans[0]) <= budget[Buffer.WEIGHT] and (self.product.turned or inputs <= MOST_SIDE)
        return super().blocks(budget) if whole else []

    def _block(self, part: Part) -> Block:
        sizes = {Buffer.WEIGHT: part.chunks * part.vectors, Buffer.PARAM: part.chunks}
        first, past = self._outputs(part)
        read = OfMap(self.source.channels * (past - first), lambda at, view: [*self._loads(part, at, view)])
        return Block(sizes, part, of_map=read)

    def _outputs(self, part: Part) -> tuple[int, int]:
        """The channels of the result that the part computes: the first, and one past the last."""
        first = part.first_chunk * self.config.oc_p
        return first, min(first + part.chunks * self.config.oc_p, self.target.channels)

    def _loads(self, part: Part, at: ParameterWords, view: View) -> Iterator[Pending]:
        """Yields the instructions that load a part.

        If the product is turned, the pixels of the second map are outputs, and an instruction loads as many as it can count.
        Else its channels are outputs, and an instruction loads a channel vector.
        """
        config, turned = self.config, self.product.turned
        first, past = self._outputs(part)
        most = MOST_SIDE // config.oc_p * config.oc_p if turned else config.ic_p
        for begin in range(first, past, most):
            count = min(most, past - begin)
            chunk = begin // config.oc_p - part.first_chunk
            pixels, channels = (count, self.source.channels) if turned else (self.source.channels, count)
            start = view.offset + begin * (view.step if turned else 1)
            span = (pixels - 1) * view.step + channels
            values = {
                "offset": start, "pixels": pixels, "fill": self.weight_zp, "w_zp": self.weight_zp, "region": int(view.region),
                "flip": int(view.flip), "turned": int(turned), "step": view.step, "run": channels, "valid": span, "lead": 0,
                "x_zp": self.product.a_zp, "w_addr": at[Buffer.WEIGHT] + chunk * part.vectors,
                "p_addr": at[Buffer.PARAM] + chunk, "w_step": 0 if turned else part.vectors, "scale": self.scale,
            }  # fmt: skip
            chunks = -(-count // config.oc_p)
            writes = [
                Access(Space.WEIGHT, values["w_addr"], chunks * part.vectors), Access(Space.PARAM, values["p_addr"], chunks),
            ]  # fmt: skip
            reads = [] if view.region is Region.CONST else [view.stretch(start, span)]
            vectors = pixels * -(-channels // config.ic_p)
            beats = pixels * -(-channels // config.axi_bytes)
            yield Pending("LOADW", values, reads, writes, max(vectors, beats) + HEAD)
