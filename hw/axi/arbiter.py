"""Joins two readers on one pair of read channels."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.credits import Credits
from hw.axi.signature import ID_BITS, AxiRead, ReadId, address_layout, read_data_layout
from isa.config import MachineConfig


def tagged(layout: data.StructLayout) -> data.StructLayout:
    """The payload of a channel, with the id that it has on the bus."""
    return data.StructLayout({"id": unsigned(ID_BITS), "body": layout})


class ReadArbiter(wiring.Component):
    """Lets fetch and LOAD read by one pair of channels. Fetch goes before LOAD, because its bursts are few and short, and all
    units wait for what it brings.

    Combinational: one request per cycle on ``ar``. Data on ``r`` goes to the reader that its id names, and waits while that
    reader is not ready. A burst is on its way from ``ar`` to its last beat on ``r``. While ``axi_reads`` bursts are on their
    way, requests wait.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "fetch": In(AxiRead(config)),
            "load": In(AxiRead(config)),
            "ar": Out(stream.Signature(tagged(address_layout(config)))),
            "r": In(stream.Signature(tagged(read_data_layout(config)))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.credits = credits = Credits(self.config.axi_reads)
        most = self.config.axi_reads
        # There are never more than this number, so all its bits are set only when the number is reached.
        may_ask = (credits.out & most) != most
        m.d.comb += [
            self.ar.valid.eq((self.fetch.ar.valid | self.load.ar.valid) & may_ask),
            credits.take.eq(self.ar.valid & self.ar.ready),
            credits.give.eq(self.r.valid & self.r.ready & self.r.payload.body.last),
        ]
        with m.If(self.fetch.ar.valid):
            m.d.comb += [
                self.ar.payload.id.eq(ReadId.FETCH.value),
                self.ar.payload.body.eq(self.fetch.ar.payload),
                self.fetch.ar.ready.eq(self.ar.ready & may_ask),
            ]
        with m.Else():
            m.d.comb += [
                self.ar.payload.id.eq(ReadId.LOAD.value),
                self.ar.payload.body.eq(self.load.ar.payload),
                self.load.ar.ready.eq(self.ar.ready & may_ask),
            ]

        to_fetch = Signal()
        m.d.comb += [
            # The two ids differ in one bit.
            to_fetch.eq(self.r.payload.id[0] == ReadId.FETCH.value),
            self.fetch.r.payload.eq(self.r.payload.body),
            self.load.r.payload.eq(self.r.payload.body),
            self.fetch.r.valid.eq(self.r.valid & to_fetch),
            self.load.r.valid.eq(self.r.valid & ~to_fetch),
        ]
        with m.If(to_fetch):
            m.d.comb += self.r.ready.eq(self.fetch.r.ready)
        with m.Else():
            m.d.comb += self.r.ready.eq(self.load.r.ready)
        return m
