"""Chunks of bytes cut into feature-map words."""

from __future__ import annotations

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.arithmetic.choice import pick
from hw.interfaces import TICKET_BITS
from hw.move.chunks import chunk_layout
from hw.move.words import word_layout
from isa.config import MachineConfig


def cut_context(config: MachineConfig) -> data.StructLayout:
    """What LOAD sends along with the words of a transfer.

    ``window``: pixels overlap, ``step`` bytes apart; ``apart``: every pixel is a segment of its own, else every row
    is one; ``empty``: there are no chunks, all is fill.
    """
    return data.StructLayout({
        "ticket": unsigned(TICKET_BITS),
        "fill": unsigned(8),
        "window": unsigned(1),
        "step": unsigned(config.window_bytes.bit_length()),
        "apart": unsigned(1),
        "empty": unsigned(1),
    })


def packed_layout(config: MachineConfig) -> data.StructLayout:
    """A finished word; ``done``: with it its transfer is finished (an item may be a ``done`` and no ``write``)."""
    return data.StructLayout({
        "addr": unsigned(config.fm_address_bits),
        "data": unsigned(8 * config.ic_p),
        "write": unsigned(1),
        "done": unsigned(1),
    })


class Packer(wiring.Component):
    """One word per cycle, cut at any byte; two cycles of latency; everything stalls with ``o``.

    Chunks wait in a ring of ``depth`` places; what must be known of all of them at once (``last``, whether they are there)
    moves down by one as chunk 0 is used up. ``base`` is the first byte still wanted and ``start`` the first byte of the next
    word, both counted from chunk 0 (they differ within an overlapping pixel, which stays until it is passed)::

        chunk      0               1               2
        bytes      . . . . . b . . | . . s s s s s s | s s . .      b: base, s: the word at start

    Every byte of a chunk has a memory of its own. Those in front of the word's first byte are read one place further on, so
    that a chunk's width of neighbouring bytes comes in one cycle, turned; in the next they are turned back. A word wider than
    a chunk takes several such reads.

    A word goes when its last chunk is there, or the segment's last one is: what follows it is fill. At the end
    of a segment the rest of its chunks is dropped, one per cycle. So a chunk per cycle is taken whenever words are
    at least as wide as chunks, whatever the lengths and the alignment.

    ``error`` strobes, with ``error_ticket``, when a chunk that DRAM reported as bad is passed. ``starved``: a word waits
    for chunks.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        size = config.axi_bytes
        reach = -(-(size - 1 + config.ic_p) // size)
        self.depth = max(-(-(size - 1 + config.window_bytes) // size), reach + 1)
        super().__init__({
            "chunks": In(stream.Signature(chunk_layout(config))),
            "words": In(stream.Signature(word_layout(config, cut_context(config)))),
            "o": Out(stream.Signature(packed_layout(config))),
            "starved": Out(1),
            "error": Out(1),
            "error_ticket": Out(TICKET_BITS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size, lanes, depth = self.config.axi_bytes, self.config.ic_p, self.depth
        size_bits = exact_log2(size)
        word = self.words.payload

        flags = data.StructLayout({name: chunk_layout(self.config)[name].shape for name in ("skip", "last", "error")})
        queue = [Signal(flags, name=f"chunk{n}") for n in range(depth)]
        present = Signal(depth)
        drop = Signal()
        push = Signal()
        m.d.comb += [self.chunks.ready.eq(~present[-1]), push.eq(self.chunks.valid & ~present[-1])]
        kept = Signal(depth)
        m.d.comb += kept.eq(Mux(drop, present >> 1, present))
        # The chunks that are present are the first ones.
        m.d.sync += present.eq(Mux(push, Cat(1, kept), kept))
        arriving = Cat(self.chunks.payload[name] for name in flags.members)
        for n in range(depth):
            with m.If(push & ~kept[n] & (kept[n - 1] if n else C(1))):
                m.d.sync += queue[n].as_value().eq(arriving)
            with m.Elif(drop):
                m.d.sync += queue[n].eq(queue[min(n + 1, depth - 1)])

        fresh = Signal(init=1)
        purge = Signal()
        was_spent = Signal()
        spent = Signal()
        last_here = Signal()
        position = unsigned((size + max(self.config.window_bytes, lanes)).bit_length())
        base = Signal(position)
        start = Signal(position)
        """Both are the segment's ``skip`` while ``fresh``, that of chunk 0, if it is there."""
        stop = Signal(position)
        m.d.comb += [
            spent.eq(Mux(fresh, word.context.empty, was_spent)),
            stop.eq(start + word.count),
            last_here.eq((Cat(chunk.last for chunk in queue) & present) != 0),
        ]
        own = Signal(depth)
        """The chunks that are there and belong to the segment of chunk 0."""
        m.d.comb += own[0].eq(present[0])
        for n in range(1, depth):
            m.d.comb += own[n].eq(own[n - 1] & present[n] & ~queue[n - 1].last)

        advance = Signal()
        fed = Signal()
        cut = Signal()
        within, first_chunk = start[:size_bits], start[size_bits:]
        further = Signal(range(-(-lanes // size) + 1))
        """Chunks from that of the word's first byte to that of its last."""
        m.d.comb += further.eq((within + word.count - 1)[size_bits:])
        enough = pick([(present >> first_chunk)[n] for n in range(-(-lanes // size) + 1)], further)
        end_segment = word.end_row | (word.context.apart & word.end_pixel)
        m.d.comb += [
            fed.eq(spent | ((base < size) & (last_here | enough))),
            cut.eq(self.words.valid & fed & ~purge & advance),
            self.words.ready.eq(fed & ~purge & advance),
            self.starved.eq(self.words.valid & ~fed & ~purge),
        ]

        # Whether the word goes is known last: what follows from it is worked out for both cases before.
        cut_base = Signal(position)
        cut_start = Signal(position)
        with m.If(~word.context.window):
            m.d.comb += [cut_base.eq(stop), cut_start.eq(stop)]
        with m.Elif(word.end_pixel):
            m.d.comb += [cut_base.eq(base + word.context.step), cut_start.eq(base + word.context.step)]
        with m.Else():
            m.d.comb += [cut_base.eq(base), cut_start.eq(stop)]
        drop_if_cut = ~spent & (end_segment | (present[0] & (cut_base >= size)))
        drop_if_not = Mux(purge, present[0] & advance, ~fresh & ~spent & present[0] & (base >= size))
        m.d.comb += drop.eq(Mux(cut, drop_if_cut, drop_if_not))

        passed = Signal()
        finished = Signal()
        purge_end = Signal()
        purge_ticket = Signal(TICKET_BITS)
        coming = self.chunks.payload.skip
        first_skip = Signal(size_bits)
        """Of the chunk that is chunk 0 in the next cycle."""
        m.d.comb += [
            passed.eq(drop & queue[0].last),
            first_skip.eq(Mux(drop, Mux(present[1], queue[1].skip, coming), Mux(present[0], queue[0].skip, coming))),
        ]
        with m.If(purge):
            m.d.comb += finished.eq(passed)
            with m.If(passed):
                m.d.sync += [purge.eq(0), fresh.eq(1)]
        with m.Elif(cut & end_segment):
            m.d.comb += finished.eq(spent | passed)
            m.d.sync += [fresh.eq(finished), purge.eq(~finished), purge_end.eq(word.end), purge_ticket.eq(word.context.ticket)]
        with m.Elif(cut | ~fresh):
            m.d.sync += [fresh.eq(0), was_spent.eq(spent | passed)]
        with m.If(purge | Mux(cut, end_segment, fresh)):
            m.d.sync += [base.eq(first_skip), start.eq(first_skip)]
        with m.Else():
            for register, cut_to in ((base, cut_base), (start, cut_start)):
                moved, stayed = _and_earlier(cut_to, size_bits), _and_earlier(register, size_bits)
                m.d.sync += register.eq(Mux(drop, Mux(cut, moved[1], stayed[1]), Mux(cut, moved[0], stayed[0])))
        m.d.comb += [
            self.error.eq(drop & queue[0].error),
            self.error_ticket.eq(Mux(purge, purge_ticket, word.context.ticket)),
        ]

        shift = Signal(size_bits)
        used = Signal(lanes)
        fill = Signal(8)
        addr = Signal(self.config.fm_address_bits)
        write = Signal()
        done = Signal()
        m.d.comb += advance.eq(~self.o.valid | self.o.ready)
        chosen = self._read(m, push, drop, start, own, advance)
        turned = [_turned_back(bits, shift, min(size, lanes - read * size)) for read, bits in enumerate(chosen)]
        with m.If(advance):
            m.d.sync += [
                write.eq(cut),
                done.eq(finished & Mux(purge, purge_end, word.end)),
                addr.eq(word.addr),
                shift.eq(within),
                used.eq(Cat(~spent & (n < word.count) for n in range(lanes))),
                fill.eq(word.context.fill),
                self.o.valid.eq(write | done),
                self.o.payload.write.eq(write),
                self.o.payload.done.eq(done),
                self.o.payload.addr.eq(addr),
            ]
            for n in range(lanes):
                byte = turned[n // size].word_select(n % size, _COLUMN_BITS)
                m.d.sync += self.o.payload.data.word_select(n, 8).eq(Mux(byte[8] & used[n], byte[:8], fill))
        return m

    def _read(self, m: Module, push: Value, drop: Value, start: Value, own: Value, advance: Value) -> list[Signal]:
        """The memories of the ring: bytes, each with whether it is ``real`` and of this segment, a chunk's width in each read;
        the first read begins with the word's first byte, in whichever column that is. Returns the registers."""
        size, lanes = self.config.axi_bytes, self.config.ic_p
        size_bits = exact_log2(size)
        rows = 1 << (self.depth - 1).bit_length()
        head, tail = Signal(range(rows)), Signal(range(rows))
        m.d.sync += [head.eq(head + drop), tail.eq(tail + push)]
        within, first_chunk = start[:size_bits], start[size_bits:]
        reads = -(-lanes // size)
        chosen = [Signal(_COLUMN_BITS * size, name=f"chosen{read}") for read in range(reads)]
        mine = Signal(reads + 1)
        m.d.comb += mine.eq((own >> first_chunk)[: reads + 1])
        row = [Signal(range(rows), name=f"row{ahead}") for ahead in range(reads + 1)]
        m.d.comb += [address.eq(head + first_chunk + ahead) for ahead, address in enumerate(row)]
        chunk = self.chunks.payload
        for column in range(size):
            beyond = Signal(name=f"beyond{column}")
            m.d.comb += beyond.eq(column < within)
            for read in range(reads):
                memory = Memory(shape=_COLUMN_BITS, depth=rows, init=[])
                m.submodules[f"byte{column}_{read}"] = memory
                write, look = memory.write_port(), memory.read_port(domain="comb")
                m.d.comb += [
                    write.en.eq(push),
                    write.addr.eq(tail),
                    write.data.eq(Cat(chunk.data.word_select(column, 8), chunk.real[column])),
                    look.addr.eq(Mux(beyond, row[read + 1], row[read])),
                ]
                real = look.data[8] & Mux(beyond, mine[read + 1], mine[read])
                with m.If(advance):
                    m.d.sync += chosen[read].word_select(column, _COLUMN_BITS).eq(Cat(look.data[:8], real))
        return chosen


_COLUMN_BITS = 9
"""A byte, and whether it is real."""


def _and_earlier(position: Value, size_bits: int) -> tuple[Value, Value]:
    """The position, and the same counted from chunk 1; looked up, for no carry chain is as quick."""
    chunk = position[size_bits:]
    numbers = 1 << len(chunk)
    return position, Cat(position[:size_bits], pick([C((n - 1) % numbers, len(chunk)) for n in range(numbers)], chunk))


def _turned_back(columns: Value, shift: Value, lanes: int) -> Value:
    """The first ``lanes`` bytes of a ring of columns from column ``shift`` on. A multiple of four first: two rows of 4:1
    multiplexers, the first of them as narrow as the second."""
    twice = Cat(columns, columns)
    size = len(columns) // _COLUMN_BITS
    coarse = pick([twice[4 * n * _COLUMN_BITS :][: (lanes + 3) * _COLUMN_BITS] for n in range(-(-size // 4))], shift[2:])
    return pick([coarse[n * _COLUMN_BITS :][: lanes * _COLUMN_BITS] for n in range(min(4, size))], shift[:2])
