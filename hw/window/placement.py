"""Output placement: finds the feature-map words into which an instruction's results go."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import TICKET_BITS
from hw.window.fields import shapes_of
from hw.window.pixels import Widths
from hw.window.queue import Queue
from hw.window.raster import RasterWalk
from isa.config import MachineConfig


def placement_layout(config: MachineConfig, long: bool = False) -> data.StructLayout:
    """The output fields of an instruction. ``outer`` is the number of chunks (CONV) or channel vectors (POOL). With ``long``
    its outputs may have 16 bits (``y16``)."""
    return data.StructLayout({
        "ticket": TICKET_BITS,
        **shapes_of(config, "o_addr", "o_xs", "o_ys", "o_cs", "o_h", "o_w"),
        "outer": 12,
        **({"y16": 1} if long else {}),
    })


def place_layout(
    config: MachineConfig, lanes: int, chunks_per_word: int, words_per_chunk: int, long: bool = False
) -> data.StructLayout:
    """The places of the results of one cycle.

    ``part`` is the number of the chunk in the word, ``word`` that of the word in the chunk. ``outside``: an address is beyond
    the buffer. ``last`` marks the last place of the instruction ``ticket``. With ``long`` results may have 16 bits (``y16``);
    then a chunk has twice the words, of low bytes and of high bytes by turns.
    """
    words = 2 * words_per_chunk if long else words_per_chunk
    return data.StructLayout({
        "lanes": data.ArrayLayout(data.StructLayout({"valid": unsigned(1), "addr": unsigned(config.fm_address_bits)}), lanes),
        "part": unsigned(max(1, (chunks_per_word - 1).bit_length())),
        "word": unsigned(max(1, (words - 1).bit_length())),
        "outside": unsigned(1),
        "last": unsigned(1),
        "ticket": unsigned(TICKET_BITS),
        **({"y16": unsigned(1)} if long else {}),
    })


class Placement(wiring.Component):
    """Walks outer iteration, pixel group, sub-step and word of the chunk, one place per cycle.

    ``advances`` are the pixels of a group's sub-steps, e.g. ``(1, 1)`` for a group of two pixels that are written one by one. A
    group always takes all its sub-steps, so that the walk matches a drain that knows nothing of row ends. An output channel
    vector takes ``chunks_per_word`` outer iterations, or an outer iteration fills ``words_per_chunk`` vectors.

    No cycle is lost between instructions of more than a few steps. The latency is 8 and the raster's rounds. ``o.valid`` comes
    from a register, and stalls reach no further than a queue of two.
    """

    def __init__(
        self,
        config: MachineConfig,
        lanes: int,
        advances: Sequence[int],
        chunks_per_word: int = 1,
        words_per_chunk: int = 1,
        long: bool = False,
    ) -> None:
        """With ``long`` outputs may have 16 bits, which take two words for one."""
        self.config = config
        self.lanes = lanes
        self.advances = tuple(advances)
        self.chunks_per_word = chunks_per_word
        self.words_per_chunk = words_per_chunk
        self.long = long
        self.places = place_layout(config, lanes, chunks_per_word, words_per_chunk, long)
        super().__init__({
            "i": In(stream.Signature(placement_layout(config, long))),
            "o": Out(stream.Signature(self.places)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address = self.config.fm_address_bits
        size = {"y16": 1} if self.long else {}
        carried = data.StructLayout({"ticket": TICKET_BITS, **shapes_of(self.config, "o_addr", "o_cs"), **size})
        widths = Widths.of_output(self.config)
        m.submodules.raster = raster = RasterWalk(widths, self.lanes, self.advances, carried)
        m.submodules.queue = queue = Queue(self.places)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        self._start(m, raster)
        go = Signal()

        # sum: row + column of each lane, and the word of the chunk
        group = raster.o.p
        settings = group.carried
        summed = Signal(data.StructLayout({
            "sums": data.ArrayLayout(address, self.lanes), "valid": self.lanes, "base": address,
            "part": self.places["part"].shape, "word": self.places["word"].shape, "last": 1,
            "ticket": TICKET_BITS, **size,
        }))  # fmt: skip
        summing = Signal()
        part = Signal(self.places["part"].shape)
        word = Signal(self.places["word"].shape)
        vector = Signal(address)
        here = Signal(address)
        fresh = Signal(init=1)
        group_over = Signal()
        vector_over = Signal()
        m.d.comb += [
            here.eq(Mux(fresh, settings.o_addr, vector)),
            group_over.eq(word == last_word(settings, self.words_per_chunk)),
            vector_over.eq(part == self.chunks_per_word - 1),
            raster.o.ready.eq(go & group_over),
        ]
        chunk = Signal(address)
        with m.If(go):
            m.d.sync += summing.eq(raster.o.valid)
            with m.If(raster.o.valid):
                m.d.sync += [
                    summed.base.eq(here),
                    summed.part.eq(part),
                    summed.word.eq(word),
                    summed.last.eq(group.last & group_over),
                    summed.ticket.eq(settings.ticket),
                    *(summed[name].eq(settings[name]) for name in size),
                ]
                for p in range(self.lanes):
                    pixel = group.pixels[p]
                    m.d.sync += [summed.sums[p].eq(pixel.row + pixel.column), summed.valid[p].eq(pixel.valid)]
                m.d.sync += [fresh.eq(0), word.eq(word + 1), vector.eq(here + settings.o_cs)]
                with m.If(fresh):
                    m.d.sync += chunk.eq(here)
                with m.If(group_over):
                    m.d.sync += [word.eq(0), vector.eq(Mux(fresh, here, chunk))]
                    with m.If(group.last_of_repeat):
                        m.d.sync += part.eq(part + 1)
                        with m.If(vector_over):
                            m.d.sync += [part.eq(0), vector.eq(here + settings.o_cs), chunk.eq(here + settings.o_cs)]
                    with m.If(group.last):
                        m.d.sync += [part.eq(0), fresh.eq(1)]

        # address, then (on the way into the queue) the bound
        place = Signal(self.places)
        placed = Signal()
        m.d.comb += go.eq(~placed | queue.i.ready)
        with m.If(go):
            m.d.sync += [
                placed.eq(summing),
                place.part.eq(summed.part),
                place.word.eq(summed.word),
                place.last.eq(summed.last),
                place.ticket.eq(summed.ticket),
                *(place[name].eq(summed[name]) for name in size),
            ]
            for p in range(self.lanes):
                m.d.sync += [
                    place.lanes[p].addr.eq(summed.sums[p] + summed.base),
                    place.lanes[p].valid.eq(summed.valid[p]),
                ]
        m.d.comb += [
            queue.i.valid.eq(placed),
            queue.i.p.eq(place),
            queue.i.p.outside.eq(Cat(lane.valid & (lane.addr >= self.config.fm_words) for lane in place.lanes).any()),
        ]
        return m

    def _start(self, m: Module, raster: RasterWalk) -> None:
        r = raster.i.p
        m.d.comb += [
            raster.i.valid.eq(self.i.valid),
            self.i.ready.eq(raster.i.ready),
            r.width.eq(self.i.p.o_w),
            r.height.eq(self.i.p.o_h),
            r.repeats.eq(self.i.p.outer),
            r.row_step.eq(self.i.p.o_ys),
            r.column_step.eq(self.i.p.o_xs),
            r.carried.ticket.eq(self.i.p.ticket),
            r.carried.o_addr.eq(self.i.p.o_addr),
            r.carried.o_cs.eq(self.i.p.o_cs),
        ]
        if self.long:
            m.d.comb += r.carried.y16.eq(self.i.p.y16)


def last_word(place: data.View, words_per_chunk: int) -> Value | int:
    """The number of a chunk's last word. With ``y16`` a chunk has twice as many words."""
    if "y16" not in place.shape().members:
        return words_per_chunk - 1
    return Mux(place.y16, 2 * words_per_chunk - 1, words_per_chunk - 1)
