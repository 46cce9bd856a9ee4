"""Proofs about bursts: the engines ask for legal ones, count what is on its way, and mark W's last beat."""

from __future__ import annotations

from typing import Any

from amaranth import Mux, Signal

from hw.axi.burst import RUN_BYTES_BITS, BurstSplitter
from hw.axi.read_engine import ReadEngine
from hw.axi.write_engine import AHEAD_BURSTS, NO_TAG, OPEN_BURSTS, WriteEngine
from hw.control.fetch import Fetch
from isa.config import MachineConfig
from isa.depths import owed_beats
from sim.proof.engine import Proof
from sim.proof.fault import Fault
from sim.proof.harness import Checks, Inside
from sim.proof.streams import queue_holds, room_is_known

BORDER = 4096
"""The bytes of the border that no burst of AXI4 crosses."""


class Run:
    """The rest of a run in plain arithmetic: ``bytes`` from ``addr`` on."""

    def __init__(self, config: MachineConfig) -> None:
        self.valid = Signal()
        self.addr = Signal(config.axi_addr_bits)
        self.bytes = Signal(RUN_BYTES_BITS)
        self.last = Signal()


def runs_become_bursts(checks: Checks, part: Any, inside: Inside) -> None:
    """The bursts of a run cover its bytes, each once, in order, and nothing else."""
    m, config, o = checks.m, part.config, part.o.payload
    beat_bytes, most = config.axi_bytes, config.burst_beats
    checks.holds(int(beat_bytes * most <= BORDER))
    counted, run = Run(config), Run(config)
    checks.given(~part.i.valid | (part.i.payload.bytes != 0))
    end, take, covered = Signal(), Signal(), Signal(RUN_BYTES_BITS + 1)
    m.d.comb += [
        end.eq(covered == run.bytes),
        take.eq(~run.valid | (part.o.ready & end)),
        covered.eq(o.beats * beat_bytes - o.first - (beat_bytes - 1 - o.final)),
    ]
    with m.If(~counted.valid | take):
        m.d.sync += [
            counted.valid.eq(part.i.valid), counted.addr.eq(part.i.payload.addr), counted.bytes.eq(part.i.payload.bytes),
            counted.last.eq(part.i.payload.last),
        ]  # fmt: skip
    fresh = Signal()
    with m.If(take):
        m.d.sync += [run.valid.eq(counted.valid), run.addr.eq(counted.addr), run.bytes.eq(counted.bytes)]
        m.d.sync += [run.last.eq(counted.last), fresh.eq(1)]
    with m.Elif(part.o.ready):
        m.d.sync += [run.addr.eq(run.addr + covered), run.bytes.eq(run.bytes - covered), fresh.eq(0)]
    checks.holds(part.o.valid == run.valid)
    checks.if_then(part.o.valid, (o.addr + o.first)[: config.axi_addr_bits] == run.addr)
    checks.if_then(part.o.valid, covered <= run.bytes)
    checks.if_then(part.o.valid, (o.end == end) & (o.last == (end & run.last)))
    _legal(checks, part.o.valid, o.addr, o.beats, config)
    _splitter_holds(checks, inside, counted, run, fresh, config)


def _legal(checks: Checks, valid: Any, addr: Any, beats: Any, config: MachineConfig) -> None:
    """A burst has whole beats, at least one, none beyond a multiple of the longest burst, which divides 4096 bytes."""
    window = config.burst_beats * config.axi_bytes
    checks.if_then(valid, (addr % config.axi_bytes == 0) & (beats != 0))
    checks.if_then(valid, addr % window + beats * config.axi_bytes <= window)


