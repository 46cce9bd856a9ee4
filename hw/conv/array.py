"""The multiplier array: every input lane of every pixel times every weight, summed over the input lanes."""

from __future__ import annotations

from amaranth import Module, Shape, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.conv.packing import TERMS, pack, unpack
from hw.conv.tree import RADIX, add_stage, add_tree, register, tree_stages
from isa.config import MachineConfig

assert RADIX <= TERMS, "packed products are unpacked after one stage of the tree"


def array_latency(ic_p: int) -> int:
    """Cycles from operands to sums: operand register, product register, one for each stage of the tree."""
    return 2 + tree_stages(ic_p)


def sum_shape(ic_p: int) -> Shape:
    """A sum of ``ic_p`` products; each is at most 2^14."""
    return signed(16 + (ic_p - 1).bit_length())


class MacArray(wiring.Component):
    """``sums[p][o] = sum_i x[p][i] * w[o][i]``, one set per cycle, latency ``array_latency(ic_p)``.

    It never stalls: who feeds it makes sure that the sums have a place. Each register holds one number
    and none is reset, so the simulator's and the tool's view is a plain network of products and sums.
    With ``dsp_packing`` two pixels share a weight (``px_p`` even), or else two output lanes share an input;
    they stay in one word for the first stage of the tree.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "x": In(data.ArrayLayout(data.ArrayLayout(signed(8), config.ic_p), config.px_p)),
            "w": In(data.ArrayLayout(data.ArrayLayout(signed(8), config.ic_p), config.oc_p)),
            "sums": Out(data.ArrayLayout(data.ArrayLayout(sum_shape(config.ic_p), config.oc_p), config.px_p)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        x = [[register(m, self.x[p][i], f"x_{p}_{i}") for i in range(c.ic_p)] for p in range(c.px_p)]
        w = [[register(m, self.w[o][i], f"w_{o}_{i}") for i in range(c.ic_p)] for o in range(c.oc_p)]
        if not c.dsp_packing:
            for p in range(c.px_p):
                for o in range(c.oc_p):
                    products = [a * b for a, b in zip(x[p], w[o], strict=True)]
                    m.d.comb += self.sums[p][o].eq(_tree(m, products, f"{p}_{o}"))
        elif c.px_p % 2 == 0:
            for p in range(0, c.px_p, 2):
                for o in range(c.oc_p):
                    self._pair(m, x[p + 1], x[p], w[o], self.sums[p + 1][o], self.sums[p][o], f"{p}_{o}")
        else:
            for p in range(c.px_p):
                for o in range(0, c.oc_p, 2):
                    self._pair(m, w[o + 1], w[o], x[p], self.sums[p][o + 1], self.sums[p][o], f"{p}_{o}")
        return m

    def _pair(
        self, m: Module, high: list[Value], low: list[Value], shared: list[Value], high_sum: Value, low_sum: Value, name: str
    ) -> None:
        """Two sums of products from one multiplier for each input lane."""
        triples = zip(high, low, shared, strict=True)
        packed = [register(m, pack(*operands), f"product_{name}_{i}") for i, operands in enumerate(triples)]
        if len(packed) > 1:
            packed = add_stage(m, packed, f"packed_{name}")
        halves = [unpack(total) for total in packed]
        m.d.comb += [
            high_sum.eq(add_tree(m, [left for left, _ in halves], f"high_{name}")),
            low_sum.eq(add_tree(m, [right for _, right in halves], f"low_{name}")),
        ]


def _tree(m: Module, products: list[Value], name: str) -> Value:
    return add_tree(m, [register(m, product, f"product_{name}_{i}") for i, product in enumerate(products)], f"sum_{name}")
