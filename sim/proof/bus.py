"""Proofs about the machine's AXI4 manager port and AXI4-Lite endpoint: VALID, payload, outstanding bursts, answers."""

from __future__ import annotations

from typing import Any

from amaranth import Const, Mux, Signal
from amaranth.lib import data

from hw.axi.arbiter import ReadArbiter, tagged
from hw.axi.port import AxiPort
from hw.axi.signature import ReadId, read_data_layout
from hw.control.lite import LiteEndpoint
from sim.proof.engine import Proof
from sim.proof.fault import Fault
from sim.proof.harness import Checks, Inside


def arbiter_shares(checks: Checks, part: Any, inside: Inside) -> None:
    out = Signal(16)
    ask, beat = part.ar.valid & part.ar.ready, part.r.valid & part.r.ready
    last = beat & part.r.payload.body.last
    checks.m.d.sync += out.eq(out + ask - last)
    checks.given((out != 0) | ~part.r.valid)
    checks.holds(out <= part.config.axi_reads)
    checks.holds(out == inside.part("credits").signal("out"))
    users = [(part.fetch, ReadId.FETCH), (part.load, ReadId.LOAD)]
    asks = [user.ar.valid & user.ar.ready for user, _ in users]
    checks.holds(asks[0] + asks[1] == ask)
    for (user, number), asked in zip(users, asks, strict=True):
        same = part.ar.payload.body.as_value() == user.ar.payload.as_value()
        checks.if_then(asked, (part.ar.payload.id == number) & same)
        took = user.r.valid & user.r.ready
        checks.holds(took == (beat & (part.r.payload.id[0] == (number is ReadId.FETCH))))
        checks.if_then(took, user.r.payload.as_value() == part.r.payload.body.as_value())
    room = out != part.config.axi_reads
    checks.if_then(part.fetch.ar.valid & part.ar.ready & room, asks[0])
    checks.if_then(part.load.ar.valid & ~part.fetch.ar.valid & part.ar.ready & room, asks[1])


