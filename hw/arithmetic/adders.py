"""Sums in registers. Carry chains of LUTs make them, or the adders of DSPs that a chip has to spare."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, Value, signed

from hw.arithmetic.cascade import Dsp48Cascades, cascades_of
from hw.arithmetic.dsp48e2 import P_BITS, dsp48e2_sum
from hw.arithmetic.sums import chosen_sum, extended
from isa.config import MachineConfig


class Adders:
    """Adders in plain RTL. With ``prefers_dsps`` an attribute of the register asks synthesis for DSPs."""

    def __init__(self, *, prefers_dsps: bool = False) -> None:
        self._attributes = {"use_dsp": "yes"} if prefers_dsps else {}

    def sum(self, m: Module, plain: Value, other: Value, taken: Value, enable: Value, name: str) -> Value:
        """``plain + other`` a cycle later, or ``plain`` alone unless ``other`` is ``taken``. The sum has as many bits as
        ``plain``."""
        total = self._register(len(plain), name)
        with m.If(enable):
            m.d.sync += total.eq(chosen_sum(plain, other & taken.replicate(len(other))))
        return total

    def running(self, m: Module, added: Value, entry: Value, first: Value, one_more: bool, enable: Value, name: str) -> Value:
        """The sum of all that was ``added`` since the ``first``, plus the ``entry`` that came with the first. With ``one_more``
        each addition adds one more."""
        total = self._register(len(entry), name)
        with m.If(enable):
            m.d.sync += total.eq(chosen_sum(extended(added, len(entry)), Mux(first, entry, total), int(one_more)))
        return total

    def _register(self, bits: int, name: str) -> Signal:
        return Signal(signed(bits), name=name, reset_less=True, attrs=self._attributes)


class Dsp48Adders(Adders):
    """The same adders as instances of DSP48E2."""

    def sum(self, m: Module, plain: Value, other: Value, taken: Value, enable: Value, name: str) -> Value:
        total = Signal(P_BITS, name=name)
        m.submodules[f"dsp_{name}"] = dsp48e2_sum(plain, other, enable, total, takes=taken)
        return total[: len(plain)].as_signed()

    def running(self, m: Module, added: Value, entry: Value, first: Value, one_more: bool, enable: Value, name: str) -> Value:
        total = Signal(P_BITS, name=name)
        m.submodules[f"dsp_{name}"] = dsp48e2_sum(added, entry, enable, total, takes=first, keeps=True, carry=one_more)
        return total[: len(entry)].as_signed()


def adders_of(platform: Any, config: MachineConfig) -> Adders:
    """The kind of adders that configuration and platform have chosen."""
    if config.dsp_adders and isinstance(cascades_of(platform), Dsp48Cascades):
        return Dsp48Adders()
    return Adders(prefers_dsps=config.dsp_adders)
