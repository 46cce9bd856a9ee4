"""The multiplier array. It multiplies every input lane of every pixel by every weight and sums the products over the input
lanes."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

from amaranth import Module, Shape, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import Cascades, cascades_of
from hw.arithmetic.doubled import DoubledCascades, Operand, Taken, Turns, doubled_cascades, halves_of_a_cycle
from hw.arithmetic.joined import join, joined_products
from hw.arithmetic.packing import GAP, SEED, pack, unpack
from hw.conv.skew import Skew
from hw.conv.tree import add_tree, register
from isa.config import MachineConfig


def sum_shape(ic_p: int) -> Shape:
    """The shape of a sum of ``ic_p`` products, each at most 2^14, or of such a sum less one."""
    return signed(16 + (ic_p - 1).bit_length())


def is_one_less(config: MachineConfig, pixel: int, lane: int) -> bool:
    """True if the array shows this sum less one. This is so for the low one of two that are packed."""
    return config.dsp_packing and (pixel if config.packs_pixels else lane) % 2 == 0


class MacArray(wiring.Component):
    """``sums[p][o] = sum_i x[p][i] * w[i][o]``, one set per cycle, with a latency of ``array_latency``. Some sums are less by
    one (``is_one_less``).

    It never stalls, so the part that feeds it makes sure that the sums have a place. Each register holds one number and none is
    reset, so simulator and tools see a plain network of products and sums.

    Without ``dsp_packing`` each product has a multiplier, but ``joined_outputs`` pairs of output lanes share theirs
    (``hw/arithmetic/joined.py``).

    With ``dsp_packing`` two pixels share a weight (``px_p`` even), or else two output lanes share an input. A cascade of DSPs
    adds the products of up to ``TERMS`` input lanes, and a tree adds a few cascades. A DSP further on in its cascade works on a
    later cycle's operands. So ``x`` is delayed here. Weights are read from their memory later by the delay that the columns of
    the memory share, and the rest is delayed here (``Skew``).

    With ``array_clock`` 2 each cascade makes the sums of two output lanes (or, if these are packed, of two pairs) in a cycle,
    one after the other, at twice the clock (``hw/arithmetic/doubled.py``). Operands and sums are in registers of the machine's
    clock.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__(
            {
                "x": In(data.ArrayLayout(data.ArrayLayout(signed(8), config.ic_p), config.px_p)),
                "w": In(data.ArrayLayout(data.ArrayLayout(signed(8), config.oc_p), config.ic_p)),
                "sums": Out(data.ArrayLayout(data.ArrayLayout(sum_shape(config.ic_p), config.oc_p), config.px_p)),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        if self.config.array_clock > 1:
            self._doubled(m, lambda name: doubled_cascades(platform, halves_of_a_cycle(m, name)))
        elif self.config.dsp_packing:
            self._cascades(m, cascades_of(platform))
        else:
            self._trees(m)
        return m

    def _trees(self, m: Module) -> None:
        c = self.config
        lanes = range(c.ic_p)
        joined = 2 * c.joined_outputs
        x = [[register(m, self.x[p][i], f"x_{p}_{i}") for i in lanes] for p in range(c.px_p)]
        w = [[register(m, self.w[i][o], f"w_{o}_{i}") for i in lanes] for o in range(joined, c.oc_p)]
        pairs = [
            [register(m, join(self.w[i][o + 1], self.w[i][o]), f"w_pair_{o}_{i}") for i in lanes] for o in range(0, joined, 2)
        ]
        for p in range(c.px_p):
            for o, pair in enumerate(pairs):
                factors = enumerate(zip(pair, x[p], strict=True))
                made = [self._joined(m, a, b, f"{p}_{2 * o}_{i}") for i, (a, b) in factors]
                for turn, products in enumerate(zip(*made, strict=True)):
                    self._add(m, p, 2 * o + (1 - turn), list(products))
            for o, row in enumerate(w, joined):
                factors = enumerate(zip(x[p], row, strict=True))
                self._add(m, p, o, [register(m, a * b, f"product_{p}_{o}_{i}") for i, (a, b) in factors])

    def _joined(self, m: Module, joined: Value, shared: Value, name: str) -> tuple[Value, Value]:
        return joined_products(joined, shared, lambda value, kind: register(m, value, kind), name)

    def _add(self, m: Module, p: int, o: int, products: list[Value]) -> None:
        m.d.comb += self.sums[p][o].eq(add_tree(m, products, f"sum_{p}_{o}"))

    def _cascades(self, m: Module, kind: Cascades) -> None:
        skew = Skew(self.config)
        wide, narrow = self._operands(m, skew, lambda value, name: kind.operand(m, value, name))
        for n, row in enumerate(wide):
            for s, shared in enumerate(narrow):
                totals = []
                for k in range(self.config.cascades):
                    operands = [(row[i], shared[i]) for i in skew.lanes(k)]
                    totals.append(kind.chain(m, operands, SEED, _sum_bits(operands), f"{n}_{s}_{k}"))
                self._show(m, totals, n, s)

    def _doubled(self, m: Module, kind: Callable[[str], DoubledCascades]) -> None:
        """Pairs each row of a block of cascades with each column. Every such place has its own halves of a cycle."""
        skew = Skew(self.config)
        wide, narrow = self._operands(m, skew, lambda value, name: register(m, value, name))
        pixels = self.config.packs_pixels
        rows, columns = (wide, _by_turns(narrow)) if pixels else (_by_turns(wide), narrow)
        kinds = [[kind(f"{n}_{s}") for s in range(len(columns))] for n in range(len(rows))]

        def taken(own: DoubledCascades, row: list[Any], name: str) -> list[Taken]:
            return [own.operand(m, value, skew.late(i), f"{name}_{i}_taken") for i, value in enumerate(row)]

        first = [taken(own[0], row, f"wide_{n}") for n, (own, row) in enumerate(zip(kinds, rows, strict=True))]
        second = [taken(own, column, f"narrow_{s}") for s, (own, column) in enumerate(zip(kinds[0], columns, strict=True))]
        for n, row in enumerate(first):
            for s, shared in enumerate(second):
                totals = []
                for k in range(self.config.cascades):
                    operands = [(row[i], shared[i]) for i in skew.lanes(k)]
                    name = f"{n}_{s}_{k}"
                    chain = kinds[n][s].chain(m, operands, SEED, _sum_bits(operands), name)
                    totals.append(kinds[n][s].take(m, chain, name))
                for turn, of_turn in enumerate(zip(*totals, strict=True)):
                    place = (n, 2 * s + turn) if pixels else (2 * n + turn, s)
                    self._show(m, list(of_turn), *place)

    def _operands(
        self, m: Module, skew: Skew, registered: Callable[[Value, str], Value]
    ) -> tuple[list[list[Value]], list[list[Value]]]:
        """The operands of each input lane, in the cycle in which its DSPs take them: those that are packed by twos, and the
        others."""
        c = self.config
        lanes = range(c.ic_p)
        x = [[_later(m, self.x[p][i], skew.delay(i), f"x_{p}_{i}") for i in lanes] for p in range(c.px_p)]
        w = [[_later(m, self.w[i][o], skew.left_over(i, o), f"w_{o}_{i}") for i in lanes] for o in range(c.oc_p)]
        paired, single = (x, w) if c.packs_pixels else (w, x)
        wide = [
            [registered(pack(paired[n + 1][i], paired[n][i]), f"wide_{n}_{i}") for i in lanes] for n in range(0, len(paired), 2)
        ]
        return wide, [[registered(row[i], f"narrow_{n}_{i}") for i in lanes] for n, row in enumerate(single)]

    def _show(self, m: Module, totals: list[Value], wide: int, narrow: int) -> None:
        """Takes the sums of cascades apart and adds them: those of the low products, less one, and those of the high ones."""
        halves = [unpack(total) for total in totals]
        name = f"{wide}_{narrow}"
        low = add_tree(m, [low for _, low in halves], f"low_{name}", one_more=True)
        high = add_tree(m, [high for high, _ in halves], f"high_{name}")
        for half, total in enumerate((low, high)):
            pixel, lane = (2 * wide + half, narrow) if self.config.packs_pixels else (narrow, 2 * wide + half)
            m.d.comb += self.sums[pixel][lane].eq(total)


def _sum_bits(operands: Sized) -> int:
    return GAP + 15 + len(operands).bit_length()


def _by_turns(rows: list[list[Value]]) -> list[list[Operand]]:
    """Neighbouring rows, joined lane by lane into operands that take turns."""
    return [
        [Turns(*pair) for pair in zip(first, second, strict=True)] for first, second in zip(rows[::2], rows[1::2], strict=True)
    ]


def _later(m: Module, value: Value, cycles: int, name: str) -> Value:
    for n in range(cycles):
        value = register(m, value, f"{name}_{n}")
    return value
