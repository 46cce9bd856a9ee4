"""The machine's AXI4 manager port."""

from __future__ import annotations

from typing import Any

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from hw.axi.arbiter import ReadArbiter, tagged
from hw.axi.signature import (
    BURST_INCR,
    RESP_ERROR_BIT,
    RESPONSE_LAYOUT,
    WRITE_ID,
    Axi4,
    AxiRead,
    AxiWrite,
    address_layout,
    read_data_layout,
    write_data_layout,
)
from hw.axi.slice import RegisterSlice
from isa.config import MachineConfig


class AxiPort(wiring.Component):
    """Connects fetch, LOAD and SAVE to one AXI4 bus. Every channel has a register on the way: one cycle of latency, one item
    per cycle. A channel stalls while its other side is not ready.

    The registers keep VALID and its payload steady until READY, also when a user is told to halt.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "fetch": In(AxiRead(config)),
            "load": In(AxiRead(config)),
            "save": In(AxiWrite(config)),
            "axi": Out(Axi4(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        axi = self.axi
        m.submodules.arbiter = arbiter = ReadArbiter(self.config)
        m.submodules.ar = ar = RegisterSlice(tagged(address_layout(self.config)))
        m.submodules.r = r = RegisterSlice(tagged(read_data_layout(self.config)))
        m.submodules.aw = aw = RegisterSlice(address_layout(self.config))
        m.submodules.w = w = RegisterSlice(write_data_layout(self.config))
        m.submodules.b = b = RegisterSlice(RESPONSE_LAYOUT)

        connect(m, wiring.flipped(self.fetch), arbiter.fetch)
        connect(m, wiring.flipped(self.load), arbiter.load)
        connect(m, arbiter.ar, ar.i)
        connect(m, r.o, arbiter.r)
        connect(m, wiring.flipped(self.save.aw), aw.i)
        connect(m, wiring.flipped(self.save.w), w.i)
        connect(m, b.o, wiring.flipped(self.save.b))

        size = exact_log2(self.config.axi_bytes)
        for prefix in ("ar", "aw"):
            m.d.comb += [
                getattr(axi, f"{prefix}size").eq(size),
                getattr(axi, f"{prefix}burst").eq(BURST_INCR),
                getattr(axi, f"{prefix}lock").eq(0),
                getattr(axi, f"{prefix}cache").eq(self.config.axi_cache),
                getattr(axi, f"{prefix}prot").eq(self.config.axi_prot),
                getattr(axi, f"{prefix}qos").eq(self.config.axi_qos),
            ]
        m.d.comb += [
            axi.arid.eq(ar.o.payload.id),
            axi.araddr.eq(ar.o.payload.body.addr),
            axi.arlen.eq(ar.o.payload.body.len),
            axi.arvalid.eq(ar.o.valid),
            ar.o.ready.eq(axi.arready),
            r.i.payload.id.eq(axi.rid),
            r.i.payload.body.data.eq(axi.rdata),
            r.i.payload.body.error.eq(axi.rresp[RESP_ERROR_BIT]),
            r.i.payload.body.last.eq(axi.rlast),
            r.i.valid.eq(axi.rvalid),
            axi.rready.eq(r.i.ready),
            axi.awid.eq(WRITE_ID),
            axi.awaddr.eq(aw.o.payload.addr),
            axi.awlen.eq(aw.o.payload.len),
            axi.awvalid.eq(aw.o.valid),
            aw.o.ready.eq(axi.awready),
            axi.wdata.eq(w.o.payload.data),
            axi.wstrb.eq(w.o.payload.strb),
            axi.wlast.eq(w.o.payload.last),
            axi.wvalid.eq(w.o.valid),
            w.o.ready.eq(axi.wready),
            b.i.payload.error.eq(axi.bresp[RESP_ERROR_BIT]),
            b.i.valid.eq(axi.bvalid),
            axi.bready.eq(b.i.ready),
        ]
        return m
