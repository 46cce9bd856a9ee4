"""What MISC computes on each lane: sum of products, shift, saturation."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from isa.config import MachineConfig
from isa.instructions import MiscMode

LATENCY = 6
SUM_BITS = 49
"""|(a - a_zp) (b - b_zp) m_a| and |a m_a + b m_b| stay below 2^47, C within 48 bits."""

SETTINGS = data.StructLayout({
    "is_mul": unsigned(1),
    "a_zp": signed(8),
    "b_zp": signed(8),
    "m_a": signed(26),
    "m_b": signed(26),
    "constant": signed(48),
    "shift": unsigned(6),
    "reads_b": unsigned(1),
    "zp": signed(8),
    "lo": signed(8),
    "hi": signed(8),
    "act": unsigned(2),
    "table": unsigned(2),
})
"""An instruction's numbers, in the form in which all three modes are one computation."""


def settings_of(op: Any) -> dict[str, Value]:
    """``SETTINGS`` of the fields of an instruction.

    The zero-points count in MUL only, ``m_b`` in ADD only; then ADD and PASS are ``x * m_a + b * m_b + C`` with
    ``x = a``, and MUL is the same with ``x = (a - a_zp) * (b - b_zp)``.
    """
    is_mul = op.mode == MiscMode.MUL.value
    return {
        "is_mul": is_mul,
        "a_zp": Mux(is_mul, op.a_zp, 0),
        "b_zp": Mux(is_mul, op.b_zp, 0),
        "m_a": op.m_a,
        "m_b": Mux(op.mode == MiscMode.ADD.value, op.m_b, 0),
        "constant": Cat(op.c_lo, op.c_hi).as_signed(),
        "shift": op.shift,
        "reads_b": op.mode != MiscMode.PASS.value,
        **{name: getattr(op, name) for name in ("zp", "lo", "hi", "act", "table")},
    }


def operands_layout(config: MachineConfig) -> data.StructLayout:
    word = data.ArrayLayout(signed(8), config.ic_p)
    return data.StructLayout({"a": word, "b": word, "settings": SETTINGS})


def result_layout(config: MachineConfig) -> data.StructLayout:
    return data.StructLayout({"r": data.ArrayLayout(signed(16), config.ic_p), "settings": SETTINGS})


class Arithmetic(wiring.Component):
    """``r = saturate16(round((x * m_a + b * m_b + C) / 2^shift))`` on ``ic_p`` lanes, ties to even, all sums exact.

    One word per cycle, latency ``LATENCY``. While the output is refused everything stands still. Stages:

    ======  ==================================================
    1       zero-points off
    2       product of the operands (MUL)
    3       times the factors
    4       sum
    5       shift, which keeps the bit of one half; what else it drops
    6       rounding and saturation
    ======  ==================================================
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operands_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        valid = Signal(LATENCY)
        settings = [Signal(SETTINGS, name=f"settings{stage}", reset_less=True) for stage in range(1, LATENCY + 1)]
        dropped_mask = Signal(SUM_BITS, reset_less=True)
        move = Signal()
        m.d.comb += [
            move.eq(self.o.ready | ~valid[-1]),
            self.i.ready.eq(move),
            self.o.valid.eq(valid[-1]),
            self.o.payload.settings.eq(settings[-1]),
        ]
        with m.If(move):
            m.d.sync += valid.eq(Cat(self.i.valid, valid))
        advance = Signal(LATENCY)
        m.d.comb += advance.eq(Cat(self.i.valid, valid[:-1]) & move.replicate(LATENCY))
        earlier = [self.i.payload.settings, *settings[:-1]]
        for stage, (register, before) in enumerate(zip(settings, earlier, strict=True)):
            with m.If(advance[stage]):
                m.d.sync += register.eq(before)
        with m.If(advance[3]):
            m.d.sync += dropped_mask.eq(_below_half(settings[2].shift))
        for lane in range(self.config.ic_p):
            r = self._lane(m, lane, advance, settings, dropped_mask)
            m.d.comb += self.o.payload.r[lane].eq(r)
        return m

    def _lane(self, m: Module, lane: int, advance: Value, settings: list[Any], dropped_mask: Value) -> Value:
        def register(shape: Any, name: str) -> Signal:
            return Signal(shape, name=f"{name}_{lane}", reset_less=True)

        a, b = register(signed(9), "a"), register(signed(9), "b")
        x, late_b = register(signed(18), "x"), register(signed(9), "late_b")
        product_a, product_b = register(signed(44), "product_a"), register(signed(35), "product_b")
        total = register(signed(SUM_BITS), "total")
        shifted, dropped = register(signed(SUM_BITS + 1), "shifted"), register(1, "dropped")
        r = register(signed(16), "r")
        start = self.i.payload
        with m.If(advance[0]):
            m.d.sync += [a.eq(start.a[lane] - start.settings.a_zp), b.eq(start.b[lane] - start.settings.b_zp)]
        with m.If(advance[1]):
            m.d.sync += [x.eq(Mux(settings[0].is_mul, a * b, a)), late_b.eq(b)]
        with m.If(advance[2]):
            m.d.sync += [product_a.eq(x * settings[1].m_a), product_b.eq(late_b * settings[1].m_b)]
        with m.If(advance[3]):
            m.d.sync += total.eq(product_a + product_b + settings[2].constant)
        with m.If(advance[4]):
            m.d.sync += [
                shifted.eq(Cat(Const(0, 1), total).as_signed() >> settings[3].shift),
                dropped.eq((total & dropped_mask).any()),
            ]
        floor, half = shifted[1:], shifted[0]
        with m.If(advance[5]):
            m.d.sync += r.eq(_saturate_16(floor, half & (dropped | floor[0])))
        return r


def _below_half(shift: Value) -> Value:
    """Ones at the bits that a shift drops, but for the highest of them."""
    return (Const((1 << 64) - 1, 64) >> (65 - shift)[:7])[:SUM_BITS]


def _saturate_16(floor: Value, up: Value) -> Value:
    """``floor + up`` within int16."""
    high = floor[15:]
    at_top = floor[:15].all()
    inside = Mux(floor[-1] | ~at_top, floor[:16] + up, floor[:16])
    return Mux(floor[-1], Mux(high.all(), inside, 0x8000), Mux(high.any(), 0x7FFF, inside))[:16].as_signed()
