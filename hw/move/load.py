"""The LOAD unit: DRAM to feature maps, and DRAM to the parameter memories."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

from amaranth import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.arithmetic.choice import pick
from hw.axi.burst import RUN_BYTES_BITS
from hw.axi.read_engine import ReadEngine
from hw.axi.signature import AxiRead
from hw.axi.slice import RegisterSlice
from hw.buffers.fifo import RamFifo
from hw.copies import Spread
from hw.fault_latch import latch_fault
from hw.interfaces import TICKET_BITS, FeatureMapWrite, TableWrite, UnitSignature, unit_layout
from hw.move.chunks import LOAD_TAG, ChunkFeeder, beat_tag, led
from hw.move.packer import Packer
from hw.move.parameters import FILL_LAYOUT, MEMORIES, ParameterWriter, choose, is_outside, memories, write_ports
from hw.move.product_weights import PRODUCT_LAYOUT, ProductWriter, lane_write
from hw.move.rotator import packed_layout
from hw.move.runs import OFFSET_BITS, RunGenerator
from hw.move.segments import cut_context, cut_word_layout
from hw.move.words import WordWalk, walk_layout
from isa.capabilities import unit_rows
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import BY_NAME, Buffer, Region, Unit
from isa.registers import NO_LIMIT

AHEAD = 8
"""The instructions whose bytes are asked for and that the back does not expect yet."""
IN_WORK = 7
"""The instructions in the back."""


def region_bases(config: MachineConfig) -> data.ArrayLayout:
    """The address of each DRAM region, indexed by ``Region``."""
    return data.ArrayLayout(unsigned(config.axi_addr_bits), len(Region))


def region_limits() -> In:
    """The bytes of each DRAM region, indexed by ``Region``."""
    return In(data.ArrayLayout(unsigned(OFFSET_BITS), len(Region)), init=[NO_LIMIT] * len(Region))


def back_layout(config: MachineConfig) -> data.StructLayout:
    """The fields of an instruction that the back needs: those of LOAD (``is_load``) or those of LOADP. ``outside``: a LOADP
    goes beyond its buffer. LOADW is a LOAD that ``makes_weights``."""
    return data.StructLayout({
        "is_load": unsigned(1),
        "outside": unsigned(1),
        **({"makes_weights": unsigned(1), "product": PRODUCT_LAYOUT} if config.build_products else {}),
        "of": data.UnionLayout({"load": walk_layout(config, cut_context(config)), "fill": FILL_LAYOUT}),
    })


class LoadUnit(wiring.Component):
    """Runs LOAD, LOADP and LOADW in two halves. The front asks DRAM, and the back writes the data, many instructions later.

    ::

        instruction -+-> runs -> read engine -> AR
                     +-> queue -> words --+
                     R -> beats -> chunks -> packer -> fm_write
                              |                  +-> product writer -> weight_lanes, params
                              +-> parameter writer -> weights, params, taps, pool_params, table_write

    On the bus, the first AR comes 5 cycles after the instruction. A word's write request comes 6 cycles after the beat that
    completes it, a parameter's 2 cycles after its beat. ``done`` follows the last write by one cycle. The unit moves at most
    one beat and one word per cycle. There is a cycle between the words of two LOADs, and one between the beats of two LOADPs.
    It stalls while DRAM has no beat for it and while a bank refuses a word.

    LOADP waits until earlier LOADs are written, and LOAD until earlier LOADPs are, so that instructions finish in order. LOADW
    (``build_products``) is a LOAD without neighbours. Its words go to the product writer instead, once all earlier instructions
    are written, and later ones wait for its ``done``.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            **UnitSignature(Unit.LOAD, config).members,
            "bases": In(region_bases(config)),
            "limits": region_limits(),
            "axi": Out(AxiRead(config)),
            "fm_write": Out(FeatureMapWrite(config)),
            **write_ports(config),
            "table_write": Out(TableWrite(config)),
            **({"weight_lanes": Out(lane_write(config))} if config.build_products else {}),
            "idle": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self.config
        layout = unit_layout(Unit.LOAD, config)
        m.submodules.runs = runs = RunGenerator(config, LOAD_TAG)
        m.submodules.engine = engine = ReadEngine(config, beat_tag(config))
        m.submodules.feeder = feeder = ChunkFeeder(config)
        back = back_layout(config)
        m.submodules.queue = queue = RamFifo(config, width=back.size, depth=AHEAD)
        m.submodules.walk = walk = WordWalk(config, cut_context(config))
        m.submodules.words = words = RegisterSlice(cut_word_layout(config))
        m.submodules.packer = packer = Packer(config)
        m.submodules.packed = packed = RegisterSlice(packed_layout(config))
        m.submodules.parameters = parameters = ParameterWriter(config)
        run = runs.o.payload
        m.d.comb += [
            engine.runs.valid.eq(runs.o.valid),
            runs.o.ready.eq(engine.runs.ready),
            *(engine.runs.payload[name].eq(run[name]) for name in ("addr", "bytes", "last")),
            *(engine.runs.payload.tag[name].eq(value) for name, value in led(run.tag, run.addr, config).items()),
        ]
        connect(m, engine.axi, flipped(self.axi))
        connect(m, feeder.chunks, packer.chunks)
        word = walk.o.payload
        m.d.comb += [
            words.i.valid.eq(walk.o.valid),
            walk.o.ready.eq(words.i.ready),
            *(words.i.payload[name].eq(word[name]) for name in word.shape().members),
            words.i.payload.steps.eq(word.context.window & word.end_pixel),
        ]
        connect(m, words.o, packer.words)
        m.d.comb += packer.next_more.eq(words.next.more)
        connect(m, packer.o, packed.i)
        over = self.halt | self.fault.valid
        stop = Signal()
        """``over``, a cycle later, because the bus and the banks depend on it."""
        m.d.sync += stop.eq(over)
        m.d.comb += [engine.halt.eq(stop), self.idle.eq(engine.idle)]

        taken_valid = self._front(m, layout, runs, queue, stop)

        beat = engine.beats
        # Each of the two checks itself whether a beat is for it, which saves a level of logic.
        m.d.comb += [
            *(to.valid.eq(beat.valid) for to in (feeder.beats, parameters.beats)),
            *(to.payload.eq(beat.payload) for to in (feeder.beats, parameters.beats)),
            feeder.aside.eq(parameters.beats.ready),
            beat.ready.eq(feeder.beats.ready),
        ]

        head = data.View(back, queue.r_data)
        is_load = head.is_load
        loads = Signal(range(IN_WORK + 1))
        fills = Signal(range(IN_WORK + 1))
        begun = Signal()
        """The head of the queue was taken in the cycle before and leaves in this one."""
        m.d.sync += begun.eq((walk.i.valid & walk.i.ready) | (parameters.fill.valid & parameters.fill.ready))
        m.d.comb += [
            queue.r_en.eq(begun),
            walk.i.valid.eq(queue.r_rdy & ~begun & is_load & (fills == 0) & (loads != IN_WORK)),
            parameters.fill.valid.eq(queue.r_rdy & ~begun & ~is_load & (loads == 0) & (fills != IN_WORK)),
            parameters.fill.payload.fill.eq(head.of.fill),
            parameters.fill.payload.outside.eq(head.outside),
            walk.i.payload.eq(head.of.load),
        ]

        write = self.fm_write
        offered = Signal()
        """The word on ``packed.o`` is to be written. This is a register, because ``write.valid`` goes to the banks'
        arbitration, for which all that write wait."""
        with m.If(~packed.o.valid | packed.o.ready):
            m.d.sync += offered.eq((packed.i.valid | ~packed.i.ready) & packed.next.write & ~over)
        with m.Else():
            m.d.sync += offered.eq(offered & ~over)
        load_done = Signal()
        m.d.comb += [
            write.valid.eq(offered),
            write.addr.eq(packed.o.payload.addr),
            write.data.eq(packed.o.payload.data),
            write.mask.eq(~0),
            packed.o.ready.eq(~packed.o.payload.write | write.ready),
            load_done.eq(packed.o.valid & packed.o.ready & packed.o.payload.done & ~over),
        ]
        product = self._make_weights(m, head, walk, packed, loads, offered, load_done, over) if config.build_products else None
        m.d.sync += [
            loads.eq(loads + (begun & is_load) - load_done),
            fills.eq(fills + (begun & ~is_load) - parameters.done),
            self.done.eq(load_done | (parameters.done & ~parameters.error & ~over)),
        ]
        self._connect_memories(m, parameters, product)
        self._faults(m, runs, packer, parameters, product)

        writes = (write.valid & write.ready) | parameters.active
        m.d.comb += [
            self.busy.eq(taken_valid | queue.r_rdy | (queue.level != 0) | (loads != 0) | (fills != 0)),
            self.active.eq(writes | product.active if product else writes),
            self.wait_bank.eq(write.valid & ~write.ready),
            self.wait_dram.eq(packer.starved | ((fills != 0) & ~beat.valid)),
        ]
        return m

    def _make_weights(
        self, m: Module, head: Any, walk: WordWalk, packed: RegisterSlice, loads: Signal, offered: Signal, done: Signal,
        over: Value,
    ) -> ProductWriter:  # fmt: skip
        """Sends the words of a LOADW to the product writer, and keeps others out of the back meanwhile."""
        m.submodules.product = product = ProductWriter(self.config)
        makes_weights = Signal()
        m.d.comb += [
            product.start.eq(walk.i.valid & walk.i.ready & head.makes_weights),
            product.settings.eq(head.product),
            product.words.valid.eq(packed.o.valid & makes_weights),
            product.words.payload.eq(packed.o.payload),
        ]
        m.d.sync += makes_weights.eq(product.start | (makes_weights & ~product.done))
        with m.If(makes_weights | (head.makes_weights & (loads != 0))):
            m.d.comb += walk.i.valid.eq(0)
        with m.If(makes_weights):
            m.d.sync += offered.eq(0)
            m.d.comb += [packed.o.ready.eq(product.words.ready), done.eq(product.done & ~over)]
        connect(m, product.weights, flipped(self.weight_lanes))
        return product

    def _front(self, m: Module, layout: data.StructLayout, runs: RunGenerator, queue: RamFifo, stop: Signal) -> Value:
        """Takes an instruction, and hands on its runs and the fields that the back needs. Returns a signal that is high while
        it holds an instruction."""
        taken = Signal(layout)
        runs_due = Signal()
        back_due = Signal()
        silent = Signal()
        m.d.comb += self.instruction.ready.eq(~runs_due & ~back_due & ~stop)
        takes = Signal()
        takers = Spread(m, takes, self.instruction.valid & self.instruction.ready)
        takers.enable(taken, self.instruction.payload)
        with m.If(takes):
            m.d.sync += [runs_due.eq(1), back_due.eq(1)]
            load = self._as_load(m, taken)
        with m.Else():
            with m.If(silent | runs.i.ready):
                m.d.sync += runs_due.eq(0)
            with m.If(queue.w_rdy):
                m.d.sync += back_due.eq(0)

        loadp = taken.op.LOADP
        transfer = runs.i.payload
        moves = unit_rows(Unit.LOAD, self.config)
        is_load, apart, window = (Signal(name=name) for name in ("is_load", "apart", "window"))
        region = Signal(Region)
        m.d.comb += [
            is_load.eq(taken.opcode.matches(*(row.opcode for row in moves if row.name != "LOADP"))),
            apart.eq(load.step > load.run),
            window.eq(load.step < load.run),
            region.eq(Mux(is_load, load.region, loadp.region)),
            transfer.ticket.eq(taken.ticket),
            transfer.base.eq(pick(list(self.bases), region)),
            transfer.limit.eq(pick(list(self.limits), region)),
            transfer.offset.eq(Mux(is_load, load.offset, loadp.offset)),
            transfer.one_row.eq(~is_load | (load.rows == 1)),
            transfer.pieces.eq(load.pixels),
            transfer.single.eq(~(is_load & apart) | (load.pixels == 1)),
            transfer.tag.parameter.eq(~is_load),
            # LOADP has one row of one piece, so it does not need the following fields.
            transfer.rows.eq(load.rows),
            transfer.row_stride.eq(load.row_stride),
            transfer.step.eq(load.step),
            transfer.tag.lead.eq(load.lead),
            transfer.tag.flip.eq(load.flip),
        ]
        with m.If(is_load):
            m.d.comb += [silent.eq(load.valid == 0), transfer.bytes.eq(Mux(apart, load.run, load.valid))]
        with m.Else():
            config, count = self.config, loadp.count
            choose(m, config, loadp.buffer, transfer.bytes, lambda kind: _times(count, config.buffer_dram_bytes(kind.name)))
            with m.If(loadp.int4):
                m.d.comb += transfer.bytes.eq(_times(count, config.buffer_dram_bytes("WEIGHT", int4=True)))
        m.d.comb += [
            runs.i.valid.eq(runs_due & ~silent),
            queue.w_en.eq(back_due),
        ]
        self._hand_on(m, queue, taken, load, is_load, window, apart)
        return runs_due | back_due

    def _as_load(self, m: Module, taken: Any) -> Any:
        """The instruction that is taken now, as a LOAD. A LOADW becomes a LOAD of one row, whose feature-map words do not
        count."""
        if not self.config.build_products:
            return taken.op.LOAD
        op = self.instruction.payload.op
        load = Signal.like(op.LOAD, name="load")
        same = ("offset", "pixels", "fill", "step", "run", "lead", "region", "flip", "valid")
        is_loadw = self.instruction.payload.opcode == BY_NAME["LOADW"].opcode
        for name in op.LOAD.shape().members:
            as_loadw = op.LOADW[name] if name in same else int(name == "rows")
            m.d.sync += load[name].eq(Mux(is_loadw, as_loadw, op.LOAD[name]))
        return load

    def _hand_on(
        self, m: Module, queue: RamFifo, taken: Any, load: Any, is_load: Value, window: Value, apart: Value
    ) -> None:
        loadp = taken.op.LOADP
        back = data.View(back_layout(self.config), queue.w_data)
        i = Signal(walk_layout(self.config, cut_context(self.config)))
        fill = Signal(FILL_LAYOUT)
        m.d.comb += [
            back.is_load.eq(is_load),
            back.outside.eq(is_outside(m, fill, self.config)),
            back.of.as_value().eq(Mux(is_load, i.as_value(), fill.as_value())),
            fill.ticket.eq(taken.ticket),
            fill.buffer.eq(loadp.buffer),
            fill.dst.eq(loadp.dst),
            fill.count.eq(loadp.count),
            fill.int4.eq(loadp.int4),
            i.addr.eq(load.d_addr),
            i.row_step.eq(load.d_ys),
            i.pixel_step.eq(load.d_xs),
            i.vector_step.eq(load.d_cs),
            i.rows.eq(load.rows),
            i.pixels.eq(load.pixels),
            i.run.eq(load.run),
            i.context.ticket.eq(taken.ticket),
            i.context.fill.eq(load.fill),
            i.context.window.eq(window),
            i.context.step.eq(load.step),
            i.context.apart.eq(apart),
            i.context.empty.eq(load.valid == 0),
        ]
        if self.config.build_products:
            names = ("turned", "run", "fill", "w_addr", "w_step", "p_addr", "x_zp", "w_zp", "scale")
            m.d.comb += [
                back.makes_weights.eq(taken.opcode == BY_NAME["LOADW"].opcode),
                back.product.ticket.eq(taken.ticket),
                *(back.product[name].eq(taken.op.LOADW[name]) for name in names),
            ]

    def _connect_memories(self, m: Module, parameters: ParameterWriter, product: ProductWriter | None) -> None:
        for name in (*memories(self.config).values(), "table_write"):
            if product is None or name != MEMORIES[Buffer.PARAM]:
                connect(m, getattr(parameters, name), flipped(getattr(self, name)))
        if product is not None:
            for name in self.params.signature.members:
                filled, made = getattr(parameters.params, name), getattr(product.params, name)
                m.d.comb += getattr(self.params, name).eq(Mux(product.params.en, made, filled))

    def _faults(
        self, m: Module, runs: RunGenerator, packer: Packer, parameters: ParameterWriter, product: ProductWriter | None
    ) -> None:
        word = packer.words
        # The packer's conditions are the deepest, so they are looked at a cycle later. A word needs three to be written.
        spoilt, outside = (Signal(name=name) for name in ("spoilt", "outside"))
        spoilt_ticket, outside_ticket = (Signal(TICKET_BITS, name=name) for name in ("spoilt_ticket", "outside_ticket"))
        m.d.sync += [
            spoilt.eq(packer.error),
            spoilt_ticket.eq(packer.error_ticket),
            outside.eq(word.valid & word.ready & word.payload.outside),
            outside_ticket.eq(word.payload.context.ticket),
        ]
        latch_fault(m, self.fault, [
            (spoilt, Fault.READ_ERROR, spoilt_ticket),
            (outside, Fault.FM_ADDRESS, outside_ticket),
            (parameters.outside, Fault.BUFFER_ADDRESS, parameters.ticket),
            (parameters.error, Fault.READ_ERROR, parameters.ticket),
            *([(product.outside, Fault.BUFFER_ADDRESS, product.ticket)] if product else []),
            (runs.limited & runs.beyond, Fault.REGION_LIMIT, runs.ticket),  # the deepest of them
        ], halt=self.halt)


def _times(value: Value, constant: int) -> Value:
    """A product made by shifts and additions, so that it takes no multiplier."""
    parts = [value << bit for bit in range(constant.bit_length()) if constant >> bit & 1]
    return reduce(add, parts)[:RUN_BYTES_BITS]
