"""The sums of POOL's windows. There are three ways from bytes and taps to a sum for each pixel and channel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import data

from hw.arithmetic.cascade import Pair, cascades_of, registered
from hw.arithmetic.doubled import FAST, Running, doubled_cascades, halves_of_a_cycle
from hw.arithmetic.dsp48e2 import Enables
from hw.arithmetic.packing import GAP, SEED, unpack
from hw.arithmetic.sums import chosen_sum, extended
from hw.copies import Spread
from hw.pool.layouts import sum_shape
from hw.pool.step import Step, late
from isa.config import MachineConfig
from isa.latency import pool_by_turns

CONTROL = data.StructLayout({
    "valid": 1, "first": 1, "last": 1, "last_of_instruction": 1, "max": 1, "depthwise": 1, "offset": signed(9),
})  # fmt: skip
"""The data that travel beside a step, from register to register."""

Sums = list[list[Value]]
RUNNING_PINS = 8
"""The enables of a DSP that keeps a sum."""


class WindowSums:
    """Makes sums in one of three ways. All of them show the sum of a window beside the ``control`` of its last step.

    ====== ====================================================================================
    stage  plain, and with ``dsp_packing`` along cascades of DSPs (two pixels in each)
    ====== ====================================================================================
    0      bytes; padding that does not count and taps that are none are zero
    1      bytes and factors, side by side: the taps come late from their memory
    2      8 x 9 products; in a cascade the bytes and the factors of tap ``n`` are ``n`` cycles late
    3      products of a step are added (only with several taps; in a cascade one after the other)
    last   accumulation
    ====== ====================================================================================

    MAX and AVERAGE multiply by one there, and MAX (one tap in a step) replaces the sum where others add to it. With two taps at
    twice the clock each channel of a pixel has its own DSP, which multiplies both taps by turns and keeps the sum. So no adder
    is outside.

    ====== ====================================================================================
    stage  by turns
    ====== ====================================================================================
    0      bytes
    1      bytes again, beside the taps, of which one and then the other becomes the factor; which byte is the greatest
    2, 3   products, and their sums with what was there before, or (MAX) the greatest byte instead
    ====== ====================================================================================
    """

    def __init__(self, m: Module, config: MachineConfig, step: Step, taps: Sequence[Value], control: list[Any]) -> None:
        """``taps`` are words of the taps' memories, a cycle (and ``tap_delay`` more) after they were asked for."""
        self._m, self._config, self._step = m, config, step
        self._taps, self._control = taps, control
        going = [Signal(name=f"goes_{stage}") for stage in range(len(control) - 1)]
        self._goes = [Spread(m, goes, step.move & at.valid) for goes, at in zip(going, control, strict=False)]
        """High, for each stage, when a step leaves it."""
        pixels, several = range(config.px_p), range(config.pool_taps)
        # The sums by turns add in every cycle, so they add 0 where there is no step. The others rest then.
        enables = step.moves if pool_by_turns(config) else step.takes
        self._x = [[step.bytes(m, p, j, enables) for j in several] for p in pixels]

    def made(self, platform: Any) -> Sums:
        """The sum for every pixel and channel."""
        if pool_by_turns(self._config):
            return self._by_turns(platform)
        way: Callable[[Any], Iterator[tuple[int, int, Value, bool]]]
        way = self._cascades if self._config.dsp_packing else self._trees
        shape = sum_shape(self._config)
        sums = [
            [Signal(shape, name=f"sum_{p}_{n}", reset_less=True) for n in range(self._config.ic_p)]
            for p in range(self._config.px_p)
        ]
        control = self._control[-2]
        afresh = Signal()
        clears = Spread(self._m, afresh, control.first | control.max)
        for p, n, value, lacks_one in way(platform):
            self._accumulate(value, sums[p][n], clears, lacks_one=lacks_one)
        return [list(row) for row in sums]

    def _late(self, value: Value, cycles: int, name: str) -> Value:
        return late(self._m, self._step.moves, value, cycles, name)

    def _factors(self, j: int) -> list[Signal]:
        """The factor of tap ``j`` of each channel: the tap less ``w_zp``, or one. ``offset`` is less by one."""
        control = self._control[tap_delay(self._config, j)]
        factors = [Signal(signed(9), name=f"factor_{j}_{n}") for n in range(self._config.ic_p)]
        for n, factor in enumerate(factors):
            self._m.d.comb += factor.eq(_factor(control, self._taps[j], n))
        return factors

    def _trees(self, platform: Any) -> Iterator[tuple[int, int, Value, bool]]:
        """The sum of a step's products for each pixel and channel, and False: none lacks one."""
        several = range(self._config.pool_taps)
        held = [[self._late(f, 1, f"factor_{j}_{n}") for n, f in enumerate(self._factors(j))] for j in several]
        for p, pixel in enumerate(self._x):
            for n in range(self._config.ic_p):
                bytes_ = [self._late(taps[n], 1, f"x_{p}_{j}_{n}") for j, taps in enumerate(pixel)]
                products = [byte * factor[n] for byte, factor in zip(bytes_, held, strict=True)]
                yield p, n, self._added(products, f"{p}_{n}"), False

    def _added(self, products: list[Value], name: str) -> Value:
        """The registered products of a step, added if there are several."""
        m, goes = self._m, self._goes
        held: list[Value] = [
            registered(m, product, f"product_{name}_{j}", goes[1].of(len(product))) for j, product in enumerate(products)
        ]
        if len(held) == 1:
            return held[0]
        total = reduce(add, held)
        return registered(m, total, f"step_{name}", goes[2].of(len(total)))

    def _cascades(self, platform: Any) -> Iterator[tuple[int, int, Value, bool]]:
        """The same along cascades. The low one of two packed pixels lacks one. Registers that rest are not computed anew."""
        m, kind = self._m, cascades_of(platform)
        several = range(self._config.pool_taps)
        goes = self._goes
        more = (self._config.pool_taps - 1).bit_length()
        shared = [
            [kind.operand(m, f, f"factor_{j}_{n}", goes[j].of(len(f))) for n, f in enumerate(self._factors(j))] for j in several
        ]
        x = [
            [[_through(m, byte, goes[:j], f"x_{p}_{j}_{n}") for n, byte in enumerate(pixel[j])] for j in several]
            for p, pixel in enumerate(self._x)
        ]
        for p in range(0, self._config.px_p, 2):
            pair = p + 1 < self._config.px_p
            bits = (GAP if pair else 0) + 17 + more
            for n in range(self._config.ic_p):
                name = f"{p}_{n}"
                bytes_ = [Pair(x[p + 1][j][n], x[p][j][n]) if pair else x[p][j][n] for j in several]
                enables = [Enables(*(stage.of(bits) for stage in goes[j : j + 3])) for j in several]
                wide = [kind.operand(m, byte, f"wide_{name}_{j}", enables[j].factors) for j, byte in enumerate(bytes_)]
                operands = [(own, shared[j][n]) for j, own in enumerate(wide)]
                total = kind.chain(m, operands, SEED if pair else 0, bits, name, enables)
                if pair:
                    high, low = unpack(total)
                    yield p + 1, n, high, False
                    yield p, n, low, True
                else:
                    yield p, n, total, False

    def _accumulate(self, value: Value, total: Signal, clears: Spread, *, lacks_one: bool) -> None:
        """Adds the ``value`` of a step to the sum of a pixel's channel, or to 0 where it ``clears``. A maximum and its rivals
        are bytes, so few bits tell which is greater."""
        control = self._control[-2]
        kept = total[:8].as_signed()
        lower = value[:9].as_signed() < kept if lacks_one else value[:8].as_signed() <= kept
        keep = control.max & ~control.first & lower
        before = Mux(clears.of(len(total)), 0, total)
        with self._m.If(self._step.move & control.valid), self._m.If(~keep):
            self._m.d.sync += total.eq(chosen_sum(extended(value, len(total)), before, int(lacks_one)))

    def _by_turns(self, platform: Any) -> Sums:
        m, moves = self._m, self._step.moves
        halves = halves_of_a_cycle(m)
        kind = doubled_cascades(platform, halves)
        _, working, adding, _ = self._control
        taps = [self._late(word, 1, f"tap_{j}") for j, word in enumerate(self._taps)]
        factors = [Signal(signed(9), name=f"factor_{n}", reset_less=True) for n in range(self._config.ic_p)]
        turn = Mux(halves.first, taps[0], taps[1])
        for n, factor in enumerate(factors):
            with m.If(moves.of(len(factor))):
                m.d[FAST] += factor.eq(_factor(working, turn, n))
        shape = sum_shape(self._config)
        sums: Sums = []
        for p, pixel in enumerate(self._x):
            sums.append([])
            for n, factor in enumerate(factors):
                first, second = (self._late(own[n], 1, f"x_{p}_{j}_{n}") for j, own in enumerate(pixel))
                greatest = Signal(signed(8), name=f"greatest_{p}_{n}", reset_less=True)
                with m.If(self._step.move & working.valid & (working.first | (greatest < first))):
                    m.d.sync += greatest.eq(first)
                running = Running(adding.valid & adding.first, greatest, adding.max)
                enable = moves.of(RUNNING_PINS)
                sums[p].append(kind.running_sum(m, first, second, factor, running, shape.width, enable, f"{p}_{n}"))
        return sums


def tap_delay(config: MachineConfig, tap: int) -> int:
    """The cycles by which a tap's DSP works later than the first."""
    return tap if config.dsp_packing and not pool_by_turns(config) else 0


def _through(m: Module, value: Value, goes: Sequence[Spread], name: str) -> Value:
    """The value passed from register to register. Each takes it when its stage goes."""
    for stage, one in enumerate(goes):
        value = registered(m, value, f"{name}_later_{stage}", one.of(len(value)))
    return value


def _factor(control: Any, word: Value, n: int) -> Value:
    tap = word[8 * n : 8 * n + 8] & control.depthwise.replicate(8)
    return control.offset - ~tap.as_signed()
