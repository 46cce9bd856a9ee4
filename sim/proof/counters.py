"""Proofs about credits, tokens, the watchdog, the first fault, and the life of a program."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Mux, Signal

from hw.axi.credits import Credits
from hw.control.faults import Faults
from hw.control.sequencer import SETTLE_CYCLES, Sequencer
from hw.control.tokens import Tokens
from hw.control.unfinished import Unfinished
from hw.control.watchdog import Watchdog
from isa.faults import TOKEN_MAX
from isa.instructions import Unit
from isa.stages import RESET
from sim.proof.engine import Proof
from sim.proof.fault import Fault
from sim.proof.harness import Checks, Inside

MOST, STEP = 10, 4
SOURCES = (5, 1, None, 3)
"""The units whose tickets the reports tell; with None the report names the unit."""


def credits_count(checks: Checks, part: Any, inside: Inside) -> None:
    given, taken = Signal(16), Signal(16)
    checks.m.d.sync += [given.eq(given + part.give), taken.eq(taken + part.take)]
    out = Signal(16)
    checks.m.d.comb += out.eq(taken - given)
    checks.given(part.take <= STEP)
    checks.given(out + part.take <= MOST)
    checks.given((out != 0) | ~part.give)
    checks.holds(part.out == out)
    checks.holds(part.out <= MOST)


def tokens_count(checks: Checks, part: Any, inside: Inside) -> None:
    for producer in Unit:
        for consumer in Unit:
            count = Signal(range(TOKEN_MAX + 2))
            give, take = part.give[producer][consumer], part.take[consumer][producer]
            available, full = part.available[consumer][producer], part.full[producer][consumer]
            checks.m.d.sync += count.eq(count + give - take)
            checks.given(~take | available)
            checks.given(~give | ~full)
            checks.holds(count == inside.signal(f"count_{producer.name}_{consumer.name}".lower()))
            checks.holds(count <= TOKEN_MAX)
            checks.holds(available == (count != 0))
            checks.holds(full == (count == TOKEN_MAX))


def unfinished_are_counted(checks: Checks, part: Any, inside: Inside) -> None:
    count = Signal(range(part.most + 2))
    checks.m.d.sync += count.eq(count + part.begun - part.finished)
    checks.given(~part.finished | (count != 0))
    checks.given(~part.begun | (count != part.most))
    late = inside.signal("finished_before")
    checks.holds((inside.signal("count") == count + late) & (count <= part.most) & (inside.signal("count") <= part.most))
    checks.if_then(part.none, count == 0)
    checks.if_then((count == 0) & ~late, part.none)


def watchdog_expires(checks: Checks, part: Any, inside: Inside) -> None:
    """The watchdog expires in the limit-th quiet cycle in a row, not before, and stays so until there is progress."""
    quiet, row = Signal(33), Signal(33)
    still = part.run & ~part.progress
    checks.given(part.limit == checks.past(part.limit))
    checks.m.d.comb += row.eq(Mux(still, quiet + 1, 0))
    checks.m.d.sync += quiet.eq(Mux(row > part.limit, quiet, row))
    checks.holds(part.expired == (still & (part.limit != 0) & (row >= part.limit)))
    due = quiet + 1 >= part.limit
    checks.if_then(part.limit != 0, inside.signal("due") == due)
    checks.if_then(part.limit == 0, ~inside.signal("due"))
    checks.if_then((part.limit != 0) & ~due, inside.signal("quiet") == quiet + 2)


def first_fault_stays(checks: Checks, part: Any, inside: Inside) -> None:
    fault = part.first.as_value()
    valid = Cat(report.valid for report in part.reports)
    checks.holds(part.valid == (checks.past(part.valid) | checks.past(valid.any())))
    checks.if_then(checks.past(part.valid), fault == checks.past(fault))
    for number, (report, unit) in enumerate(zip(part.reports, SOURCES, strict=True)):
        wins = report.valid & ~valid[:number].any() & ~part.valid
        told = report.p.unit if unit is None else unit
        checks.if_then(checks.past(wins), part.first.unit == checks.past(told))
        checks.if_then(checks.past(wins), part.first.code == checks.past(report.p.code))
        checks.if_then(checks.past(wins), part.first.ticket == checks.past(report.p.ticket))


def program_lives(checks: Checks, part: Any, inside: Inside) -> None:
    """A program begins after everything was cleared, and after a stop only when the bus was quiet for long enough."""
    m = checks.m
    owing, rest, since = Signal(), Signal(range(SETTLE_CYCLES + 1)), Signal()
    cleared = Signal(RESET + 1)
    """A bit for each of the last cycles, the last one first: whether everything was reset in it."""
    m.d.sync += cleared.eq(Cat(part.clear, cleared))
    m.d.sync += rest.eq(Mux(part.drained, Mux(rest == SETTLE_CYCLES, rest, rest + 1), 0))
    with m.If(part.running & part.fault):
        m.d.sync += [owing.eq(1), rest.eq(0)]
    with m.If(owing & (rest == SETTLE_CYCLES)):
        m.d.comb += since.eq(1)
        m.d.sync += owing.eq(0)
    state = inside.signal("fsm_state")
    checks.if_then(part.clear, ~owing | since)
    checks.if_then(part.begin, (cleared == 1 << RESET) & part.busy & part.running)
    checks.if_then(part.running, part.busy)
    checks.if_then(checks.past(part.begin), ~part.begin)
    checks.if_then(part.idle, ~part.busy)
    checks.holds(~(part.done & part.error))
    checks.if_then(part.busy, ~part.done & ~part.error)
    checks.if_then(checks.past(part.busy) & ~part.busy, part.done ^ part.error)
    checks.if_then(checks.past(part.finished), ~part.busy & checks.past(part.busy))
    ended = checks.past(part.busy) & ~part.busy & ~checks.past(part.reset)
    checks.holds(checks.past(part.finished) == ended)
    settled = inside.signal("settled")
    checks.holds(inside.signal("resting") == (state == 0))
    waited = inside.signal("waited")
    checks.holds(waited <= RESET)
    checks.if_then(state != 2, waited == 0)
    for cycles in range(1, RESET + 1):
        checks.if_then(waited == cycles, cleared[:cycles] == 1 << (cycles - 1))
    _life_invariants(checks, part, state, settled, rest, owing)


def _life_invariants(checks: Checks, part: Any, state: Any, settled: Any, rest: Any, owing: Any) -> None:
    idle, wipe, clear, run, halt, drain = range(6)
    checks.holds(state <= drain)
    checks.holds(part.busy == ((state == clear) | (state == run) | (state == halt)))
    checks.if_then(part.begin, state == run)
    checks.holds((part.running == (state == run)) & (part.halting == (state == halt)))
    checks.if_then((state == halt) | (state == drain), owing)
    checks.if_then((state == halt) | (state == drain), settled == rest)
    checks.if_then((state == run) | (state == clear), ~owing)
    checks.if_then(owing & ((state == idle) | (state == wipe)), rest == SETTLE_CYCLES)
    checks.if_then(state == drain, part.error)


CREDITS, TOKENS, WATCHDOG = "hw.axi.credits", "hw.control.tokens", "hw.control.watchdog"
UNFINISHED = "hw.control.unfinished"
FAULTS, LATCH, SEQUENCER = "hw.control.faults", "hw.fault_latch", "hw.control.sequencer"
PROOFS = (
    Proof(
        "credits", CREDITS, "out is what was taken and not given back, and never above its bound",
        lambda _: Credits(MOST, STEP), credits_count, (Fault(CREDITS, "+ self.take - self.give", "+ self.take"),),
    ),
    Proof(
        "tokens", TOKENS, "for each pair of units: available, full and the count are what was given less what was taken",
        lambda _: Tokens(), tokens_count,
        (
            Fault(TOKENS, "with m.If(give ^ take):", "with m.If(give):"),
            Fault(TOKENS, "count == TOKEN_MAX - 1", "count == TOKEN_MAX - 2"),
        )
    ),
    Proof(
        "unfinished", UNFINISHED, "none is high while as many instructions are finished as were begun, and not before",
        lambda _: Unfinished(MOST), unfinished_are_counted,
        (Fault(UNFINISHED, "with m.If(self.begun ^ finished):", "with m.If(self.begun):"),),
    ),
    Proof(
        "watchdog", WATCHDOG, "expires in the limit-th quiet cycle in a row, not before, until progress", lambda _: Watchdog(),
        watchdog_expires,
        (
            Fault(WATCHDOG, "(quiet >= self.limit)", "(quiet > self.limit)"),
            Fault(WATCHDOG, "with m.If(~self.run | self.progress):", "with m.If(~self.run):"),
        ),
    ),
    Proof(
        "first-fault", FAULTS, "the first report is kept unchanged; of one cycle the one with the lowest index",
        lambda _: Faults(list(SOURCES)), first_fault_stays,
        (
            Fault(LATCH, "Mux(left, one, other)", "Mux(right, other, one)"),
            Fault(FAULTS, "m.If(valid & ~self.valid)", "m.If(valid)"),
        ),
    ),
    Proof(
        "program-life", SEQUENCER, "begins only cleared and, after a stop, on a quiet bus; ends as done or as error, once",
        lambda _: Sequencer(), program_lives,
        (
            Fault(SEQUENCER, 'm.next = "DRAIN"', 'm.next = "IDLE"'),
            Fault(SEQUENCER, "settled == SETTLE_CYCLES - 1", "settled == SETTLE_CYCLES - 3"),
            Fault(SEQUENCER, "m.If(~self.drained | self.running)", "m.If(0)"),
            Fault(SEQUENCER, "waited == RESET", "waited == RESET - 1"),
            Fault(SEQUENCER, "self.begin.eq(0)", "self.begin.eq(self.begin)"),
        )
    ),
)  # fmt: skip
