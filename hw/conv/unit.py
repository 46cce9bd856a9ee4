"""The CONV unit: window, window fetch, array, accumulators, post-processing and write-back in a row."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.small import stepped
from hw.conv import window_sum
from hw.conv.accumulate import Accumulate
from hw.conv.array import MacArray
from hw.conv.entries import READ_AHEAD
from hw.conv.sequence import BeatSequencer, address_bits, sequence_layout
from hw.conv.window_sum import WindowSum
from hw.conv.write import ResultWriter
from hw.fault_latch import latch_fault
from hw.interfaces import BufferRead, FeatureMapRead, FeatureMapWrite, TableWrite, UnitSignature
from hw.post.activation import finish_fields
from hw.post.gather import Gather
from hw.post.postprocess import PostProcess
from hw.post.shared import GuestSignature, SharedPostProcess
from hw.window.fetch import WindowFetch
from hw.window.generator import WindowGenerator
from hw.window.placement import Placement
from hw.window.queue import Queue, RamQueue
from isa.config import MachineConfig
from isa.instructions import Unit
from isa.latency import array_latency, conv_post_latency

_INSTRUCTIONS = 4
"""The instructions that may be between two parts of the unit."""
_UNFINISHED = 8
"""The instructions that may be in the unit."""


def weight_read(config: MachineConfig) -> BufferRead:
    return BufferRead(address_bits(config.weight_depth), 8 * config.ic_p * config.oc_p)


def param_read(config: MachineConfig) -> BufferRead:
    """The read port for a part of a parameter word: the records of the lanes that are finished in one cycle. The lowest bits of
    the address are the part's number."""
    part = config.oc_p // config.conv_parts
    return BufferRead((config.conv_parts - 1).bit_length() + address_bits(config.param_depth), 64 * part)


