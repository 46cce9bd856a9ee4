"""The AXI4-Lite protocol of a register file."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.axi.signature import LITE_ADDRESS_BITS, LITE_DATA_BITS, AxiLite


class LiteEndpoint(wiring.Component):
    """Serves one read and one write at a time, independently, and answers SLVERR where nothing is mapped.

    A write is taken, address and data together, in the cycle after both are there. Then ``write`` strobes, and ``write_mapped``
    must answer at once. A read takes its address in one cycle, and ``read_addr`` shows it from the next cycle on. ``look``
    strobes one cycle later, and ``read`` two cycles after ``look``. ``read_data`` and ``read_mapped`` must answer ``read`` at
    once, and R follows in the next cycle. Reads and writes each wait for their response to be taken before the next one begins.
    Addresses are those of whole words: the two lowest bits count as zero. Nothing is taken while the endpoint is reset, which
    may be later than its neighbours.
    """

    def __init__(self) -> None:
        super().__init__({
            "bus": Out(AxiLite()),
            "write": Out(1),
            "write_addr": Out(LITE_ADDRESS_BITS),
            "write_data": Out(LITE_DATA_BITS),
            "write_strobe": Out(LITE_DATA_BITS // 8),
            "write_mapped": In(1),
            "look": Out(1),
            "read": Out(1),
            "read_addr": Out(LITE_ADDRESS_BITS),
            "read_data": In(LITE_DATA_BITS),
            "read_mapped": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        asked_word = Signal(LITE_ADDRESS_BITS - 2)
        asked = Signal()
        looked = Signal()
        awake = Signal()
        m.d.sync += awake.eq(1)
        m.d.comb += [
            self.write_addr.eq(Cat(Const(0, 2), bus.awaddr[2:])),
            self.write_data.eq(bus.wdata),
            self.write_strobe.eq(bus.wstrb),
            bus.awready.eq(self.write),
            bus.wready.eq(self.write),
            self.read_addr.eq(Cat(Const(0, 2), asked_word)),
            bus.arready.eq(awake & ~bus.rvalid & ~asked & ~self.look & ~looked & ~self.read),
        ]
        m.d.sync += [asked.eq(bus.arvalid & bus.arready), self.look.eq(asked), looked.eq(self.look), self.read.eq(looked)]
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += asked_word.eq(bus.araddr[2:])
        m.d.sync += self.write.eq(bus.awvalid & bus.wvalid & ~self.write & ~bus.bvalid)
        with m.If(self.write):
            m.d.sync += [bus.bvalid.eq(1), bus.bresp.eq(self._response(self.write_mapped))]
        with m.Elif(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(self.read):
            m.d.sync += [
                bus.rvalid.eq(1),
                bus.rdata.eq(self.read_data),
                bus.rresp.eq(self._response(self.read_mapped)),
            ]
        with m.Elif(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        return m

    @staticmethod
    def _response(mapped: Signal) -> object:
        """OKAY (0) or SLVERR (2)."""
        return Cat(Const(0, 1), ~mapped)
