"""The multiplier array: every input lane of every pixel times every weight, summed over the input lanes."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Shape, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import OPERAND_LATENCY, Cascades, cascades_of
from hw.arithmetic.packing import GAP, SEED, pack, unpack
from hw.conv.skew import Skew
from hw.conv.tree import add_tree, register, tree_stages
from isa.config import MachineConfig


def array_latency(config: MachineConfig) -> int:
    """Cycles from operands to sums.

    Plain: operand register, product register, one for each stage of the tree over the lanes. Packed: operand and product
    register, one for each DSP of a cascade, and the stages of the tree over the cascades.
    """
    if not config.dsp_packing:
        return 2 + tree_stages(config.ic_p)
    return OPERAND_LATENCY + config.cascade_length + tree_stages(config.cascades)


def sum_shape(ic_p: int) -> Shape:
    """A sum of ``ic_p`` products (each is at most 2^14), or one less."""
    return signed(16 + (ic_p - 1).bit_length())


def is_one_less(config: MachineConfig, pixel: int, lane: int) -> bool:
    """Whether the array shows this sum less one: the low one of two that are packed."""
    return config.dsp_packing and (pixel if config.px_p % 2 == 0 else lane) % 2 == 0


class MacArray(wiring.Component):
    """``sums[p][o] = sum_i x[p][i] * w[i][o]``, one set per cycle, latency ``array_latency``; some are ``is_one_less``.

    It never stalls: who feeds it makes sure that the sums have a place. Each register holds one number
    and none is reset, so the simulator's and the tool's view is a plain network of products and sums.

    With ``dsp_packing`` two pixels share a weight (``px_p`` even), or else two output lanes share an input. The products
    of up to ``TERMS`` input lanes are added along a cascade of DSPs, a few cascades by a tree. A DSP further on in its cascade
    works on a later cycle's operands: ``x`` is delayed here; weights are read from their memory so much later, up to
    what columns of the memory have in common (``Skew``).
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "x": In(data.ArrayLayout(data.ArrayLayout(signed(8), config.ic_p), config.px_p)),
            "w": In(data.ArrayLayout(data.ArrayLayout(signed(8), config.oc_p), config.ic_p)),
            "sums": Out(data.ArrayLayout(data.ArrayLayout(sum_shape(config.ic_p), config.oc_p), config.px_p)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        if self.config.dsp_packing:
            self._cascades(m, cascades_of(platform))
        else:
            self._trees(m)
        return m

    def _trees(self, m: Module) -> None:
        c = self.config
        x = [[register(m, self.x[p][i], f"x_{p}_{i}") for i in range(c.ic_p)] for p in range(c.px_p)]
        w = [[register(m, self.w[i][o], f"w_{o}_{i}") for i in range(c.ic_p)] for o in range(c.oc_p)]
        for p in range(c.px_p):
            for o in range(c.oc_p):
                pairs = enumerate(zip(x[p], w[o], strict=True))
                products: list[Value] = [register(m, a * b, f"product_{p}_{o}_{i}") for i, (a, b) in pairs]
                m.d.comb += self.sums[p][o].eq(add_tree(m, products, f"sum_{p}_{o}"))

    def _cascades(self, m: Module, kind: Cascades) -> None:
        c = self.config
        skew = Skew(c)
        lanes = range(c.ic_p)
        x = [[_later(m, self.x[p][i], skew.position(i), f"x_{p}_{i}") for i in lanes] for p in range(c.px_p)]
        w = [[_later(m, self.w[i][o], skew.left_over(i, o), f"w_{o}_{i}") for i in lanes] for o in range(c.oc_p)]
        by_pixels = c.px_p % 2 == 0
        paired, single = (x, w) if by_pixels else (w, x)
        wide = [
            [kind.operand(m, pack(paired[n + 1][i], paired[n][i]), f"wide_{n}_{i}") for i in lanes]
            for n in range(0, len(paired), 2)
        ]
        narrow = [[kind.operand(m, row[i], f"narrow_{n}_{i}") for i in lanes] for n, row in enumerate(single)]
        for n, row in enumerate(wide):
            for s, shared in enumerate(narrow):
                for half, total in enumerate(self._sums(m, kind, skew, row, shared, f"{n}_{s}")):
                    pixel, lane = (2 * n + half, s) if by_pixels else (s, 2 * n + half)
                    m.d.comb += self.sums[pixel][lane].eq(total)

    def _sums(
        self, m: Module, kind: Cascades, skew: Skew, wide: list[Value], shared: list[Value], name: str
    ) -> tuple[Value, Value]:
        """Of the low products, less one, and of the high ones."""
        halves = []
        for k in range(self.config.cascades):
            operands = [(wide[i], shared[i]) for i in skew.lanes(k)]
            bits = GAP + 15 + len(operands).bit_length()
            halves.append(unpack(kind.chain(m, operands, SEED, bits, f"{name}_{k}")))
        low = add_tree(m, [low for _, low in halves], f"low_{name}", one_more=True)
        return low, add_tree(m, [high for high, _ in halves], f"high_{name}")


def _later(m: Module, value: Value, cycles: int, name: str) -> Value:
    for n in range(cycles):
        value = register(m, value, f"{name}_{n}")
    return value
