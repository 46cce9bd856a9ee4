"""Instances of UltraScale's DSP48E2: a product, its first factor a sum if need be, added to what a neighbour hands on."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth import ClockSignal, Const, Instance, Value

from hw.arithmetic.sums import extended

P_BITS = 48
_PRODUCT = 0b00_000_01_01
_FROM_C, _FROM_PCIN, _FROM_PCIN_SHIFTED = (_PRODUCT | z << 4 for z in (0b011, 0b001, 0b101))
"""OPMODE: the product, and C, PCIN or PCIN / 2^17."""
_ADDED_D = 0b00100
"""INMODE: the factor is A + D."""


@dataclass(frozen=True)
class Enables:
    """When the registers take something: those of the factors, of the product, of the sum."""

    factors: Value
    product: Value
    total: Value

    @classmethod
    def all(cls, enable: Value) -> Enables:
        return cls(enable, enable, enable)


@dataclass(frozen=True)
class Sum:
    """What the product is added to: a constant, or what a neighbour hands on, as it is or without its 17 lowest bits."""

    constant: int = 0
    neighbour: Value | None = None
    shifted: bool = False

    def mode(self) -> int:
        if self.neighbour is None:
            return _FROM_C
        return _FROM_PCIN_SHIFTED if self.shifted else _FROM_PCIN


def dsp48e2(
    a: Value, b: Value, before: Sum, enables: Enables, p: Value, pcout: Value, *, d: Value | None = None, keeps_sum: bool = True
) -> Instance:
    """``p = a * b + before``, or ``(a + d) * b + before``, three cycles later: factors, product and sum have a register each;
    without ``keeps_sum`` two cycles later, for the sum has none. ``a`` and ``d`` have 27 bits at most, ``b`` 18, all signed."""
    registers = {
        "AREG": int(d is None), "ACASCREG": int(d is None), "ADREG": int(d is not None), "DREG": 0, "BREG": 1, "BCASCREG": 1,
        "MREG": 1, "PREG": int(keeps_sum),
    }  # fmt: skip
    unused = dict.fromkeys(("ALUMODEREG", "CARRYINREG", "CARRYINSELREG", "CREG", "INMODEREG", "OPMODEREG"), 0)
    still = dict.fromkeys(
        ("CEA1", "CEB1", "CEALUMODE", "CEC", "CECARRYIN", "CECTRL", "CED", "CEINMODE", "RSTA", "RSTALLCARRYIN",
         "RSTALUMODE", "RSTB", "RSTC", "RSTCTRL", "RSTD", "RSTINMODE", "RSTM", "RSTP", "CARRYIN"), 0
    )  # fmt: skip
    return Instance(
        "DSP48E2",
        **{f"p_{name}": value for name, value in (registers | unused).items()},
        p_USE_MULT="MULTIPLY",
        p_AMULTSEL="A" if d is None else "AD",
        **{f"i_{name}": Const(value, 1) for name, value in still.items()},
        i_CEA2=Const(0, 1) if d is not None else enables.factors,
        i_CEAD=Const(0, 1) if d is None else enables.factors,
        i_CEB2=enables.factors,
        i_CEM=enables.product,
        i_CEP=enables.total if keeps_sum else Const(0, 1),
        i_CLK=ClockSignal(),
        i_A=extended(a, 30),
        i_B=extended(b, 18),
        i_C=Const(before.constant, P_BITS),
        i_D=Const(0, 27) if d is None else extended(d, 27),
        i_PCIN=Const(0, P_BITS) if before.neighbour is None else before.neighbour,
        i_OPMODE=Const(before.mode(), 9),
        i_ALUMODE=Const(0, 4),
        i_INMODE=Const(0 if d is None else _ADDED_D, 5),
        i_CARRYINSEL=Const(0, 3),
        o_P=p,
        o_PCOUT=pcout,
    )
