"""One AXI4-Lite bus for the registers of several machines."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.axi.signature import LITE_ADDRESS_BITS, AxiLite
from hw.control.lite import LiteEndpoint


class RegisterWindows(wiring.Component):
    """Hands each access on ``bus`` to one of ``count`` machines, whose registers lie 4 KB apart. It answers SLVERR beyond the
    last machine.

    The paths to the machines and back are combinational, so an access takes as long as with a single machine. Reads and writes
    go separately, one of each at a time: the next stalls until the response has been taken. ``bus`` sees AW and W taken
    together, as ``LiteEndpoint`` takes them.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__({
            "bus": Out(AxiLite(address_bits(count))),
            **{f"core{number}": In(AxiLite()) for number in range(count)},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ends = [getattr(self, f"core{number}") for number in range(self.count)]
        if self.count & (self.count - 1):
            m.submodules.nobody = nobody = LiteEndpoint()
            ends.append(nobody.bus)
        self._writes(m, ends)
        self._reads(m, ends)
        return m

    def _writes(self, m: Module, ends: list[Any]) -> None:
        bus = self.bus
        asked = Signal(name="write_asked")
        owed = Signal(name="write_owed")
        """A response is on its way or waits to be taken."""
        to, since = self._window(m, bus.awaddr, "write")
        m.d.comb += asked.eq(bus.awvalid & bus.wvalid & ~owed)
        with m.If(asked & bus.awready):
            m.d.sync += [owed.eq(1), since.eq(to)]
        with m.Elif(bus.bvalid & bus.bready):
            m.d.sync += owed.eq(0)
        for number, end in enumerate(ends):
            m.d.comb += [
                end.awaddr.eq(bus.awaddr),
                end.awprot.eq(bus.awprot),
                end.awvalid.eq(asked & (to == number)),
                end.wdata.eq(bus.wdata),
                end.wstrb.eq(bus.wstrb),
                end.wvalid.eq(asked & (to == number)),
                end.bready.eq(bus.bready & (since == number)),
            ]
            with m.If(to == number):
                m.d.comb += [bus.awready.eq(end.awready & asked), bus.wready.eq(end.wready & asked)]
            with m.If(since == number):
                m.d.comb += [bus.bvalid.eq(end.bvalid), bus.bresp.eq(end.bresp)]

    def _reads(self, m: Module, ends: list[Any]) -> None:
        bus = self.bus
        asked = Signal(name="read_asked")
        owed = Signal(name="read_owed")
        to, since = self._window(m, bus.araddr, "read")
        m.d.comb += asked.eq(bus.arvalid & ~owed)
        with m.If(asked & bus.arready):
            m.d.sync += [owed.eq(1), since.eq(to)]
        with m.Elif(bus.rvalid & bus.rready):
            m.d.sync += owed.eq(0)
        for number, end in enumerate(ends):
            m.d.comb += [
                end.araddr.eq(bus.araddr),
                end.arprot.eq(bus.arprot),
                end.arvalid.eq(asked & (to == number)),
                end.rready.eq(bus.rready & (since == number)),
            ]
            with m.If(to == number):
                m.d.comb += bus.arready.eq(end.arready & asked)
            with m.If(since == number):
                m.d.comb += [bus.rvalid.eq(end.rvalid), bus.rdata.eq(end.rdata), bus.rresp.eq(end.rresp)]

    def _window(self, m: Module, address: Any, name: str) -> tuple[Signal, Signal]:
        """The number of the machine that an address belongs to, and a register for it. Beyond the last machine it is the number
        of the part that answers there."""
        asked = address[LITE_ADDRESS_BITS:]
        to = Signal(range(self.count + 1), name=f"{name}_to")
        since = Signal.like(to, name=f"{name}_since")
        m.d.comb += to.eq(Mux(asked < self.count, asked, self.count))
        return to, since


def address_bits(count: int) -> int:
    """The address bits of the bus in front of ``count`` machines."""
    return LITE_ADDRESS_BITS + (count - 1).bit_length()
