"""The instruction set, declared once.

Encoder, decoder, assembler, disassembler, the hardware's layouts and the ISA reference are all made
from ``INSTRUCTIONS``. What each instruction computes is written in ``docs/reference/semantics.md``.
"""

from __future__ import annotations

import enum

from isa.shared_fields import DRAM, PIXEL_RULES, RING_RULE, WINDOW, fm
from isa.table import Field, Instruction, Rule, TableError, reserved


class Unit(enum.IntEnum):
    """The units that run in parallel; the value is the bit in the ``wait`` and ``signal`` masks."""

    LOAD = 0
    SAVE = 1
    CONV = 2
    POOL = 3
    MISC = 4
    ROW = 5
    # The hash of the number. An enumeration computes its own in Python, a million times in a compilation.
    __hash__ = int.__hash__


class Buffer(enum.IntEnum):
    """What LOADP can fill."""

    WEIGHT = 0
    PARAM = 1
    TAPS = 2
    POOL_PARAM = 3
    TABLE = 4
    EXP = 5
    NORM = 6
    __hash__ = int.__hash__


OF_ROWS = (Buffer.EXP, Buffer.NORM)
"""The buffers that ROW alone reads."""


OF_PRODUCTS = "LOADW"
"""The instruction that machines without ``build_products`` lack."""


ACT16 = "act16"
"""The switch of activations of sixteen bits."""


class Region(enum.IntEnum):
    """DRAM regions: an offset in an instruction counts from the base register of its region."""

    CONST = 0
    WORK = 1
    INPUT = 2
    OUTPUT = 3


WRITABLE = (Region.WORK, Region.OUTPUT)
"""The regions that SAVE may write, which have their lowest bit set. The others are read only."""


class Activation(enum.IntEnum):
    NONE = 0
    TABLE = 1


class PoolMode(enum.IntEnum):
    MAX = 0
    AVERAGE = 1
    DEPTHWISE = 2


class MiscMode(enum.IntEnum):
    ADD = 0
    MUL = 1
    PASS = 2
    MAX = 3
    MIN = 4
    SLOPE = 5
    SUM = 6
    HIGHEST = 7


class RowMode(enum.IntEnum):
    SOFTMAX = 0
    NORMALISE = 1
    RMS = 2


MISC_REDUCTIONS = (MiscMode.SUM, MiscMode.HIGHEST)
MISC_ALONE = (MiscMode.PASS, *MISC_REDUCTIONS)
"""Modes that do not read operand B."""


HEADER: tuple[Field, ...] = (
    Field("opcode", 4, "which instruction"),
    Field("length", 5, "32-bit words, this one included"),
    Field("wait", len(Unit), "units from which one token each is taken before the instruction starts"),
    Field("signal", len(Unit), "units to which one token each is given once every write of the instruction is visible"),
    reserved(32 - 4 - 5 - 2 * len(Unit)),
)

MAX_REDUCED_LANES = 1024
"""What MISC sums without loss (``hw/misc/reduce.py``)."""
_POST: tuple[Field, ...] = (
    Field("zp", 8, "zero-point of the output, added after rounding", signed=True),
    Field("lo", 8, "least output", signed=True),
    Field("hi", 8, "greatest output", signed=True),
    Field("act", 1, "activation", enum=Activation),
    Field("table", 2, "activation table"),
    reserved(5),
)
_TABLE_RULE = Rule("table < the tables of the configuration", lambda f, c: f.table < c.tables)

