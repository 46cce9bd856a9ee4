"""The surroundings of a part while it is proved: free inputs, and access to its inside."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from amaranth import ClockDomain, Const, Elaboratable, Module, Signal, Value
from amaranth.asserts import AnySeq
from amaranth.hdl import Assert, Assume, Fragment
from amaranth.lib import wiring
from amaranth.utils import ceil_log2

from sim.proof.fault import ProofError


class Inside:
    """The registers and wires within an elaborated part, by name."""

    def __init__(self, fragment: Any) -> None:
        self._fragment = fragment

    def part(self, name: str) -> Inside:
        """A part within this one."""
        return Inside(self._fragment.find_subfragment(name))

    def signal(self, name: str) -> Any:
        """The signal of that name that is assigned here."""
        assigned = [
            signal
            for statements in self._fragment.statements.values()
            for statement in statements
            for signal in statement._lhs_signals()
            if signal.name == name
        ]
        # ``==`` of two signals is a circuit.
        found = [signal for n, signal in enumerate(assigned) if all(signal is not other for other in assigned[:n])]
        if len(found) != 1:
            raise ProofError(f"signal {name!r}: assigned {len(found)} times in the part that is proved, expected once")
        return found[0]

    def view(self, name: str) -> SimpleNamespace:
        """The fields of the signal of that name, whose layout only its part knows."""
        fields = self.signal(name)._format._fields
        return SimpleNamespace(**{field: text._chunks[0][0] for field, text in fields.items()})

    def stored(self, name: str, address: Any) -> Any:
        """The word of memory ``name`` at an address, by a read port that exists for the proof alone."""
        memory = self._fragment.find_subfragment(name)
        index, data = Signal(ceil_log2(memory._data.depth)), Signal(len(memory._read_ports[0]._data))
        memory.read_port(domain="comb", addr=index, data=data, en=Const(1, 1), transparent_for=())
        self._fragment.add_statements("comb", index.eq(address))
        return data


class Checks:
    """Collects what is assumed of the inputs and what must hold, in every cycle."""

    def __init__(self, m: Module) -> None:
        self.m = m
        self.begun = Signal()
        m.d.sync += self.begun.eq(1)

    def past(self, value: Any, init: int = 0) -> Any:
        """The value one cycle ago (``init`` in the first cycle)."""
        value = Value.cast(value)
        before = Signal(value.shape(), init=init)
        self.m.d.sync += before.eq(value)
        return before

    def holds(self, value: Any, *, callers: int = 1) -> None:
        """Demands that ``value`` is true. ``callers``: the number of calls above this one that the failure points at."""
        self.m.d.comb += Assert(value, src_loc_at=callers)

    def given(self, value: Any) -> None:
        """Assumes that the sender or reader of the part keeps ``value`` true."""
        self.m.d.comb += Assume(value)

    def if_then(self, condition: Any, value: Any, *, callers: int = 1) -> None:
        self.holds(~Value.cast(condition).bool() | Value.cast(value).bool(), callers=callers + 1)

    def steady(self, valid: Any, ready: Any, *payload: Any, given: bool = False) -> None:
        """Demands that an offered item stays as it is until it is taken. With ``given`` this is assumed of its sender."""
        refused = self.past(valid & ~ready)
        for value in (valid, *((self.past(value) == value) for value in payload)):
            if given:
                self.given(~refused | value)
            else:
                self.if_then(refused, value, callers=2)


Properties = Callable[[Checks, Any, Inside], None]


class Harness(Elaboratable):
    """A part in its state after reset, with every input free in every cycle, and its properties."""

    def __init__(self, part: wiring.Component, properties: Properties) -> None:
        self._part = part
        self._properties = properties
        self.domain = ClockDomain("sync", reset_less=True)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.domains.sync = self.domain
        fragment = Fragment.get(self._part, None)
        m.submodules.part = _Elaborated(fragment)
        if isinstance(self._part, wiring.Component):
            for _, member, value in self._part.signature.flatten(self._part):
                if member.flow is wiring.In:
                    m.d.comb += Value.cast(value).eq(AnySeq(len(Value.cast(value))))
        self._properties(Checks(m), self._part, Inside(fragment))
        return m


class _Elaborated(Elaboratable):
    def __init__(self, fragment: Any) -> None:
        self._fragment = fragment

    def elaborate(self, platform: Any) -> Any:
        return self._fragment
