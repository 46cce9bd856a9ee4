"""A register that takes the first of several fault reports and keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import ValueLike

from hw.interfaces import FAULT_LAYOUT


def latch_fault(m: Module, fault: Any, causes: Sequence[tuple[Value, ValueLike, Value]], *, halt: Value | None = None) -> None:
    """``fault`` (``FaultSignature``) takes the first of its ``causes`` that comes, and keeps it until reset.

    A cause is a condition, a code and a ticket. If several conditions are high in one cycle, the cause that stands first
    wins. Causes that come during ``halt`` are not taken. Latency one cycle; it never stalls.

    While ``valid`` is low, ``fault.fault`` holds the last cause, whether its condition is high or not. So put the condition
    with the deepest logic last. All causes of one ``fault`` stand in one call.
    """
    reports: list[tuple[Value, Value]] = []
    for number, (condition, code, ticket) in enumerate(causes):
        report = Signal(FAULT_LAYOUT, name=f"cause_{number}")
        m.d.comb += [report.code.eq(code), report.ticket.eq(ticket)]
        reports.append((condition, report.as_value()))
    found, first = first_report(reports)
    with m.If(~fault.valid if halt is None else ~(fault.valid | halt)):
        m.d.sync += [fault.valid.eq(found), fault.fault.eq(first)]


def first_report(reports: Sequence[tuple[Value, Value]]) -> tuple[Value, Value]:
    """Whether any condition is high, and the report of the first one that is; the last report if none is.

    Combinational, as a tree: each condition passes only few multiplexers.
    """
    if len(reports) == 1:
        return reports[0]
    half = len(reports) // 2
    (left, one), (right, other) = first_report(reports[:half]), first_report(reports[half:])
    return left | right, Mux(left, one, other)