def _splitter_holds(checks: Checks, inside: Inside, counted: Run, run: Run, fresh: Any, config: MachineConfig) -> None:
    beat_bytes = config.axi_bytes
    window = config.burst_beats * beat_bytes
    for name, plain in (("counted", counted), ("run", run)):
        held = inside.view(name)
        lane = plain.addr % beat_bytes
        end = plain.bytes + plain.addr % window - 1
        checks.holds(inside.signal(f"{name}_valid") == plain.valid)
        checks.if_then(plain.valid, plain.bytes != 0)
        checks.if_then(plain.valid, (held.beat == plain.addr // beat_bytes) & (held.bursts == end // window + 1))
        checks.if_then(plain.valid, (held.final_beat == end % window // beat_bytes) & (held.final == end % beat_bytes))
        checks.if_then(plain.valid, held.last == plain.last)
        first = held.first == lane
        checks.if_then(plain.valid, first if plain is counted else Mux(fresh, first, lane == 0))
    checks.holds(~run.valid | (inside.signal("first_burst") == fresh))
    _more_holds(checks, inside, config)


def _more_holds(checks: Checks, splitter: Inside, config: MachineConfig) -> None:
    run, end, valid = splitter.view("run"), splitter.signal("end"), splitter.signal("run_valid")
    final = Mux(end, run.final_beat, config.burst_beats - 1)
    checks.if_then(valid, end == (run.bursts == 1))
    checks.if_then(valid, splitter.signal("more") + run.beat[: len(run.final_beat)] == final)
    checks.holds(splitter.signal("both") == (splitter.signal("counted_valid") & valid))


def reads_are_counted(checks: Checks, part: Any, inside: Inside) -> None:
    """Bursts are legal, and the beats on the way never exceed the bound. ``idle`` means that there are none. Nothing is asked
    for under ``halt``."""
    config, ar, r = part.config, part.axi.ar, part.axi.r
    coming = Signal(16)
    ask, arrive = ar.valid & ar.ready, r.valid & r.ready
    beats = ar.payload.len + 1
    checks.m.d.sync += coming.eq(coming + Mux(ask, beats, 0) - arrive)
    checks.given(~r.valid | (coming != 0))
    checks.given(~part.runs.valid | (part.runs.payload.bytes != 0))
    _legal(checks, ar.valid, ar.payload.addr, beats, config)
    checks.holds(inside.part("coming").signal("out") == coming)
    checks.holds(coming < owed_beats(config) + config.burst_beats)
    checks.holds(part.idle == (coming == 0))
    checks.if_then(part.halt, ~ar.valid & r.ready & ~part.beats.valid)
    checks.if_then(part.beats.valid & part.beats.ready, arrive)
    checks.if_then(arrive & ~part.halt, part.beats.valid & part.beats.ready)
    _has_beats(checks, inside, config)


def _has_beats(checks: Checks, inside: Inside, config: MachineConfig) -> None:
    splitter = inside.part("splitter")
    for name in ("counted", "run"):
        valid, held = splitter.signal(f"{name}_valid"), splitter.view(name)
        within = held.beat[: len(held.final_beat)]
        checks.if_then(valid, (held.bursts > 1) | ((held.bursts == 1) & (held.final_beat >= within)))
    _more_holds(checks, splitter, config)


def writes_are_counted(checks: Checks, part: Any, inside: Inside) -> None:
    """WLAST marks the last beat of each burst, in the order of the addresses. Every burst's response is awaited and taken."""
    m, config = checks.m, part.config
    aw, w, b = part.axi.aw, part.axi.w, part.axi.b
    issue, send, answer = aw.valid & aw.ready, w.valid & w.ready, b.valid & b.ready
    owed = Signal(16)
    m.d.sync += owed.eq(owed + issue - answer)
    checks.given(~part.runs.valid | (part.runs.payload.bytes != 0))
    checks.given(~b.valid | (owed != 0))
    _legal(checks, aw.valid, aw.payload.addr, aw.payload.len + 1, config)
    _has_beats(checks, inside, config)
    lengths, responses = inside.part("lengths"), inside.part("responses")
    more = aw.payload.len
    leaves = send & w.payload.last
    burst = queue_holds(checks, lengths, AHEAD_BURSTS - 1, issue, more[: len(lengths.signal("r_data"))], leaves)
    number = inside.signal("number")
    checks.if_then(~lengths.signal("r_rdy"), number == 0)
    checks.if_then(burst.due & lengths.signal("r_rdy"), number <= burst.value)
    checks.if_then(burst.due & w.valid, w.payload.last == (number == burst.value))
    checks.if_then(checks.past(leaves), number == 0)
    checks.if_then(w.valid, lengths.signal("r_rdy"))
    checks.holds(inside.part("open_bursts").signal("out") == owed)
    for fifo, depth in ((lengths, AHEAD_BURSTS), (responses, OPEN_BURSTS)):
        room_is_known(checks, fifo, depth - 1)
    held = responses.signal("inner_level") + responses.signal("r_rdy")
    checks.holds(held == owed)
    checks.holds(owed <= OPEN_BURSTS)
    checks.holds(part.idle == (owed == 0))
    checks.if_then(checks.past((owed != 0) & ~answer), b.ready)
    checks.if_then(part.halt, ~aw.valid & (w.payload.strb == 0))


def fetch_has_room(checks: Checks, part: Any, inside: Inside) -> None:
    """Bursts are legal, and steady until taken. Data never waits for room. ``idle`` means that nothing is on the way."""
    config, ar, r = part.config, part.bus.ar, part.bus.r
    queue = inside.part("queue")
    coming, beats = Signal(16), ar.payload.len + 1
    arrive = r.valid & r.ready
    checks.m.d.sync += coming.eq(coming + Mux(ar.valid & ar.ready, beats, 0) - arrive)
    checks.given(~r.valid | (coming != 0))
    checks.given(~part.start | (~ar.valid & (inside.signal("left") == 0)))
    checks.steady(ar.valid, ar.ready, ar.payload.as_value())
    window = part.burst * config.axi_bytes
    left, room = inside.signal("left"), part.burst - inside.signal("beat_addr") % part.burst
    started, issued = checks.past(part.start), checks.past(inside.signal("issue"))
    checks.holds(started | issued | (inside.signal("size") == Mux(left < room, left, room)))
    checks.if_then(started, inside.signal("size") == 0)
    checks.holds(inside.signal("asks") == (inside.signal("size") != 0))
    checks.if_then(issued, ar.valid)
    checks.if_then(ar.valid, (ar.payload.addr % config.axi_bytes == 0) & (beats <= part.burst))
    checks.if_then(ar.valid, ar.payload.addr % window + beats * config.axi_bytes <= window)
    level, word = queue.signal("inner_level"), queue.signal("r_rdy")
    room_is_known(checks, queue, 2 * part.burst - 1)
    taken, outstanding = (inside.part(name).signal("out") for name in ("taken", "outstanding"))
    checks.holds(taken == outstanding + level + word)
    checks.holds(outstanding == coming + Mux(ar.valid, beats, 0))
    checks.holds(taken <= 2 * part.burst)
    checks.if_then(~word, level <= 1)
    checks.holds(part.idle == (outstanding == 0))
    checks.if_then(r.valid, r.ready)


BURST, READ, WRITE, FETCH = "hw.axi.burst", "hw.axi.read_engine", "hw.axi.write_engine", "hw.control.fetch"
PROOFS = (
    Proof(
        "bursts", BURST, "a run's bursts cover its bytes once, in order; none crosses 4 KiB; end and last with the last",
        lambda config: BurstSplitter(config, NO_TAG), runs_become_bursts,
        (
            Fault(BURST, "end.eq(run.bursts == 2)", "end.eq(run.bursts == 1)"),
            Fault(BURST, "counted.beat[:most_bits]", "counted.beat[: most_bits - 1]"),
            Fault(BURST, "self.o.payload.first.eq(Mux(first_burst, run.first, 0))", "self.o.payload.first.eq(run.first)"),
        ),
    ),
    Proof(
        "read-engine", READ, "legal bursts; beats on the way counted, bounded; idle when there are none; nothing asked in halt",
        lambda config: ReadEngine(config, NO_TAG), reads_are_counted,
        (
            Fault(READ, "(coming.out < ahead)", "(coming.out <= ahead)"),
            Fault(READ, "coming.give.eq(arrive)", "coming.give.eq(self.axi.r.valid)"),
            Fault(READ, "self.axi.ar.payload.len.eq(burst.more)", "self.axi.ar.payload.len.eq(burst.beats)"),
        ),
    ),
    Proof(
        "write-engine", WRITE, "legal bursts; WLAST on each one's last beat; at most 64 unanswered, each B awaited and taken",
        WriteEngine, writes_are_counted,
        (
            Fault(WRITE, "number == lengths.r_data", "number + 1 == lengths.r_data"),
            Fault(WRITE, "number.eq(Mux(w.payload.last, 0, number + 1))", "number.eq(number + 1)"),
            Fault(WRITE, "lengths.w_rdy & responses.w_rdy & ~self.halt", "lengths.w_rdy & ~self.halt"),
        ),
    ),
    Proof(
        "fetch", FETCH, "legal bursts of at most 256 bytes, steady until taken; R never waits; idle when nothing is on the way",
        Fetch, fetch_has_room,
        (
            Fault(FETCH, "(taken.out <= depth - self.burst)", "(taken.out <= depth)"),
            Fault(FETCH, "(left[:few] < to_boundary), left, to_boundary", "(left[:few] < self.burst), left, self.burst"),
            Fault(FETCH, "self.idle.eq((outstanding.out == 0) & ~ar.valid)", "self.idle.eq(~ar.valid)"),
        ),
    ),
)  # fmt: skip
