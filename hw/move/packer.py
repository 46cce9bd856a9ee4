"""Chunks of bytes cut into feature-map words."""

from __future__ import annotations

from typing import Any

from amaranth import C, Cat, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.arithmetic.choice import pick
from hw.arithmetic.small import summed
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
    """One word per cycle, cut at any byte; latency: three cycles from its chunk, two from itself; everything stalls with ``o``.

    Chunks wait in a ring of ``depth`` places; what must be known of all of them at once (``last``, whether they are there)
    moves down by one as chunk 0 is used up, and is there a cycle after the chunk was taken. ``base`` is the first byte still
    wanted and ``start`` the first byte of the next word, both counted from chunk 0 (they differ within an overlapping pixel,
    which stays until it is passed)::

        chunk      0               1               2
        bytes      . . . . . b . . | . . s s s s s s | s s . .      b: base, s: the word at start

    Every byte of a chunk has a memory of its own. Those in front of the word's first byte are read one place further on, so
    that a chunk's width of neighbouring bytes comes in one cycle, turned; in the next they are turned back. A word wider than
    a chunk takes several such reads.

    A word goes when its last chunk is there, or the segment's last one is: what follows it is fill. At the end
    of a segment the rest of its chunks is dropped, one per cycle. So a chunk per cycle is taken whenever words are
    at least as wide as chunks, whatever the lengths and the alignment.

    Whether a word goes is looked up from registers, of which ``reach``, its last byte, is one: it is worked out a cycle before,
    for the word that stays and for the one behind it, of which ``next_more`` says how long it is. A segment's first word
    is ``known`` as soon as the first chunk is there, a transfer's first word a cycle after it came.

    ``error`` strobes, with ``error_ticket``, when a chunk that DRAM reported as bad is passed. ``starved``: a word waits
    for chunks.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        size = config.axi_bytes
        reach = -(-(size - 1 + config.ic_p) // size)
        self.depth = max(-(-(size - 1 + config.window_bytes) // size), reach + 1) + 1
        super().__init__({
            "chunks": In(stream.Signature(chunk_layout(config))),
            "words": In(stream.Signature(word_layout(config, cut_context(config)))),
            "next_more": In(word_layout(config, 0)["more"].shape),
            "o": Out(stream.Signature(packed_layout(config))),
            "starved": Out(1),
            "error": Out(1),
            "error_ticket": Out(TICKET_BITS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size, lanes = self.config.axi_bytes, self.config.ic_p
        size_bits = exact_log2(size)
        word = self.words.payload
        drop = Signal()
        push = Signal()
        present, queue, came = self._queue(m, push, drop)
        first, newest = queue[0], came.newest
        position = unsigned((size + max(self.config.window_bytes, lanes) + lanes).bit_length())
        base = Signal(position)
        start = Signal(position)
        reach = Signal(position)
        """The word's last byte."""
        known = Signal()
        """The three are right; else they wait for the word, or its segment's first chunk."""
        jump = Signal(position)
        """From the base of a pixel to the last byte of the next one's first word."""
        fresh = Signal(init=1)
        spent = Signal()
        """The word's segment has no chunk any more."""
        purge = Signal()
        last_here = Signal()
        m.d.sync += last_here.eq(((present & Cat(chunk.last for chunk in queue)) >> drop).any() | (came.valid & newest.last))

        advance = Signal()
        fed = Signal()
        cut = Signal()
        enough = pick(list(present), reach[size_bits:])
        end_segment = Signal()
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            end_segment.eq(word.end_row | (word.context.apart & word.end_pixel)),
            fed.eq(spent | (known & (base < size) & (last_here | enough))),
            cut.eq(self.words.valid & fed & ~purge & advance),
            self.words.ready.eq(fed & ~purge & advance),
            self.starved.eq(self.words.valid & ~fed & ~purge),
        ]
        with m.If(self.words.valid & word.begin):
            m.d.sync += jump.eq(word.context.step + word.more)

        # Chunk 0 of the next cycle if this one's stays, and if it goes: in a module of its own, for sums hang on them.
        m.submodules.heads = heads = Module()
        goes, stays = (Signal(size_bits, name=name) for name in ("goes", "stays"))
        head_stays, head_goes = Mux(present[0], first.skip, newest.skip), Mux(present[1], queue[1].skip, newest.skip)
        heads.d.comb += [goes.eq(Mux(spent, head_stays, head_goes)), stays.eq(Mux(purge, head_goes, head_stays))]

        # Whether the word goes is known last: what follows from it is worked out for both cases before.
        go = _outcome(position, "go")
        stay = _outcome(position, "stay")
        next_base = Signal(position)
        m.d.comb += next_base.eq(base + word.context.step)
        gone = {name: Signal(position, name=f"{name}_gone") for name in ("base", "start", "reach")}
        stop = Signal(position)
        # Where a segment is spent, neither counts, and ``reach`` need not be right: its next one begins anew.
        m.d.comb += stop.eq(reach + 1)
        with m.If(~word.context.window):
            m.d.comb += [gone["base"].eq(stop), gone["start"].eq(stop)]
        with m.Elif(word.end_pixel):
            m.d.comb += [gone["base"].eq(next_base), gone["start"].eq(next_base)]
        with m.Else():
            m.d.comb += [gone["base"].eq(base), gone["start"].eq(stop)]
        over = word.context.window & word.end_pixel
        step = word.context.step
        passed = step[size_bits:].any() | summed(Cat(base[:size_bits], C(0)), step[:size_bits])[-1]
        wraps = Mux(word.context.window, word.end_pixel & passed, reach[size_bits:].any() | reach[:size_bits].all())
        """``base`` leaves chunk 0: it lies there, where a word goes."""
        # In a module of its own: the next word's bytes come late.
        m.submodules.behind = behind = Module()
        last_byte = Cat(~over, Mux(over, base, reach)) + Cat(~over, Mux(over, jump, self.next_more))
        behind.d.comb += gone["reach"].eq(last_byte[1:])

        last = first.last
        here: dict[str, Signal] = {"base": base, "start": start, "reach": reach}
        for case, restart, skip, more, kept in (
            (go, end_segment, goes, self.next_more, gone),
            (stay, purge | fresh, stays, word.more, here),
        ):
            begun = Signal(position)
            m.d.comb += begun.eq(skip + more)
            for name, value in kept.items():
                moved = Mux(case.drop, _earlier(value, size_bits), value)
                m.d.comb += case[name].eq(Mux(restart, begun if name == "reach" else skip, moved))
        m.d.comb += [
            go.drop.eq(~spent & (end_segment | (present[0] & wraps))),
            go.finished.eq(end_segment & (spent | (go.drop & last))),
            go.purge.eq(end_segment & ~go.finished),
            go.fresh.eq(go.finished),
            go.spent.eq(Mux(end_segment, word.context.empty & ~word.end, spent | (go.drop & last))),
            go.known.eq(~end_segment | (go.finished & ~word.end & (came.valid | Mux(spent, present[0], present[1])))),
            stay.drop.eq(Mux(purge, present[0] & advance, ~fresh & ~spent & present[0] & (base >= size))),
            stay.finished.eq(purge & stay.drop & last),
            stay.purge.eq(purge & ~stay.finished),
            stay.fresh.eq(fresh | stay.finished),
            stay.spent.eq(Mux(purge | fresh, self.words.valid & word.context.empty, spent | (stay.drop & last))),
            stay.known.eq(Mux(purge | fresh, self.words.valid & (came.valid | Mux(purge, present[1], present[0])), known)),
        ]
        purge_end = Signal()
        purge_ticket = Signal(TICKET_BITS)
        with m.If(cut):
            m.d.sync += [purge_end.eq(word.end), purge_ticket.eq(word.context.ticket)]
        come = data.View(go.shape(), Mux(cut, go.as_value(), stay.as_value()))
        m.d.sync += [
            base.eq(come.base), start.eq(come.start), reach.eq(come.reach), known.eq(come.known), fresh.eq(come.fresh),
            spent.eq(come.spent), purge.eq(come.purge),
        ]  # fmt: skip
        m.d.comb += [
            drop.eq(come.drop),
            self.error.eq(drop & first.error),
            self.error_ticket.eq(Mux(purge, purge_ticket, word.context.ticket)),
        ]
        within = start[:size_bits]
        own = Signal(self.depth)
        """The chunks that are there and belong to the segment of chunk 0."""
        m.d.comb += own[0].eq(present[0])
        for n in range(1, self.depth):
            m.d.comb += own[n].eq(own[n - 1] & present[n] & ~queue[n - 1].last)

        shift = Signal(size_bits)
        used = Signal(lanes)
        fill = Signal(8)
        addr = Signal(self.config.fm_address_bits)
        write = Signal()
        done = Signal()
        chosen = self._read(m, push, drop, start, own, advance)
        turned = [_turned_back(bits, shift, min(size, lanes - read * size)) for read, bits in enumerate(chosen)]
        with m.If(advance):
            m.d.sync += [
                write.eq(cut),
                done.eq(come.finished & Mux(purge, purge_end, word.end)),
                addr.eq(word.addr),
                shift.eq(within),
                used.eq(Cat(~spent, *(~spent & (n <= word.more) for n in range(1, lanes)))),
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

    def _queue(self, m: Module, push: Signal, drop: Value) -> tuple[Signal, list[Any], Any]:
        """Which chunks are there, these being the first ones, what is known of each, and the ``newest``: a chunk is
        taken into a register first, while there is a place for it behind."""
        depth = self.depth
        flags = data.StructLayout({name: chunk_layout(self.config)[name].shape for name in ("skip", "last", "error")})
        queue = [Signal(flags, name=f"chunk{n}") for n in range(depth)]
        present = Signal(depth)
        came = Signal(data.StructLayout({"valid": 1, "newest": flags}))
        newest = came.newest
        room = Signal(init=1)
        m.d.comb += [self.chunks.ready.eq(room), push.eq(self.chunks.valid & room)]
        m.d.sync += [came.valid.eq(push), newest.as_value().eq(Cat(self.chunks.payload[name] for name in flags.members))]
        for n in range(depth):
            before = present[n - 1] if n else C(1)
            above = present[n + 1] if n + 1 < depth else C(0)
            m.d.sync += [
                present[n].eq(Mux(drop, above | (came.valid & present[n]), present[n] | (came.valid & before))),
                queue[n].eq(Mux(drop, Mux(above, queue[min(n + 1, depth - 1)], newest), Mux(present[n], queue[n], newest))),
            ]
        full, nearly = present[-1] | (came.valid & present[-2]), present[-2] | (came.valid & present[-3])
        # In a module of its own, for chunks come late.
        m.submodules.room = late = Module()
        late.d.sync += room.eq(Mux(drop, ~(push & full), ~full & ~(push & nearly)))
        return present, queue, came

    def _read(self, m: Module, push: Value, drop: Value, start: Value, own: Value, advance: Value) -> list[Signal]:
        """The memories of the ring: bytes, each with whether it is ``real`` and of this segment, a chunk's width in each read;
        the first read begins with the word's first byte, in whichever column that is. Returns the registers."""
        size, lanes = self.config.axi_bytes, self.config.ic_p
        size_bits = exact_log2(size)
        rows = 1 << (self.depth - 1).bit_length()
        head, tail = (Signal(range(rows), name=name) for name in ("head", "tail"))
        with m.If(drop):
            m.d.sync += head.eq(head + 1)
        with m.If(push):
            m.d.sync += tail.eq(tail + 1)
        within, first_chunk = start[:size_bits], start[size_bits:]
        reads = -(-lanes // size)
        chosen = [Signal(_COLUMN_BITS * size, name=f"chosen{read}") for read in range(reads)]
        mine = Signal(reads + 1)
        m.d.comb += mine.eq((own >> first_chunk)[: reads + 1])
        # In a module of their own, for memories hang on them.
        m.submodules.rows = addresses = Module()
        row = [Signal(range(rows), name=f"row{ahead}") for ahead in range(reads + 1)]
        addresses.d.comb += [address.eq(summed(head, first_chunk, ahead)) for ahead, address in enumerate(row)]
        chunk = self.chunks.payload
        for column in range(size):
            beyond = Signal(name=f"beyond{column}")
            addresses.d.comb += beyond.eq(column < within)
            for read in range(reads):
                memory = Memory(shape=_COLUMN_BITS, depth=rows, init=[])
                m.submodules[f"byte{column}_{read}"] = memory
                write = memory.write_port()
                look = memory.read_port(domain="comb")
                m.d.comb += [
                    write.en.eq(push),
                    write.addr.eq(tail),
                    write.data.eq(Cat(chunk.data.word_select(column, 8), chunk.real[column])),
                ]
                addresses.d.comb += look.addr.eq(Mux(beyond, row[read + 1], row[read]))
                real = look.data[8] & Mux(beyond, mine[read + 1], mine[read])
                with m.If(advance):
                    m.d.sync += chosen[read].word_select(column, _COLUMN_BITS).eq(Cat(look.data[:8], real))
        return chosen


_COLUMN_BITS = 9
"""A byte, and whether it is real."""


def _outcome(position: Shape, name: str) -> Any:
    """What the packer's state becomes."""
    flags = ("drop", "finished", "fresh", "spent", "purge", "known")
    layout = data.StructLayout({"base": position, "start": position, "reach": position, **dict.fromkeys(flags, unsigned(1))})
    return Signal(layout, name=name)


def _earlier(position: Value, size_bits: int) -> Value:
    """The position counted from chunk 1; looked up, for no carry chain is as quick."""
    chunk = position[size_bits:]
    numbers = 1 << len(chunk)
    return Cat(position[:size_bits], pick([C((n - 1) % numbers, len(chunk)) for n in range(numbers)], chunk))


def _turned_back(columns: Value, shift: Value, lanes: int) -> Value:
    """The first ``lanes`` bytes of a ring of columns from column ``shift`` on. A multiple of four first: two rows of 4:1
    multiplexers, the first of them as narrow as the second."""
    twice = Cat(columns, columns)
    size = len(columns) // _COLUMN_BITS
    coarse = pick([twice[4 * n * _COLUMN_BITS :][: (lanes + 3) * _COLUMN_BITS] for n in range(-(-size // 4))], shift[2:])
    return pick([coarse[n * _COLUMN_BITS :][: lanes * _COLUMN_BITS] for n in range(min(4, size))], shift[:2])
