"""Instances of UltraScale's DSP48E2. Each adds a product, whose first factor may be a sum, to what a neighbour hands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amaranth import Cat, ClockSignal, Const, Instance, Signal, Value

from hw.arithmetic.sums import extended

P_BITS = 48
_PRODUCT = 0b00_000_01_01
_FROM_C, _FROM_PCIN, _FROM_PCIN_SHIFTED = (_PRODUCT | z << 4 for z in (0b011, 0b001, 0b101))
"""Values of OPMODE: the product, and C, PCIN or PCIN / 2^17 added to it."""
_OWN_SHIFTED = 0b110
"""The field Z of OPMODE for P / 2^17. For P it is 2, for C 3."""
_ADDED_D = 0b00100
"""The value of INMODE with which the factor is A + D."""
_UNUSED_REGISTERS = ("ALUMODEREG", "CARRYINREG", "CARRYINSELREG", "CREG", "OPMODEREG")
_A_AND_B = 0b00_11
"""The fields Y and X of OPMODE with which A and B side by side are added, and no product."""
_STILL = (
    "CEA1", "CEA2", "CEAD", "CEALUMODE", "CEB1", "CEB2", "CEC", "CECARRYIN", "CECTRL", "CED", "CEINMODE", "CEM", "CEP",
    "RSTA", "RSTALLCARRYIN", "RSTALUMODE", "RSTB", "RSTC", "RSTCTRL", "RSTD", "RSTINMODE", "RSTM", "RSTP", "CARRYIN",
)  # fmt: skip
"""The inputs of one bit that are 0 unless given."""


@dataclass(frozen=True)
class Enables:
    """Says when the registers take something: those of the factors, that of the product, that of the sum."""

    factors: Value
    product: Value
    total: Value

    @classmethod
    def all(cls, enable: Value) -> Enables:
        return cls(enable, enable, enable)


@dataclass(frozen=True)
class Sum:
    """Says what the product is added to. It is one of these:

    - a ``constant``
    - the value that is ``shown`` a cycle before the sum
    - what a ``neighbour`` hands on, as it is or ``shifted``: without its 17 lowest bits
    - the DSP's own sum without its 17 lowest bits, one cycle after ``own`` is high, and nothing after it is low
    - all of the DSP's own sum, one cycle after ``kept`` is high, and the value that is ``shown`` after ``replaced`` is high
    """

    constant: int = 0
    shown: Value | None = None
    neighbour: Value | None = None
    shifted: bool = False
    own: Value | None = None
    kept: Value | None = None
    replaced: Value | None = None

    def mode(self) -> Value:
        if self.kept is not None and self.replaced is not None:
            return Cat(Const(_PRODUCT, 4), self.replaced, self.kept | self.replaced, Const(0, 3))
        if self.own is not None:
            return Cat(Const(_PRODUCT, 4), Cat(self.own & bit for bit in Const(_OWN_SHIFTED, 3)), Const(0, 2))
        if self.neighbour is None:
            return Const(_FROM_C, 9)
        return Const(_FROM_PCIN_SHIFTED if self.shifted else _FROM_PCIN, 9)

    def registers(self) -> dict[str, int]:
        chosen = self.own is not None or self.kept is not None
        return {"OPMODEREG": int(chosen), "CREG": int(self.shown is not None)}

    def moves(self) -> dict[str, Value]:
        return {} if self.own is None else {"CECTRL": Const(1, 1)}


def dsp48e2(
    a: Value, b: Value, before: Sum, enables: Enables, p: Value, pcout: Value,
    *, d: Value | None = None, keeps_sum: bool = True,
) -> Instance:  # fmt: skip
    """``p = a * b + before``, or ``(a + d) * b + before``, three cycles later. Factors, product and sum have a register each.
    Without ``keeps_sum`` the sum has no register and comes two cycles later. All factors are signed; ``a`` and ``d`` have 27
    bits at most, ``b`` 18."""
    inmode = Const(0 if d is None else _ADDED_D, 5)
    registers = {
        "AREG": int(d is None), "ACASCREG": int(d is None), "ADREG": int(d is not None), "DREG": 0, "BREG": 1, "BCASCREG": 1,
        "MREG": 1, "PREG": int(keeps_sum), "INMODEREG": 0,
    }  # fmt: skip
    moves = {"CEB2": enables.factors, "CEM": enables.product, "CEA2" if d is None else "CEAD": enables.factors}
    return _instance(
        registers | {"AMULTSEL": "A" if d is None else "AD"},
        moves | ({"CEP": enables.total} if keeps_sum else {}),
        {"A": extended(a, 30), "B": extended(b, 18), "D": Const(0, 27) if d is None else extended(d, 27)},
        before, inmode, p, pcout, "sync",
    )  # fmt: skip


@dataclass(frozen=True)
class Halves:
    """Tells which half of a slower cycle this cycle is. Both are registers, each the opposite of the other."""

    first: Value
    second: Value


def dsp48e2_in_turns(
    held: Value, first: Value, second: Value, before: Sum, halves: Halves, p: Value, pcout: Value,
    *, wide_turns: bool, late: bool, domain: str,
) -> Instance:  # fmt: skip
    """``p = held * first + before`` and then ``p = held * second + before``. They come four and five cycles after a first half
    in which all three factors are shown, as in the second half. With ``late`` each comes a cycle later. With ``wide_turns``
    ``first`` and ``second`` have 27 bits at most and ``held`` 18, otherwise it is the other way round. All are signed.

    The adder before the multiplier adds nothing: it lets one of its operands through. The inputs, this adder, the product and
    the sum have a register each. ``late`` inputs are taken at the end of the second half, and kept.
    """
    takes = halves.second if late else Const(1, 1)
    always = Const(1, 1)
    ways: dict[str, int | str]
    if wide_turns:
        ways = {"AMULTSEL": "AD", "PREADDINSEL": "A", "BMULTSEL": "B", "AREG": 1, "ACASCREG": 1, "BREG": 2, "BCASCREG": 2}
        moves = {"CEA2": takes, "CEB1": takes, "CEB2": always}
    else:
        ways = {"AMULTSEL": "A", "PREADDINSEL": "B", "BMULTSEL": "AD", "AREG": 2, "ACASCREG": 2, "BREG": 1, "BCASCREG": 1}
        moves = {"CEA1": takes, "CEA2": always, "CEB2": takes}
    a, b = (first, held) if wide_turns else (held, first)
    # The register of INMODE shows this a cycle later. It selects D instead of A or B.
    turn = halves.first if late else halves.second
    return _instance(
        ways | {"DREG": 1, "ADREG": 1, "MREG": 1, "PREG": 1, "INMODEREG": 1},
        {"CED": takes, "CEAD": always, "CEM": always, "CEP": always, "CEINMODE": always} | moves,
        {"A": extended(a, 30), "B": extended(b, 18), "D": extended(second, 27)},
        before, Cat(Const(0, 1), turn, turn, Const(0, 2)), p, pcout, domain,
    )  # fmt: skip


def dsp48e2_running(
    factor: Value, first: Value, second: Value, before: Sum, halves: Halves, enable: Value, p: Value, *, domain: str
) -> Instance:  # fmt: skip
    """``p = factor * first + before``, four cycles after a first half in which ``first`` is shown, as in the second half. A
    cycle later ``p = factor * second + before``. ``factor`` belongs to ``first`` a cycle after that half, then to ``second``.
    What ``before`` asks for is shown two cycles before its sum. Without ``enable``, which holds for a whole slower cycle, all
    registers stand still."""
    moving = ("CEA2", "CEB2", "CED", "CEAD", "CEM", "CEP", "CEC", "CECTRL")
    turn = halves.second
    return _instance(
        {
            "AMULTSEL": "AD", "PREADDINSEL": "A", "BMULTSEL": "B", "AREG": 1, "ACASCREG": 1, "BREG": 1, "BCASCREG": 1,
            "DREG": 1, "ADREG": 1, "MREG": 1, "PREG": 1, "INMODEREG": 1,
        },
        dict.fromkeys(moving, enable) | {"CEINMODE": Const(1, 1)},
        {"A": extended(first, 30), "B": extended(factor, 18), "D": extended(second, 27)},
        before, Cat(Const(0, 1), turn, turn, Const(0, 2)), p, Signal(P_BITS, name="unused"), domain,
    )  # fmt: skip


def dsp48e2_sum(
    plain: Value, other: Value, enable: Value, p: Value, *, takes: Value, keeps: bool = False, carry: bool = False
) -> Instance:
    """``p = plain + other`` a cycle later, plus one if there is a ``carry``. ``other`` is added where the sum ``takes`` it;
    elsewhere ``p`` itself is added if it ``keeps`` that, or nothing. There is no product, and only the sum has a register."""
    no_registers = ("AREG", "ACASCREG", "BREG", "BCASCREG", "ADREG", "DREG", "MREG", "INMODEREG")
    mode = Cat(Const(_A_AND_B, 4), takes, Const(1, 1) if keeps else takes, Const(0, 3))
    joined = extended(plain, P_BITS)
    return _instance(
        {**dict.fromkeys(no_registers, 0), "PREG": 1, "AMULTSEL": "A", "USE_MULT": "NONE"},
        {"CEP": enable, "CARRYIN": Const(int(carry), 1)},
        {"A": joined[18:], "B": joined[:18], "D": Const(0, 27), "C": extended(other, P_BITS), "OPMODE": mode},
        Sum(), Const(0, 5), p, Signal(P_BITS, name="unused"), "sync",
    )  # fmt: skip


def _instance(
    parameters: Mapping[str, int | str], moves: dict[str, Value], factors: dict[str, Value], before: Sum, inmode: Value,
    p: Value, pcout: Value, domain: str,
) -> Instance:  # fmt: skip
    """An instance. ``moves`` has the inputs of one bit that are not 0, ``factors`` those of more bits."""
    registers: dict[str, int | str] = {
        "USE_MULT": "MULTIPLY", **dict.fromkeys(_UNUSED_REGISTERS, 0), **before.registers(), **parameters,
    }  # fmt: skip
    shown = {
        "C": Const(before.constant, P_BITS) if before.shown is None else before.shown,
        "PCIN": Const(0, P_BITS) if before.neighbour is None else before.neighbour,
        "OPMODE": before.mode(),
    }
    inputs = dict.fromkeys(_STILL, Const(0, 1)) | shown | before.moves() | moves | factors
    return Instance(
        "DSP48E2",
        **{f"p_{name}": value for name, value in registers.items()},
        **{f"i_{name}": value for name, value in inputs.items()},
        i_CLK=ClockSignal(domain),
        i_ALUMODE=Const(0, 4),
        i_INMODE=inmode,
        i_CARRYINSEL=Const(0, 3),
        o_P=p,
        o_PCOUT=pcout,
    )