def port_is_steady(checks: Checks, part: Any, inside: Inside) -> None:
    axi = part.axi
    for channel, payload in (
        ("ar", ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos")),
        ("aw", ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos")),
        ("w", ("data", "strb", "last")),
    ):
        valid, ready = getattr(axi, f"{channel}valid"), getattr(axi, f"{channel}ready")
        checks.steady(valid, ready, *(getattr(axi, channel + name) for name in payload))
        checks.if_then(inside.part(channel).signal("spare_valid"), valid)
    for channel in ("r", "b"):
        register = inside.part(channel)
        valid = inside.part(channel).signal("o__valid")
        checks.if_then(register.signal("spare_valid"), valid)


def port_bounds_reads(checks: Checks, part: Any, inside: Inside) -> None:
    """The credits are the bursts that the bus has not answered, and those that lie in the port's own registers."""
    axi = part.axi
    ask, answer = axi.arvalid & axi.arready, axi.rvalid & axi.rready & axi.rlast
    out = Signal(16)
    checks.m.d.sync += out.eq(out + ask - answer)
    checks.given(~axi.rvalid | (out != 0))
    ar, r = inside.part("ar"), inside.part("r")
    held_ar = axi.arvalid + ar.signal("spare_valid")
    beat, spare = r.signal("o__payload"), r.signal("spare")
    held_r = (r.signal("o__valid") & _is_last(part, beat)) + (r.signal("spare_valid") & _is_last(part, spare))
    credits = inside.part("arbiter").part("credits").signal("out")
    checks.if_then(ar.signal("spare_valid"), axi.arvalid)
    checks.if_then(r.signal("spare_valid"), r.signal("o__valid"))
    checks.holds(credits == out + held_ar + held_r)
    checks.holds(out <= part.config.axi_reads)
    checks.holds(credits <= part.config.axi_reads)


def _is_last(part: Any, beat: Any) -> Any:
    return data.View(tagged(read_data_layout(part.config)), beat).body.last


def lite_answers(checks: Checks, part: Any, inside: Inside) -> None:
    """AW and W are taken together. Each pair is answered once, and each AR once, within six cycles if the host takes its
    answers. No answer is withdrawn or changed."""
    bus, m = part.bus, checks.m
    checks.steady(bus.awvalid, bus.awready, bus.awaddr, given=True)
    checks.steady(bus.wvalid, bus.wready, bus.wdata, bus.wstrb, given=True)
    checks.steady(bus.arvalid, bus.arready, bus.araddr, given=True)
    checks.steady(bus.bvalid, bus.bready, bus.bresp)
    checks.steady(bus.rvalid, bus.rready, bus.rdata, bus.rresp)
    wrote, read = bus.awvalid & bus.awready, bus.arvalid & bus.arready
    checks.holds(wrote == (bus.wvalid & bus.wready))
    checks.holds(part.write == wrote)
    asked, looked = inside.signal("asked"), inside.signal("looked")
    checks.holds(asked == checks.past(read))
    checks.holds((part.look == checks.past(asked)) & (looked == checks.past(part.look)) & (part.read == checks.past(looked)))
    checks.if_then(part.write, (part.write_data == bus.wdata) & (part.write_strobe == bus.wstrb))
    checks.if_then(part.write, part.write_addr == bus.awaddr & 0xFFC)
    checks.if_then(asked, part.read_addr == checks.past(bus.araddr & 0xFFC))
    checks.if_then(part.look | looked | part.read, part.read_addr == checks.past(part.read_addr))
    writes, reads = Signal(2), Signal(2)
    m.d.sync += [
        writes.eq(writes + wrote - (bus.bvalid & bus.bready)),
        reads.eq(reads + read - (bus.rvalid & bus.rready)),
    ]
    checks.holds(bus.bvalid == (writes == 1))
    checks.holds(bus.rvalid == ((reads == 1) & ~asked & ~part.look & ~looked & ~part.read))
    checks.if_then(asked | part.look | looked | part.read, reads == 1)
    checks.holds(asked + part.look + looked + part.read <= 1)
    checks.holds((writes <= 1) & (reads <= 1))
    checks.if_then(checks.past(wrote), bus.bresp == Mux(checks.past(part.write_mapped), 0, 2))
    checks.if_then(checks.past(part.read), bus.rresp == Mux(checks.past(part.read_mapped), 0, 2))
    checks.if_then(checks.past(part.read), bus.rdata == checks.past(part.read_data))
    waiting = bus.awvalid & bus.wvalid & ~bus.bvalid
    checks.if_then(checks.past(waiting & ~bus.awready), bus.awready)
    awake = inside.signal("awake")
    checks.if_then(checks.past(Const(1, 1)), awake)
    checks.if_then(awake & bus.arvalid & ~bus.rvalid & ~asked & ~part.look & ~looked & ~part.read, bus.arready)


ARBITER, PORT, LITE, SLICE = "hw.axi.arbiter", "hw.axi.port", "hw.control.lite", "hw.axi.slice"
PROOFS = (
    Proof(
        "read-arbiter", ARBITER, "each burst and each beat goes where it belongs, once; never more than axi_reads on the way; "
        "fetch first, LOAD in every other cycle", ReadArbiter, arbiter_shares,
        (
            Fault(ARBITER, "may_ask = (credits.out & most) != most", "may_ask = Signal(init=1)"),
            Fault(ARBITER, "self.load.ar.ready.eq(self.ar.ready & may_ask)", "self.load.ar.ready.eq(self.ar.ready)"),
            Fault(ARBITER, "self.load.r.valid.eq(self.r.valid & ~to_fetch)", "self.load.r.valid.eq(self.r.valid)"),
        ),
    ),
    Proof(
        "axi4-steady", PORT, "AR, AW, W: VALID stays until READY, and all that goes with it", AxiPort, port_is_steady,
        (
            Fault(PORT, "axi.awaddr.eq(aw.o.payload.addr)", "axi.awaddr.eq(aw.i.payload.addr)"),
            Fault(PORT, "axi.wvalid.eq(w.o.valid)", "axi.wvalid.eq(w.o.valid & ~w.i.valid)"),
        ),
    ),
    Proof(
        "axi4-reads", PORT, "never more than axi_reads read bursts on the bus; the count is what was asked and not answered",
        AxiPort, port_bounds_reads,
        (Fault(PORT, "axi.arvalid.eq(ar.o.valid)", "axi.arvalid.eq(ar.o.valid | ar.i.valid)"),),
    ),
    Proof(
        "axi4-lite", LITE, "AW and W taken together; each request answered once, in six cycles; no answer withdrawn or "
        "changed",
        lambda _: LiteEndpoint(), lite_answers,
        (
            Fault(LITE, "bus.awvalid & bus.wvalid & ~self.write & ~bus.bvalid", "bus.awvalid & ~self.write & ~bus.bvalid"),
            Fault(LITE, "bus.arready.eq(awake & ~bus.rvalid & ~asked & ~self.look &", "bus.arready.eq(awake &"),
            Fault(LITE, "with m.Elif(bus.bready):", "with m.Elif(bus.bready | self.read):"),
        ),
    ),
)  # fmt: skip
