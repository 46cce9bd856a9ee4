"""Proofs about two ports in place of one bus: what each offers stays, and there is room for all that it asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth import Mux, Signal

from hw.axi.bridge import PORTS, PortBridge
from isa.config import MachineConfig
from isa.depths import owed_beats
from sim.proof.engine import Proof
from sim.proof.fault import Fault
from sim.proof.harness import Checks, Inside
from sim.proof.streams import room_is_known


def words_have_places(checks: Checks, part: Any, inside: Inside) -> None:
    """The words owed are the half beats on the way, the half beat that waits for its other half, and the words in the queue."""
    most = part.config.burst_beats
    room = owed_beats(part.config)
    _asks_stay(checks, part, inside.part("read_order"))
    for number in range(PORTS):
        port, fifo = getattr(part, f"axi{number}"), inside.part(f"read_words{number}")
        owed, high = inside.part(f"owed{number}").signal("out"), _high(inside, number)
        coming = Signal(16)
        ask = port.arvalid & port.arready
        checks.m.d.sync += coming.eq(coming + Mux(ask, 2 * (part.bus.arlen + 1), 0) - (port.rvalid & port.rready))
        checks.given(~port.rvalid | (coming != 0))
        checks.given(part.bus.arlen < most)
        checks.if_then(ask, port.arlen == 2 * part.bus.arlen + 1)
        room_is_known(checks, fifo, room - 1)
        held = fifo.signal("inner_level") + fifo.signal("r_rdy")
        checks.if_then(~fifo.signal("r_rdy"), fifo.signal("inner_level") <= 1)
        checks.holds(2 * owed == coming + high + 2 * held)
        checks.holds(owed <= room)
        checks.holds(inside.signal(f"fits{number}") == (owed <= room - most))
        checks.holds(port.rready)
        checks.if_then(port.rvalid & high, fifo.signal("w_rdy"))


def _asks_stay(checks: Checks, part: Any, order: Inside) -> None:
    """VALID of AR and its address stay until READY."""
    bus = part.bus
    checks.steady(bus.arvalid, bus.arready, bus.araddr, bus.arlen, given=True)
    room_is_known(checks, order, max(2, part.config.axi_reads) - 1)
    for port in (part.axi0, part.axi1):
        checks.steady(port.arvalid, port.arready, port.araddr, port.arlen)


def ports_are_steady(checks: Checks, part: Any, inside: Inside) -> None:
    for number in range(PORTS):
        port, aw = getattr(part, f"axi{number}"), inside.part(f"aw{number}")
        checks.if_then(aw.signal("spare_valid"), port.awvalid)
        checks.steady(port.awvalid, port.awready, port.awaddr, port.awlen)
        checks.steady(port.wvalid, port.wready, port.wdata, port.wstrb, port.wlast)
        checks.holds(port.bready)
    checks.holds(~(part.axi0.arvalid & part.axi1.arvalid))
    checks.holds(~(part.axi0.arready & part.axi0.arvalid) | part.bus.arready)


def _high(inside: Inside, number: int) -> Any:
    return inside.signal(f"read_high{number}")


def _bridge(config: MachineConfig) -> Any:
    return PortBridge(replace(config, axi_ports=PORTS, axi_data_bits=max(64, config.axi_data_bits)))


BRIDGE = "hw.axi.bridge"
PROOFS = (
    Proof(
        "ports-room", BRIDGE, "AR stays until READY; no port asks for more than its queue has places for, so it takes all "
        "at once", _bridge, words_have_places,
        (
            Fault(BRIDGE, "count <= room - most - own)", "count <= room - most - own + 1)"),
            Fault(BRIDGE, "owed.give.eq(fifo.r_rdy & fifo.r_en)", "owed.give.eq(fifo.r_en)"),
        ),
    ),
    Proof(
        "ports-steady", BRIDGE, "AW, W: VALID stays until READY, and all that goes with it; one port asks at a time; B is "
        "taken at once", _bridge, ports_are_steady,
        (
            Fault(BRIDGE, "port.wvalid.eq(fifo.r_rdy)", "port.wvalid.eq(fifo.r_rdy & ~fifo.w_en)"),
            Fault(BRIDGE, "fifo.r_en.eq(port.wready & high)", "fifo.r_en.eq(high)"),
        ),
    ),
)  # fmt: skip
