"""Fetches operands: takes addresses and hands out feature-map words in order."""

from __future__ import annotations

from typing import Any

from amaranth import Module, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.buffers.read_port import ReadPort
from hw.interfaces import FeatureMapRead
from isa.config import MachineConfig
from isa.depths import MISC_AHEAD, MISC_ANSWERS

TURN = data.StructLayout({"last": unsigned(1), "opens": unsigned(1), "closes": unsigned(1)})
"""The data that travel with an operand: ``last`` of its instruction, and the first and the last iteration of loop 4."""


def request_layout(config: MachineConfig) -> data.StructLayout:
    return data.StructLayout({"addr": unsigned(config.fm_address_bits), "turn": TURN})


class OperandFetch(wiring.Component):
    """Reads one word per request. ``turn`` comes out beside its word.

    It reads one word per cycle, ``BANK_LATENCY + 2`` cycles from request to answer, when the bank is free; it stalls while the
    bank is not. The queues let one operand run ahead of the other. So two operands that share a bank take turns only at the
    start and then walk one bank apart.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.answer = data.StructLayout({"word": unsigned(8 * config.ic_p), "turn": TURN})
        super().__init__({
            "i": In(stream.Signature(request_layout(config))),
            "fm_read": Out(FeatureMapRead(config)),
            "o": Out(stream.Signature(self.answer)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.port = port = ReadPort(self.config, 1, TURN, MISC_ANSWERS, ahead=MISC_AHEAD, always=True)
        wiring.connect(m, port.fm_read[0], wiring.flipped(self.fm_read))
        m.d.comb += [
            port.i.valid.eq(self.i.valid),
            self.i.ready.eq(port.i.ready),
            port.i.payload.addr[0].eq(self.i.payload.addr),
            port.i.payload.tag.eq(self.i.payload.turn),
            self.o.valid.eq(port.o.valid),
            port.o.ready.eq(self.o.ready),
            self.o.payload.word.eq(port.o.payload.words[0]),
            self.o.payload.turn.eq(port.o.payload.tag),
        ]
        return m
