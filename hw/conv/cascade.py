"""Sums of products along a cascade of DSPs: each adds its product to what its neighbour hands on.

A DSP has a register for its operands, one for its product and one for its sum. Two kinds make the same sums:
``Cascades`` in plain RTL, for simulators, ASICs and tools that find DSPs by themselves; ``Dsp48Cascades`` as
instances of UltraScale's DSP48E2, whose cascade (PCOUT to PCIN) is wired within a column of DSPs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Cat, ClockSignal, Const, Instance, Module, Signal, Value, signed

from hw.conv.tree import register

OPERAND_LATENCY = 2
"""Cycles from the operands of a cascade's last DSP to the sum, without the sum's own register: operand, product."""
P_BITS = 48


class Cascades:
    """Cascades in plain RTL."""

    def operand(self, m: Module, value: Value, name: str) -> Value:
        """An operand of any number of DSPs."""
        return register(m, value, name)

    def chain(self, m: Module, operands: Sequence[tuple[Value, Value]], seed: int, bits: int, name: str) -> Value:
        """``seed + sum a * b`` in ``bits`` bits; operands of DSP ``n`` come ``n`` cycles after those of the first."""
        total: Value = Const(seed, signed(bits))
        for n, (a, b) in enumerate(operands):
            product = register(m, a * b, f"product_{name}_{n}")
            total = register(m, (product + total)[:bits].as_signed(), f"sum_{name}_{n}")
        return total


class Dsp48Cascades(Cascades):
    """The same as instances of DSP48E2; the operand registers are those of each DSP."""

    def operand(self, m: Module, value: Value, name: str) -> Value:
        shown = Signal(value.shape(), name=name)
        m.d.comb += shown.eq(value)
        return shown

    def chain(self, m: Module, operands: Sequence[tuple[Value, Value]], seed: int, bits: int, name: str) -> Value:
        before: Value | None = None
        for n, (a, b) in enumerate(operands):
            handed_on = Signal(P_BITS, name=f"cascade_{name}_{n}")
            total = Signal(P_BITS, name=f"sum_{name}_{n}")
            m.submodules[f"dsp_{name}_{n}"] = _dsp48e2(a, b, before, seed, handed_on, total)
            before = handed_on
        return total[:bits].as_signed()


def cascades_of(platform: Any) -> Cascades:
    """The kind that the platform has chosen: its ``cascades``, or plain RTL."""
    found = getattr(platform, "cascades", None)
    return found if isinstance(found, Cascades) else Cascades()


_FROM_C, _FROM_PCIN = 0b00_011_01_01, 0b00_001_01_01
"""OPMODE: the product, and C or the cascade."""


def _dsp48e2(a: Value, b: Value, pcin: Value | None, seed: int, pcout: Value, p: Value) -> Instance:
    """A1B1, M and P registers always enabled; the pre-adder is not used."""
    registers = {"AREG": 1, "ACASCREG": 1, "BREG": 1, "BCASCREG": 1, "MREG": 1, "PREG": 1}
    unused = dict.fromkeys(
        ("ADREG", "ALUMODEREG", "CARRYINREG", "CARRYINSELREG", "CREG", "DREG", "INMODEREG", "OPMODEREG"), 0
    )
    enabled = dict.fromkeys(("CEA2", "CEB2", "CEM", "CEP"), 1)
    still = dict.fromkeys(
        ("CEA1", "CEB1", "CEAD", "CEALUMODE", "CEC", "CECARRYIN", "CECTRL", "CED", "CEINMODE", "RSTA", "RSTALLCARRYIN",
         "RSTALUMODE", "RSTB", "RSTC", "RSTCTRL", "RSTD", "RSTINMODE", "RSTM", "RSTP", "CARRYIN"), 0
    )  # fmt: skip
    return Instance(
        "DSP48E2",
        **{f"p_{name}": value for name, value in (registers | unused).items()},
        p_USE_MULT="MULTIPLY",
        **{f"i_{name}": Const(value, 1) for name, value in (enabled | still).items()},
        i_CLK=ClockSignal(),
        i_A=_extended(a, 30),
        i_B=_extended(b, 18),
        i_C=Const(seed if pcin is None else 0, P_BITS),
        i_D=Const(0, 27),
        i_PCIN=Const(0, P_BITS) if pcin is None else pcin,
        i_OPMODE=Const(_FROM_C if pcin is None else _FROM_PCIN, 9),
        i_ALUMODE=Const(0, 4),
        i_INMODE=Const(0, 5),
        i_CARRYINSEL=Const(0, 3),
        o_P=p,
        o_PCOUT=pcout,
    )


def _extended(value: Value, bits: int) -> Value:
    shape = value.shape()
    assert shape.signed
    assert shape.width <= bits
    return Cat(value, value[-1].replicate(bits - shape.width))
