"""The first fault wins: a register that takes the first of several reports and keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import ValueLike

from hw.interfaces import FAULT_LAYOUT


def latch_fault(m: Module, fault: Any, causes: Sequence[tuple[Value, ValueLike, Value]], *, halt: Value | None = None) -> None:
    """What a unit or a part reports: ``fault`` (``FaultSignature``) keeps the first of its ``causes``, each a condition, a code
    and a ticket; of several in one cycle the one that stands first. What comes during ``halt`` is not kept.

    Latency one cycle, no stalls. The last cause is what ``fault`` says whether it comes or not, while ``valid`` is low: the
    deepest condition stands there. All causes of a fault stand in one call.
    """
    reports: list[tuple[Value, Value]] = []
    for number, (condition, code, ticket) in enumerate(causes):
        told = Signal(FAULT_LAYOUT, name=f"cause_{number}")
        m.d.comb += [told.code.eq(code), told.ticket.eq(ticket)]
        reports.append((condition, told.as_value()))
    found, first = first_report(reports)
    with m.If(~fault.valid if halt is None else ~(fault.valid | halt)):
        m.d.sync += [fault.valid.eq(found), fault.fault.eq(first)]


def first_report(reports: Sequence[tuple[Value, Value]]) -> tuple[Value, Value]:
    """Whether any of the conditions is high, and what is said beside the first that is (beside the last, if none is), as a
    tree: what comes late passes few multiplexers, wherever it stands. Combinational."""
    if len(reports) == 1:
        return reports[0]
    half = len(reports) // 2
    (left, one), (right, other) = first_report(reports[:half]), first_report(reports[half:])
    return left | right, Mux(left, one, other)
