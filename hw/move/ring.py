"""The ring of chunks that words are cut from. It tells which chunks are there, and gives the bytes from any position on."""

from __future__ import annotations

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.arithmetic.small import summed
from hw.move.chunks import chunk_layout
from isa.config import MachineConfig

COLUMN_BITS = 9
"""The bits of a byte, and one that says whether it is real and of the segment."""


def reach_of(config: MachineConfig) -> int:
    """The most chunks that a word may touch."""
    return -(-(config.axi_bytes - 1 + config.ic_p) // config.axi_bytes)


def reads_of(config: MachineConfig) -> int:
    """The chunk widths that a word takes."""
    return -(-config.ic_p // config.axi_bytes)


def flags_of(config: MachineConfig) -> data.StructLayout:
    return data.StructLayout({name: chunk_layout(config)[name].shape for name in ("skip", "last", "error")})


class ChunkRing(wiring.Component):
    """A ring of ``depth`` chunks. Positions are counted in bytes from the first byte of chunk 0, the oldest.

    A chunk is ``present`` two cycles after it is taken; in the cycle before it has ``arrived``. ``drop`` removes chunk 0. One
    chunk is taken and one dropped per cycle. ``chunks`` stalls while the ring is full. ``skips`` are those of chunks 0 and 1,
    or of the chunk that arrived where these are not present. ``last_here`` is a register: the last chunk of the segment is
    present or has arrived.

    Every byte of a chunk has a memory of its own. Columns before the column of ``start`` are read one chunk further on. So as
    many neighbouring bytes as a chunk has come in one cycle, rotated by ``start``. A word wider than a chunk takes several such
    reads. ``bytes`` are registers that take the bytes read when ``advance``, a bit for each of these reads, is high: one cycle
    of latency.
    """

    def __init__(self, config: MachineConfig, position: int) -> None:
        """``position`` is the number of bits of a position."""
        self.config = config
        size = config.axi_bytes
        self.depth = max(-(-(size - 1 + config.window_bytes) // size), reach_of(config) + 1) + 1
        flags = flags_of(config)
        super().__init__({
            "chunks": In(stream.Signature(chunk_layout(config))),
            "drop": In(1),
            "start": In(position),
            "advance": In(reads_of(config)),
            "present": Out(self.depth),
            "arrived": Out(1),
            "head": Out(flags),
            "skips": Out(data.ArrayLayout(flags["skip"].shape, 2)),
            "last_here": Out(1),
            "bytes": Out(data.ArrayLayout(COLUMN_BITS * size, reads_of(config))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        push = Signal()
        flags = self._flags(m, push)
        self._read(m, push, flags)
        return m

    def _flags(self, m: Module, push: Signal) -> list[Any]:
        """Takes a chunk while there is room, and moves the flags of all chunks down when chunk 0 is dropped."""
        depth, drop, arrived, present = self.depth, self.drop, self.arrived, self.present
        queue = [Signal(flags_of(self.config), name=f"chunk{n}") for n in range(depth)]
        newest = Signal(flags_of(self.config))
        room = Signal(init=1)
        m.d.comb += [self.chunks.ready.eq(room), push.eq(self.chunks.valid & room), self.head.eq(queue[0])]
        m.d.comb += [self.skips[n].eq(Mux(present[n], queue[n].skip, newest.skip)) for n in range(2)]
        m.d.sync += [arrived.eq(push), newest.as_value().eq(Cat(self.chunks.payload[name] for name in newest.shape().members))]
        for n in range(depth):
            before = present[n - 1] if n else C(1)
            above = present[n + 1] if n + 1 < depth else C(0)
            m.d.sync += [
                present[n].eq(Mux(drop, above | (arrived & present[n]), present[n] | (arrived & before))),
                queue[n].eq(Mux(drop, Mux(above, queue[min(n + 1, depth - 1)], newest), Mux(present[n], queue[n], newest))),
            ]
        full, nearly = present[-1] | (arrived & present[-2]), present[-2] | (arrived & present[-3])
        m.d.sync += room.eq(Mux(drop, ~(push & full), ~full & ~(push & nearly)))
        last_ones = present & Cat(chunk.last for chunk in queue)
        last_stays = Signal()
        last_is_left = Signal()
        """The last chunk of a segment is there after this cycle: ``last_stays`` if no chunk is dropped, ``last_is_left`` if one
        is."""
        m.d.comb += [last.eq(ones.any() | (arrived & newest.last)) for last, ones in
                     ((last_stays, last_ones), (last_is_left, last_ones[1:]))]  # fmt: skip
        # ``drop`` comes late, so the logic that depends on it here has a module of its own.
        m.submodules.late = late = Module()
        late.d.sync += self.last_here.eq(Mux(drop, last_is_left, last_stays))
        return queue

    def _read(self, m: Module, push: Value, queue: list[Any]) -> None:
        """Builds the memories, which give the bytes from ``start`` on, and whether each is real and of the segment of chunk
        0."""
        size, reads = self.config.axi_bytes, reads_of(self.config)
        size_bits = exact_log2(size)
        own = Signal(self.depth)
        """The chunks that are present and belong to the segment of chunk 0."""
        m.d.comb += own[0].eq(self.present[0])
        for n in range(1, self.depth):
            m.d.comb += own[n].eq(own[n - 1] & self.present[n] & ~queue[n - 1].last)
        rows = 1 << (self.depth - 1).bit_length()
        head, tail = (Signal(range(rows), name=name) for name in ("head_row", "tail_row"))
        with m.If(self.drop):
            m.d.sync += head.eq(head + 1)
        with m.If(push):
            m.d.sync += tail.eq(tail + 1)
        column_of_start, chunk_of_start = self.start[:size_bits], self.start[size_bits:]
        mine = Signal(reads + 1)
        m.d.comb += mine.eq((own >> chunk_of_start)[: reads + 1])
        row = [Signal(range(rows), name=f"row{ahead}") for ahead in range(reads + 1)]
        # The memories are read behind this, so it has a module of its own, which synthesis keeps shallow.
        m.submodules.rows = addresses = Module()
        addresses.d.comb += [address.eq(summed(head, chunk_of_start, ahead)) for ahead, address in enumerate(row)]
        chunk = self.chunks.payload
        for column in range(size):
            before = Signal(name=f"before{column}")
            addresses.d.comb += before.eq(column < column_of_start)
            for read in range(reads):
                memory = Memory(shape=COLUMN_BITS, depth=rows, init=[])
                m.submodules[f"byte{column}_{read}"] = memory
                write = memory.write_port()
                look = memory.read_port(domain="comb")
                m.d.comb += [
                    write.en.eq(push),
                    write.addr.eq(tail),
                    write.data.eq(Cat(chunk.data.word_select(column, 8), chunk.real[column])),
                ]
                addresses.d.comb += look.addr.eq(Mux(before, row[read + 1], row[read]))
                real = look.data[8] & Mux(before, mine[read + 1], mine[read])
                with m.If(self.advance[read]):
                    m.d.sync += self.bytes[read].word_select(column, COLUMN_BITS).eq(Cat(look.data[:8], real))
