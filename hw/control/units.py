"""The header of instructions, and the wires between control and the rest that belong to no unit."""

from __future__ import annotations

from amaranth import unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from isa.instructions import HEADER

HEADER_LAYOUT = data.StructLayout({f.name or "reserved": unsigned(f.bits) for f in HEADER})
"""The first word of every instruction."""


class TraceSignature(wiring.Signature):
    """The start and end of each instruction of a unit, for a bench that writes a trace. Each strobe comes with its ``pc``."""

    def __init__(self) -> None:
        super().__init__({"start": Out(1), "start_pc": Out(32), "finish": Out(1), "finish_pc": Out(32)})


class BusActivity(wiring.Signature):
    """The signals that tell control about the machine's AXI master, fetch included, seen from control.

    ``handshake``: there is a transfer on any of the five channels in this cycle. ``read_beat`` and ``write_beat``: there is one
    on R or W. ``drained``: no burst is under way or asked for, and every write has had its response.
    """

    def __init__(self) -> None:
        super().__init__({"handshake": In(1), "read_beat": In(1), "write_beat": In(1), "drained": In(1)})
