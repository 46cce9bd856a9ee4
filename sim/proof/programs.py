"""Proofs that a program's words reach their units in order, and that tokens are taken before an instruction and given after
it."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Signal
from amaranth.lib.data import View

from hw.control.dispatch import Dispatch
from hw.control.legality import rules_hold, values_legal
from hw.control.receiver import Receiver
from hw.control.units import HEADER_LAYOUT
from isa.capabilities import built_units
from isa.config import MachineConfig
from isa.depths import IN_FLIGHT
from isa.instructions import BY_NAME, Unit
from sim.proof.engine import Proof
from sim.proof.fault import Fault
from sim.proof.harness import Checks, Inside
from sim.proof.streams import short_queue_holds

IDLE, HEADER, BODY = range(3)
COLLECT, CHECK, WAIT, OFFER = range(4)


def words_reach_their_units(checks: Checks, part: Any, inside: Inside) -> None:
    """Each word taken is the next of the program. It goes into the queue of its instruction, behind that instruction's pc."""
    m = checks.m
    words = inside.part("words")
    now, spare = words.view("o__payload"), words.view("spare")
    there, ready = words.signal("o__valid"), inside.signal("o__ready")
    state, index, header = (inside.signal(name) for name in ("fsm_state", "index", "header"))
    fields = inside.view("header")
    taken, kept = Signal(32), Signal(32)
    send, free, fails = inside.signal("send"), inside.signal("free"), inside.signal("body_code") != 0
    begins = part.start & (state == IDLE)
    with m.If(begins):
        m.d.sync += taken.eq(0)
    with m.Elif(part.moved):
        m.d.sync += taken.eq(taken + 1)
    word = now.word
    with m.If((state == HEADER) & there):
        m.d.sync += kept.eq(word)
    checks.holds(state <= BODY)
    checks.holds(part.moved == (there & ready))
    checks.if_then(~words.signal("free"), there)
    checks.if_then(state == HEADER, part.pc == taken)
    checks.if_then(state == BODY, ((part.pc + index)[:32] == taken) & (index < fields.length) & (header == kept))
    left = inside.signal("left")
    checks.if_then(state == BODY, (left == fields.length - index) & (inside.signal("last") == (left == 1)))
    waiting, payload = inside.signal("waiting"), inside.signal("payload")
    for known, held in ((now, there), (spare, ~words.signal("free"))):
        looked = View(HEADER_LAYOUT, known.word)
        whole = Cat((looked.opcode == row.opcode) & (looked.length == row.length) for row in part._known).any()
        checks.if_then(held & ~known.unknown & ~known.illegal, whole)
    checks.if_then(checks.past(~free), (waiting == checks.past(waiting)) & (payload == checks.past(payload)))
    checks.if_then(checks.past(free & ~send), ~waiting.any())
    loads = send & free
    for number, (queue, unit) in enumerate(zip(part.queues, part._units, strict=True)):
        mine = [row.opcode for row in part._known if row.unit is unit]
        opcode = (state == BODY).replicate(4) & fields.opcode | (state == HEADER).replicate(4) & word[: len(fields.opcode)]
        goes = Cat(opcode == value for value in mine).any()
        for known, held in ((now, there), (spare, ~words.signal("free"))):
            of_word = Cat(known.word[: len(fields.opcode)] == value for value in mine).any()
            checks.if_then(held, known.to[number] == of_word)
        checks.if_then(state == BODY, inside.signal("kept_to")[number] == Cat(fields.opcode == value for value in mine).any())
        checks.holds((queue.valid == waiting[number]) & (queue.payload == payload))
        checks.if_then(checks.past(loads), waiting[number] == checks.past(goes))
        checks.holds(part.begun[number] == checks.past(loads & goes & (state == HEADER)))
        checks.if_then(waiting[number] & ~queue.ready, ~free)
    checks.if_then(checks.past(loads & (state == HEADER)), payload == checks.past(taken))
    checks.if_then(checks.past(loads & (state == BODY)), payload == checks.past(word))
    checks.if_then(send, (state == HEADER) | (state == BODY) & there)
    checks.if_then(part.moved, (state == BODY) & free & (send | fails))
    checks.if_then(send & (state == BODY) & free, part.moved & ~fails)
    checks.if_then(part.ended, state == IDLE)
    checks.if_then(part.halt, ~part.moved & ~send)
    checks.if_then(checks.past(part.fault), part.fault)
    ends = part.moved & ~fails & (index + 1 == fields.length) & (fields.opcode == BY_NAME["END"].opcode)
    checks.holds(part.ended == ((checks.past(part.ended) & ~checks.past(begins)) | checks.past(ends)))