INSTRUCTIONS: tuple[Instruction, ...] = (
    Instruction(
        "START", 1, None,
        "First instruction of a program: the machine refuses a program made for another configuration.",
        ((Field("config", 32, "hash of the configuration"),),),
    ),
    Instruction(
        "END", 2, None,
        "Last instruction: when every unit is idle and every write has reached DRAM, the machine is done.",
        (),
    ),
    Instruction(
        "LOAD", 3, Unit.LOAD,
        "Rows of pixels from DRAM into the feature-map buffer; fills padding; folds overlapping windows into channels.",
        (
            DRAM,
            (
                Field("rows", 12, "rows", nonzero=True),
                Field("pixels", 12, "pixels in a row", nonzero=True),
                Field("fill", 8, "byte for padding and for lanes without a channel", signed=True),
            ),
            (Field("row_stride", 32, "bytes from row to row (modulo 2^32)"),),
            (
                Field("step", 16, "bytes from pixel to pixel"),
                Field("run", 16, "bytes of a pixel", nonzero=True),
            ),
            (
                Field("lead", 16, "bytes of fill before the first byte of each row"),
                Field("region", 2, "DRAM region", enum=Region),
                Field("flip", 1, "toggle the top bit of every byte from DRAM (uint8 <-> int8)"),
                Field("d_xs", 8, "words from pixel to pixel on chip"),
                reserved(5),
            ),
            (Field("valid", 28, "bytes of each row that come from DRAM; fill follows"), reserved(4)),
            (fm("d_addr", "first feature-map word"), reserved(12)),
            (fm("d_ys", "words from row to row on chip"), reserved(12)),
            (fm("d_cs", "words from one channel vector to the next"), reserved(12)),
        ),
        PIXEL_RULES,
    ),
    Instruction(
        "LOADP", 4, Unit.LOAD,
        "Words of weights, requantisation records, depthwise taps or activation tables from DRAM.",
        (
            (Field("offset", 32, "first byte, from the base of the region; the address must be a multiple of the AXI beat"),),
            (
                Field("dst", 16, "first word of the buffer"),
                Field("count", 16, "words", nonzero=True),
            ),
            (
                Field("buffer", 3, "which buffer", enum=Buffer),
                Field("region", 2, "DRAM region", enum=Region),
                Field("int4", 1, "weights of four bits: each byte of a beat holds one of a column (bits 0 to 3) and one of the next"),
                reserved(26),
            ),
        ),
        (
            Rule("int4 needs buffer = WEIGHT", lambda f, c: (f.int4 == 0) | (f.buffer == Buffer.WEIGHT)),
            Rule("offset is a multiple of the AXI beat", lambda f, c: (f.offset & (c.axi_bytes - 1)) == 0),
            Rule("EXP and NORM need build_rows", lambda f, c: f.buffer <= (Buffer.NORM if c.build_rows else Buffer.TABLE).value),
        ),
    ),
    Instruction(
        "SAVE", 5, Unit.SAVE,
        "Rows of pixels from the feature-map buffer to DRAM, with free strides: concat, split and reorg cost nothing.",
        (
            DRAM,
            (
                Field("rows", 12, "rows", nonzero=True),
                Field("pixels", 12, "pixels in a row", nonzero=True),
                Field("region", 2, "DRAM region", enum=Region),
                Field("flip", 1, "toggle the top bit of every byte (int8 <-> uint8)"),
                reserved(5),
            ),
            (Field("row_stride", 32, "bytes from row to row (modulo 2^32)"),),
            (
                Field("step", 16, "bytes from pixel to pixel"),
                Field("run", 16, "bytes of a pixel", nonzero=True),
            ),
            (fm("s_addr", "first feature-map word"), Field("s_xs", 8, "words from pixel to pixel on chip"), reserved(4)),
            (fm("s_ys", "words from row to row on chip"), reserved(12)),
            (fm("s_cs", "words from one channel vector to the next"), reserved(12)),
        ),
        (
            Rule("run <= step: saved pixels must not overlap", lambda f, c: f.run <= f.step),
            Rule("region is WORK or OUTPUT: CONST and INPUT are read only", lambda f, c: (f.region & 1) != 0),
        ),
    ),
    Instruction(
        "CONV", 6, Unit.CONV,
        "A tile of convolution: dense, grouped, dilated, or one phase of a transposed convolution.",
        (
            *WINDOW,
            (fm("o_addr", "output: word of row 0, column 0, chunk 0"), Field("chunks", 12, "chunks of oc_p output channels", nonzero=True)),
            (fm("o_ys", "words from one output row to the next"), Field("g_chunks", 12, "chunks in a group of a grouped convolution; 0: one group")),
            (
                fm("o_cs", "words from one output channel vector to the next"),
                Field("acc_in", 1, "start from the accumulators that an earlier CONV left"),
                Field("acc_out", 1, "leave int32 sums in the accumulator buffer, write no output"),
                Field("w_zp", 8, "zero-point of the weights; with x16, whose weights have none, the low byte of a padding pixel", signed=True),
                Field("x16", 1, "inputs of 16 bits: channel vectors come in twos, low bytes and high bytes", needs=ACT16),
                Field("y16", 1, "outputs of 16 bits: of each channel vector the low bytes, then the high bytes", needs=ACT16),
            ),
            (
                Field("g_step", 24, "words from the first channel vector of one group to that of the next", words=True),
                Field("zp_high", 8, "with y16 bits 8 to 15 of zp", needs=ACT16),
            ),
            (Field("w_addr", 16, "first weight word"), Field("p_addr", 16, "first parameter word: one for each chunk")),
            _POST,
            (
                Field("a_addr", 16, "first accumulator entry"),
                Field("lo_high", 8, "with y16 bits 8 to 15 of lo", needs=ACT16),
                Field("hi_high", 8, "with y16 bits 8 to 15 of hi", needs=ACT16),
            ),
        ),
        (
            RING_RULE,
            _TABLE_RULE,
            Rule("with x16 vectors are even", lambda f, c: (f.x16 == 0) | ((f.vectors & 1) == 0), needs=ACT16),
            Rule("y16 has no table", lambda f, c: (f.y16 == 0) | (f.act == Activation.NONE.value), needs=ACT16),
        ),
    ),
    Instruction(
        "POOL", 7, Unit.POOL,
        "A tile of window operations that keep channels apart: maximum, average, depthwise convolution.",
        (
            *WINDOW,
            (fm("o_addr", "output: word of row 0, column 0, channel vector 0"), reserved(12)),
            (fm("o_ys", "words from one output row to the next"), reserved(12)),
            (
                fm("o_cs", "words from one output channel vector to the next"),
                Field("mode", 2, "what is done with a window", enum=PoolMode),
                Field("by_count", 1, "AVERAGE: padding is left out, and the parameter word is chosen by the pixels counted"),
                Field("w_zp", 8, "DEPTHWISE: subtracted from every tap", signed=True),
                reserved(1),
            ),
            (Field("t_addr", 16, "DEPTHWISE: first tap word"), Field("t_step", 16, "tap words from one channel vector to the next")),
            (Field("p_addr", 16, "first parameter word"), Field("p_step", 16, "parameter words from one channel vector to the next")),
            _POST,
        ),
        (
            RING_RULE,
            _TABLE_RULE,
            Rule("by_count is for AVERAGE", lambda f, c: (f.by_count == 0) | (f.mode == PoolMode.AVERAGE.value)),
        ),
    ),
    Instruction(
        "MISC", 8, Unit.MISC,
        "Element-wise work over five nested loops with free strides: add, multiply, maximum, minimum, slope for negative values, "
        "requantise, table, resize, reorg; sum and maximum over lanes.",
        (
            (fm("a_addr", "first word of operand A"), Field("n0", 12, "iterations of the outermost loop", nonzero=True)),
            (fm("b_addr", "first word of operand B"), Field("n1", 12, "iterations", nonzero=True)),
            (fm("o_addr", "first word of the output"), Field("n2", 12, "iterations", nonzero=True)),
            (fm("a_s0", "words of A per iteration of loop 0"), Field("n3", 12, "iterations", nonzero=True)),
            (fm("a_s1", "words of A per iteration of loop 1"), Field("n4", 12, "iterations of the innermost loop", nonzero=True)),
            (fm("a_s2", "words of A per iteration of loop 2"), Field("a_zp", 8, "subtracted from A (not in SUM and HIGHEST)", signed=True), reserved(4)),
            (fm("a_s3", "words of A per iteration of loop 3"), Field("b_zp", 8, "subtracted from B", signed=True), reserved(4)),
            (
                fm("a_s4", "words of A per iteration of loop 4"), Field("mode", 3, "what is computed", enum=MiscMode),
                Field("b_one", 1, "every lane sees lane b_lane of B"), Field("b_lane", 6, "which lane"), reserved(2),
            ),
            (
                fm("b_s0", "words of B per iteration of loop 0"),
                Field("last_lanes", 7, "SUM, HIGHEST: lanes of the last word of loop 4 that count"), reserved(5),
            ),
            *((fm(f"b_s{n}", f"words of B per iteration of loop {n}"), reserved(12)) for n in range(1, 5)),
            *((fm(f"o_s{n}", f"words of the output per iteration of loop {n}"), reserved(12)) for n in range(5)),
            (Field("m_a", 26, "factor of A, or of the product (MUL, SLOPE)", signed=True), Field("shift", 6, "bits shifted out after the sum")),
            (Field("m_b", 26, "factor of B (ADD, MAX, MIN), of A where it is not negative (SLOPE)", signed=True), reserved(6)),
            (Field("c_lo", 32, "bits 0 to 31 of the constant C that is added before the shift"),),
            (Field("c_hi", 16, "bits 32 to 47 of C, signed", signed=True), reserved(16)),
            _POST,
        ),
        (
            _TABLE_RULE,
            Rule("b_lane < ic_p: lane of B", lambda f, c: f.b_lane < c.ic_p),
            Rule(
                "SUM and HIGHEST write once in loop 4: o_s4 = 0, and take 1024 lanes at most",
                lambda f, c: (f.mode < MiscMode.SUM.value) | ((f.o_s4 == 0) & (f.n4 <= MAX_REDUCED_LANES // c.ic_p)),
            ),
            Rule(
                "1 <= last_lanes <= ic_p in SUM and HIGHEST",
                lambda f, c: (f.mode < MiscMode.SUM.value) | ((f.last_lanes != 0) & (f.last_lanes <= c.ic_p)),
            ),
        ),
    ),
    Instruction(
        "ROW", 9, Unit.ROW,
        "Softmax or normalisation of rows: of each, all channels of one pixel.",
        (
            (fm("a_addr", "first word of the first row"), Field("n0", 12, "rows: iterations of the outer loop", nonzero=True)),
            (fm("o_addr", "first word of its results"), Field("n1", 12, "rows: iterations of the inner loop", nonzero=True)),
            (fm("a_s0", "words from row to row of loop 0"), Field("words", 12, "words of a row", nonzero=True)),
            (
                fm("a_s1", "words from row to row of loop 1"), Field("last_lanes", 7, "lanes of its last word that count"),
                Field("mode", 2, "what is computed", enum=RowMode), reserved(3),
            ),
            (
                fm("a_cs", "words from one word of a row to the next"),
                Field("a_zp", 8, "subtracted first (not in SOFTMAX)", signed=True),
                Field("shift", 2, "bits, by three, that NORM's factors lack"), reserved(2),
            ),
            (fm("o_s0", "words of the output from row to row of loop 0"), reserved(12)),
            (fm("o_s1", "words of the output from row to row of loop 1"), reserved(12)),
            (fm("o_cs", "words from one word of a result to the next"), reserved(12)),
            (Field("p_addr", 16, "first word of NORM (not in SOFTMAX)"), reserved(16)),
            (Field("k_lo", 32, "bits 0 to 31 of the constant K below the root"),),
            (Field("k_hi", 16, "bits 32 to 47 of K"), reserved(16)),
            (*_POST[:3], reserved(8)),
        ),
        (
            Rule("words <= row_words of the configuration", lambda f, c: f.words <= c.row_words),
            Rule("1 <= last_lanes <= ic_p", lambda f, c: (f.last_lanes != 0) & (f.last_lanes <= c.ic_p)),
            Rule("K is 0 in SOFTMAX alone", lambda f, c: (f.mode == RowMode.SOFTMAX.value) | (f.k_lo + f.k_hi != 0)),
        ),
    ),
    Instruction(
        "LOADW", 10, Unit.LOAD,
        "Pixels of a map from DRAM as weights of CONV, with the records that belong to them: products of two activations.",
        (
            DRAM,
            (
                Field("pixels", 12, "pixels", nonzero=True),
                Field("fill", 8, "byte for padding and for lanes without a channel", signed=True),
                Field("w_zp", 8, "zero-point of the weights", signed=True),
                Field("region", 2, "DRAM region", enum=Region),
                Field("flip", 1, "toggle the top bit of every byte from DRAM (uint8 <-> int8)"),
                Field("turned", 1, "0: pixels are inputs and channels are outputs; 1: the other way round"),
            ),
            (
                Field("step", 16, "bytes from pixel to pixel"),
                Field("run", 16, "bytes of a pixel", nonzero=True),
            ),
            (Field("valid", 28, "bytes that come from DRAM; fill follows"), reserved(4)),
            (
                Field("lead", 16, "bytes of fill before the first byte"),
                Field("x_zp", 8, "zero-point of the inputs that CONV multiplies", signed=True),
                reserved(8),
            ),
            (Field("w_addr", 16, "first weight word"), Field("p_addr", 16, "first parameter word: one for each chunk")),
            (Field("w_step", 16, "words from the weights of one chunk to those of the next (not if turned)"), reserved(16)),
            (Field("scale", 32, "bits 32 to 63 of every record: mantissa, nibbles, doubled"),),
        ),
        (
            *PIXEL_RULES,
            Rule("run <= ic_p unless turned: one channel vector at a time", lambda f, c: (f.turned == 1) | (f.run <= c.ic_p)),
        ),
    ),
)  # fmt: skip

BY_NAME: dict[str, Instruction] = {i.name: i for i in INSTRUCTIONS}
BY_OPCODE: dict[int, Instruction] = {i.opcode: i for i in INSTRUCTIONS}
MAX_LENGTH = max(i.length for i in INSTRUCTIONS)

if len(BY_NAME) != len(INSTRUCTIONS) or len(BY_OPCODE) != len(INSTRUCTIONS):
    raise TableError("two instructions share a name or an opcode")
if 0 in BY_OPCODE:
    raise TableError("opcode 0 must stay illegal, so that a run into cleared memory stops")
if max(BY_OPCODE) >= 1 << HEADER[0].bits or 1 << HEADER[1].bits <= MAX_LENGTH or sum(f.bits for f in HEADER) != 32:
    raise TableError("the header cannot hold every opcode and length")
