"""Writes finished output bytes to feature-map words."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.fault_latch import latch_fault
from hw.interfaces import FaultSignature, FeatureMapWrite
from hw.window.placement import last_word, place_layout
from isa.config import MachineConfig
from isa.faults import Fault


class ResultWriter(wiring.Component):
    """Writes the results of ``conv_ports`` pixels to their places, one place per cycle if granted.

    A word made of several chunks is written chunk by chunk. Every chunk's bytes are offered at all of its places in the word,
    and the byte mask selects one. A chunk of several words takes a cycle for each. Results of 16 bits make twice as many words,
    the low bytes of each before the high ones.

    Lanes are granted one by one, and the next results wait until all have been. A place outside the buffer raises
    ``FM_ADDRESS``, and nothing is written from then on.

    The latency is 1. ``taken`` strobes when a result is taken, ``finished`` when an instruction's last word is granted.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        c = config
        super().__init__({
            "results": In(stream.Signature(data.ArrayLayout(c.result_bits, c.conv_ports * c.oc_p))),
            "places": In(stream.Signature(place_layout(c, c.conv_ports, c.chunks_per_word, c.words_per_chunk, c.act16))),
            "fm_write": Out(FeatureMapWrite(c)).array(c.conv_ports),
            "taken": Out(1),
            "finished": Out(1),
            "fault": Out(FaultSignature()),
            "wait_bank": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        held = Signal()
        last = Signal()
        over = Signal()
        load = Signal()
        pending = Signal(c.conv_ports)
        granted = Signal(c.conv_ports)
        place = self.places.p
        offered = self.places.valid & self.results.valid & ~self.fault.valid
        m.d.comb += [
            granted.eq(Cat(port.valid & port.ready for port in self.fm_write)),
            over.eq(~(pending & ~granted).any()),
            load.eq(offered & over & ~place.outside),
            self.places.ready.eq(load),
            self.results.ready.eq(load & (place.word == last_word(place, c.words_per_chunk))),
            self.taken.eq(self.results.ready),
            self.finished.eq(held & over & last),
            self.wait_bank.eq((pending & ~granted).any()),
        ]
        m.d.sync += pending.eq(pending & ~granted)
        with m.If(over):
            m.d.sync += held.eq(load)
        with m.If(load):
            m.d.sync += [last.eq(place.last), pending.eq(Cat(lane.valid for lane in place.lanes))]
        latch_fault(m, self.fault, [(offered & place.outside, Fault.FM_ADDRESS, place.ticket)])
        mask = Signal(c.ic_p)
        with m.If(load):
            m.d.sync += mask.eq(pick(self._masks(), place.part))
        for p, port in enumerate(self.fm_write):
            word = Signal.like(port.data, name=f"word{p}", reset_less=True)
            addr = Signal.like(port.addr, name=f"addr{p}", reset_less=True)
            with m.If(load):
                m.d.sync += [word.eq(self._word(p, place)), addr.eq(place.lanes[p].addr)]
            m.d.comb += [port.valid.eq(pending[p]), port.addr.eq(addr), port.data.eq(word), port.mask.eq(mask)]
        return m

    def _masks(self) -> list[int]:
        """The bytes that each chunk of a word owns, as a mask."""
        c = self.config
        parts = [range(k * c.oc_p, min((k + 1) * c.oc_p, c.ic_p)) for k in range(c.chunks_per_word)]
        return [sum(1 << byte for byte in part) for part in parts]

    def _word(self, pixel: int, place: data.View) -> Value:
        """The word that belongs to the place."""
        low = self._words(pixel, 0)
        if not self.config.act16:
            return pick(low, place.word)
        both = [word for pair in zip(low, self._words(pixel, 8), strict=True) for word in pair]
        # Results of 8 bits have no high bytes, so their words are the even ones of ``both``.
        number = place.word if len(low) == 1 else Mux(place.y16, place.word, place.word << 1)
        return pick(both, number[: (len(both) - 1).bit_length()])

    def _words(self, pixel: int, lsb: int) -> list[Value]:
        """The words that one byte of each of the pixel's results makes: one for several chunks, or several for one chunk."""
        c = self.config
        results = [self.results.p[pixel * c.oc_p + o] for o in range(c.oc_p)]
        lanes = [result[lsb : lsb + 8] for result in results] if c.act16 else results
        if c.oc_p < c.ic_p:
            return [Cat(lanes[byte % c.oc_p] for byte in range(c.ic_p))]
        return [Cat(lanes[j * c.ic_p : (j + 1) * c.ic_p]) for j in range(c.words_per_chunk)]