class ConvUnit(wiring.Component):
    """Runs CONV instructions: one beat per cycle, also from instruction to instruction.

    ::

                                          +-> window sum --+
        instruction -+-> window -> fetch -+-> array -> accumulate -> post -> gather -> results -+-> write
                     +-> sequencer -------+                            ^                        |
                     +-> finish settings ------------------------------+                        |
                     +-> placement -------------------------------------------------------------+

    Each part keeps its own copy of the instruction's fields that it needs. So the window works on the next instruction while
    the last one drains. Only two parts wait: fetch waits for its banks, and the sequencer waits until the results queue has
    room for the reduction that it begins. From the sequencer to the results queue nothing stalls.

    The start of an instruction overlaps with the beats of the one before it, and its drain with the beats of the next one:

    ==========================================  ================================
    instruction to first read                   10 + ``raster_rounds`` of the window
    instruction to first beat                   14 + ``raster_rounds``
    last beat to ``done``, writes granted       ``array_latency + conv_post_latency + 6``
    ==========================================  ================================

    A beat enters in every cycle if all reads are granted, if a reduction takes at least as many beats as its drain
    (``px_p x oc_p / conv_finish``, or one for each word that is written), and if an instruction has more than ``px_p + 4``
    steps.

    With ``shared_finish`` POOL's results pass through the post-processing in cycles that CONV leaves free, by way of
    ``guest``. If POOL waits when a reduction ends, the drain of the next reduction begins later, by the cycles that POOL needs
    to finish one step of its pixels.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            **UnitSignature(Unit.CONV, config).members,
            "fm_read": Out(FeatureMapRead(config, pads=True)).array(config.px_p),
            "fm_write": Out(FeatureMapWrite(config)).array(config.conv_ports),
            "weights": Out(weight_read(config)),
            "params": Out(param_read(config)),
            "table_write": In(TableWrite(config)),
            **({"guest": In(GuestSignature(config.pool_finish))} if config.shares_finish else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        drain_cycles = c.px_p * c.oc_p // c.conv_finish
        advances = (c.conv_ports,) * (c.px_p // c.conv_ports)
        results_depth = 1 << (array_latency(c) + conv_post_latency(c) + drain_cycles + 7).bit_length()

        m.submodules.window = window = WindowGenerator(c, c.px_p)
        m.submodules.fetch = fetch = WindowFetch(c)
        m.submodules.sequences = sequences = RamQueue(c, sequence_layout(c), _INSTRUCTIONS)
        guest_cycles = c.px_p * c.pool_parts if c.shares_finish else 0
        m.submodules.sequencer = sequencer = BeatSequencer(c, drain_cycles, len(advances), results_depth, guest_cycles)
        m.submodules.array = array = MacArray(c)
        m.submodules.accumulate = accumulate = Accumulate(c, drain_cycles)
        latency = 1 + array_latency(c)
        window_beat = latency + 1 - window_sum.latency(c)
        assert window_beat >= READ_AHEAD, "entries are read before their beat is known"
        m.submodules.window_sum = inputs = WindowSum(c, window_beat - 1)
        m.submodules.finishes = finishes = RamQueue(c, data.StructLayout(finish_fields(c.result_bits)), _INSTRUCTIONS)
        m.submodules.post = post = self._post()
        m.submodules.gather = gather = Gather(c.conv_finish, c.conv_parts, c.result_bits)
        m.submodules.results = results = Queue(data.ArrayLayout(c.result_bits, c.conv_ports * c.oc_p), results_depth)
        m.submodules.placement = placement = Placement(
            c, c.conv_ports, advances, chunks_per_word=c.chunks_per_word, words_per_chunk=c.words_per_chunk, long=c.act16
        )
        m.submodules.write = write = ResultWriter(c)

        unfinished = self._accept(m, window, sequences, finishes, placement)

        # front: window, fetch, sequencer
        wiring.connect(m, window.o, fetch.i)
        wiring.connect(m, fetch.o, sequencer.operands)
        wiring.connect(m, sequences.o, sequencer.instruction)
        for inner, outer in zip(fetch.fm_read, self.fm_read, strict=True):
            wiring.connect(m, inner, wiring.flipped(outer))
        m.d.comb += [
            self.active.eq(sequencer.fire),
            self.weights.en.eq(sequencer.fire),
            self.weights.addr.eq(sequencer.weight),
            array.w.eq(self.weights.data),
        ]
        operands = Signal.like(fetch.o.p.data, reset_less=True)
        m.d.sync += operands.eq(fetch.o.p.data)
        m.d.comb += [array.x.eq(operands), inputs.x.eq(operands)]

        # array: beats travel beside the operands
        beats = [Signal(accumulate.beat.shape(), name="beat0")]
        m.d.comb += [beats[0].valid.eq(sequencer.fire), beats[0].beat.eq(sequencer.beat)]
        for age in range(1, latency + 1):
            beats.append(Signal(accumulate.beat.shape(), name=f"beat{age}"))
            m.d.sync += beats[age].eq(beats[age - 1])
        # A weight word outside its buffer is detected a cycle after its beat fired: the beat is cancelled here.
        m.d.sync += beats[2].valid.eq(beats[1].valid & ~sequencer.fault.valid)
        arriving = beats[latency]
        m.d.comb += [
            accumulate.sums.eq(array.sums),
            accumulate.beat.eq(arriving),
            accumulate.next.eq(beats[latency - 1]),
            accumulate.ahead.eq(beats[latency - READ_AHEAD - 1]),
            accumulate.corrections.eq(inputs.corrections),
            inputs.beat.eq(beats[window_beat]),
            inputs.ahead.eq(beats[window_beat - READ_AHEAD]),
            self.params.en.eq(accumulate.ask),
            self.params.addr.eq(Cat(accumulate.part[: (c.conv_parts - 1).bit_length()], accumulate.param)),
        ]

        # back: post-processing, results, write
        m.d.comb += [
            post.i.valid.eq(accumulate.valid),
            post.i.p.acc.eq(accumulate.acc),
            post.i.p.params.eq(self.params.data.replicate(c.conv_ports)),
            finishes.o.ready.eq(accumulate.valid & accumulate.last),
        ]
        m.d.comb += [post.i.p[name].eq(finishes.o.p[name]) for name in finishes.o.p.shape().members]
        m.d.sync += sequencer.retired.eq(write.taken)
        wiring.connect(m, wiring.flipped(self.table_write), post.table_write)
        if isinstance(post, SharedPostProcess):
            m.d.comb += [post.ask.eq(accumulate.ask), sequencer.guest.eq(self.guest.waits)]
            wiring.connect(m, wiring.flipped(self.guest), post.guest)
        m.d.comb += [
            gather.i.valid.eq(post.o.valid),
            gather.i.p.eq(post.o.p),
            results.i.valid.eq(gather.o.valid),
            results.i.p.eq(gather.o.p),
        ]
        wiring.connect(m, results.o, write.results)
        wiring.connect(m, placement.o, write.places)
        for inner, outer in zip(write.fm_write, self.fm_write, strict=True):
            wiring.connect(m, inner, wiring.flipped(outer))

        self._finish(m, unfinished, accumulate.stored, write.finished)
        m.d.sync += self.wait_bank.eq(fetch.wait_bank | write.wait_bank)
        # The instruction furthest down the pipeline is the oldest. Its fault wins among those of one cycle.
        faults = (part.fault for part in (write, sequencer, fetch))
        latch_fault(m, self.fault, [(fault.valid, fault.fault.code, fault.fault.ticket) for fault in faults])
        return m

    def _accept(
        self, m: Module, window: WindowGenerator, sequences: RamQueue, finishes: RamQueue, placement: Placement
    ) -> Queue:
        """Hands an instruction to all parts at once. Returns the queue of unfinished instructions. Each entry says whether the
        instruction ends with stored sums (1) or with a written output (0)."""
        m.submodules.unfinished = unfinished = Queue(1, _UNFINISHED)
        ticket = self.instruction.p.ticket
        f = self.instruction.p.op.CONV
        accept = Signal()
        free = Cat(window.i.ready, sequences.i.ready, finishes.i.ready, placement.i.ready, unfinished.i.ready)
        m.d.comb += [
            self.instruction.ready.eq(free.all() & ~self.halt),
            accept.eq(self.instruction.valid & self.instruction.ready),
            window.i.valid.eq(accept),
            sequences.i.valid.eq(accept),
            finishes.i.valid.eq(accept & ~f.acc_out),
            placement.i.valid.eq(accept & ~f.acc_out),
            unfinished.i.valid.eq(accept),
            unfinished.i.p.eq(f.acc_out),
        ]
        derived = {
            "ticket": ticket,
            "outer": f.chunks,
            "outer_period": f.g_chunks,
            "outer_step": f.g_step,
            "inner": f.vectors,
            "inner_step": f.i_cs,
        }
        if self.config.act16:
            derived |= {"pad_low": f.w_zp}
            derived |= {name: _of_16_bits(f, name) for name in ("zp", "lo", "hi")}
        for part in (window, sequences, finishes, placement):
            for name, _ in part.i.p.shape():
                m.d.comb += part.i.p[name].eq(derived[name] if name in derived else f[name])
        return unfinished

    def _post(self) -> PostProcess | SharedPostProcess:
        c = self.config
        return SharedPostProcess(c) if c.shares_finish else PostProcess(c, c.conv_finish, shifts=c.conv_shifts)

    def _finish(self, m: Module, unfinished: Queue, stored: Signal, written: Signal) -> None:
        """Reports instructions in program order. One that stores its sums may end before the output of the one before it is
        written."""
        waiting = [Signal(range(_UNFINISHED + 1), name=name) for name in ("written_waiting", "stored_waiting")]
        some = [Signal(name=f"{count.name}_some") for count in waiting]
        head = Signal(2)
        m.d.comb += [
            head.eq(Mux(unfinished.o.p, 0b10, 0b01)),
            unfinished.o.ready.eq(self.done),
            self.busy.eq(unfinished.o.valid),
        ]
        # The grant of a write is known late in the cycle. Its count has a module of its own, which synthesis keeps shallow.
        m.submodules.finished = late = Module()
        late.d.comb += self.done.eq(unfinished.o.valid & Mux(unfinished.o.p, some[1], some[0]))
        for n, event in enumerate((written, stored)):
            reported = Signal(name=f"{waiting[n].name}_reported")
            m.d.comb += reported.eq(self.done & head[n])
            count = stepped(waiting[n], event, reported, _UNFINISHED)
            late.d.sync += [waiting[n].eq(count), some[n].eq(count != 0)]


def _of_16_bits(f: data.View, name: str) -> Value:
    """A zero-point or bound of the output. With ``y16`` it has both bytes, else it is the low one with its sign."""
    low, high = f[name], f[f"{name}_high"]
    return Mux(f.y16, Cat(low, high).as_signed(), low)