def tokens_frame_instructions(checks: Checks, part: Any, inside: Inside) -> None:
    """All tokens of an instruction are taken once, when all are there, before the unit gets it. Those that it gives are given
    once, when it is done and there is room, oldest first."""
    state, giver = inside.signal("fsm_state"), inside.part("giver")
    offered, taken = state >= WAIT, state == OFFER
    header = inside.part("collector").view("header")
    built = sum(1 << unit for unit in built_units(part.config))
    wait, signal = header.wait & built, header.signal & built
    legal = inside.part("offer").signal("legal")
    unpaid, flight = giver.signal("unpaid"), giver.part("in_flight")
    accepted = part.instruction.valid & part.instruction.ready
    pays = part.trace.finish
    level = flight.part("count").signal("level")
    item = short_queue_holds(checks, flight, IN_FLIGHT, accepted, signal, pays)
    checks.given(~part.done | (unpaid < level))
    owns = Signal()
    with checks.m.If(part.take.any()):
        checks.m.d.sync += owns.eq(1)
    with checks.m.If(accepted):
        checks.m.d.sync += owns.eq(0)
    checks.if_then(part.words.ready, state == COLLECT)
    checks.if_then(checks.past(state == CHECK), taken == (wait == 0))
    checks.if_then(part.take.any(), (part.take == wait) & ((wait & ~part.available) == 0) & offered & legal & ~owns)
    checks.if_then(accepted, offered & legal & ((wait == 0) | owns | part.take.any()))
    checks.if_then(offered & legal & (wait != 0), taken == owns)
    checks.if_then(owns, offered & legal & taken)
    checks.if_then(part.give.any(), pays & ((part.give & part.full) == 0))
    checks.if_then(pays & item.due, part.give == item.value)
    checks.if_then(pays, level != 0)
    checks.holds(unpaid <= level)
    checks.if_then(part.illegal, ~part.instruction.valid & ~part.take.any())
    checks.if_then(part.halt, ~part.instruction.valid & ~part.take.any())


def _receiver(config: MachineConfig) -> Any:
    return Receiver(Unit.SAVE, config)


DISPATCH, RECEIVER = "hw.control.dispatch", "hw.control.receiver"
PROOFS = (
    Proof(
        "dispatch-order", DISPATCH, "every word, once, in program order, to the queue of its instruction, behind its place; "
        "none after END, a fault or halt", Dispatch, words_reach_their_units,
        (
            Fault(DISPATCH, "self.pc.eq(self.pc + header.length)", "self.pc.eq(self.pc + index)"),
            Fault(DISPATCH, "fail(body_code)\n", "fail(body_code)\n                        m.d.comb += send.eq(1)\n"),
            Fault(DISPATCH, "to.eq(kept_to)", "to.eq(now.to)"),
            Fault(DISPATCH, "words.o.ready.eq(free & ~self.halt)", "words.o.ready.eq(~self.halt)"),
        ),
    ),
    Proof(
        "receiver-tokens", RECEIVER, "an instruction's tokens are taken once, all together, before its unit gets it, and those "
        "it gives are given once, when it is done, oldest first; whatever its rules are", _receiver, tokens_frame_instructions,
        (
            Fault(RECEIVER, "takes.eq(held & legal & ~offers & have & ~self.halt)",
                  "takes.eq(held & legal & have & ~self.halt)"),
            Fault("hw.control.giver", "(self.done | self.owes) & ~no_room.any()", "self.done | self.owes"),
            Fault(RECEIVER, "held & legal & (offers | have) & giver.room & ~self.halt",
                  "held & legal & giver.room & ~self.halt"),
        ),
        free=(values_legal, rules_hold),
    ),
)  # fmt: skip
