"""Benches on cases that random programs rarely meet: every bit of a region's limit, the most fill, crowded units, whole sums,
and numbers just beside a half."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from isa.buffers import REQUANT_WORD_BYTES
from isa.capabilities import built_units
from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import WRITABLE, Buffer, MiscMode, PoolMode, Region, RowMode, Unit
from isa.requantisation import packed
from isa.rows import B_SHIFT, F_STEP, MOST_F, norm_records
from isa.rows import SHIFTS as ROW_SHIFTS
from sim.random.footprint import ADDRESS_MODULUS
from sim.random.program import directed_program
from sim.rtl.memory import QUOTED, Dram
from sim.rtl.scenario import Scenario, token, whole

MEMORY_BYTES = 1 << 17
STARTS = 48
"""The programs in one run of the simulator."""
LIMIT_BITS = range(6, 32)
MOST_LEAD = (1 << 16) - 1
LONG_SIDE, LONG_PAD = 47, 154
"""A number of rows or columns with all but one of six bits set, and a padding that leaves some of them to be seen."""
CROWD = 12
"""The instructions of one unit in a row: more than can be in flight."""
PARAMS, INPUTS, RESULTS = 0x1000, 0x4000, 0x8000
SHIFTS, HALVES = 47, 64
"""The shifts that C has bits for, and the sums in one program."""
PRODUCTS = 16
"""The number of sets of records."""
SIZES = (0, 1, 2, 4, 8, 16, 32, 64, -1, -2, -3, -5, -9, -17, -33, -65)


def limit_bits(config: MachineConfig) -> Iterator[Scenario]:
    """Each bit of each region's limit alone. A move that ends at the limit is done; one that goes a byte beyond is refused.
    SAVE meets the limits of two regions."""
    size = config.axi_bytes
    run = {"rows": 1, "pixels": 1, "run": size, "step": size}
    starts = []
    for region in Region:
        for bit in LIMIT_BITS:
            where = {"region": int(region), "offset": (1 << bit) - size}
            load = Op("LOAD", {**run, **where, "valid": size, "d_xs": 1, "d_cs": 1, "d_addr": 8})
            save = Op("SAVE", {**run, **where, "s_xs": 1, "s_cs": 1, "s_addr": 8})
            for op in (load, save) if region in WRITABLE else (load,):
                starts += [(op, region, 1 << bit, short) for short in (0, 1)]
    for first in range(0, len(starts), STARTS):
        scenario = _scenario(config, {})
        for number, (op, region, limit, short) in enumerate(starts[first : first + STARTS]):
            # The base lies so far below the image that the last bytes of the region are within it.
            base = (RESULTS + number * size - limit + size) % (1 << config.axi_addr_bits)
            scenario.start(whole(config, op), bases={region: base}, limits={region: limit - short})
        yield scenario


def most_fill(config: MachineConfig) -> Iterator[Scenario]:
    """A row with as much fill before its first byte as an instruction can ask for, and one that is nothing but fill."""
    size = config.ic_p
    run = 16 * size
    pixels = MOST_LEAD // run + 4
    vectors = {"rows": 1, "pixels": pixels, "run": run, "step": run, "d_cs": 1, "fill": 77}
    behind = pixels * run - MOST_LEAD
    save = Op("SAVE", {"rows": 1, "pixels": 1, "run": run, "step": run, "s_cs": 1}, wait=frozenset({Unit.LOAD}))
    scenario = _scenario(config, {Region.INPUT: INPUTS, Region.OUTPUT: RESULTS})
    for number, lead in enumerate((MOST_LEAD, MOST_LEAD - 7, 1 << 15, 0)):
        values = {**vectors, "lead": lead, "valid": behind if lead else 0, "region": int(Region.INPUT)}
        load = Op("LOAD", values, signal=frozenset({Unit.SAVE}))
        where = {"region": int(Region.OUTPUT), "offset": number * run}
        scenario.start(whole(config, load, Op("SAVE", {**save.values, **where}, wait=save.wait)))
    yield scenario


def crowds(config: MachineConfig) -> Iterator[Scenario]:
    """More short instructions of each unit in a row than can be in flight, LOAD and LOADP in turn, on quick and on slow DRAM.
    The same program runs again at once."""
    parameters = [Op("LOADP", {"buffer": int(buffer), "count": 1}) for buffer in (Buffer.WEIGHT, Buffer.PARAM)] * CROWD
    loads = [Op("LOAD", {**token(Unit.LOAD).values, "valid": 1, "d_addr": 0, "fill": 3})] * CROWD
    save = token(Unit.SAVE).values
    saves = [Op("SAVE", {**save, "region": int(Region.OUTPUT), "offset": n}) for n in range(CROWD)]
    computed = [token(unit) for unit in built_units(config)[Unit.CONV :] for _ in range(CROWD)]
    handed = token(Unit.LOAD, signal=[Unit.SAVE]), token(Unit.SAVE, wait=[Unit.LOAD])
    words = whole(config, *parameters, *loads, *parameters[:3], *loads[:3], *computed, *handed, *saves)
    for dram in (QUOTED, Dram(latency=400)):
        scenario = _scenario(config, {Region.OUTPUT: RESULTS}, dram)
        scenario.start(words)
        scenario.start(words)
        yield scenario


def whole_sums(config: MachineConfig) -> Iterator[Scenario]:
    """Sums that are left in every accumulator, and with which another CONV goes on. They are small enough that no bit of them
    is lost."""
    rng = np.random.default_rng(5)
    pixels = config.acc_depth * config.px_p
    size = config.ic_p
    scenario = _scenario(config, {Region.INPUT: INPUTS, Region.OUTPUT: RESULTS})
    count = config.buffer_dram_bytes("WEIGHT")
    scenario.memory[:count] = rng.integers(-1, 2, count).astype(np.int8).view(np.uint8)
    scenario.memory[INPUTS : INPUTS + pixels * size] = rng.integers(0, 128 // size, pixels * size).astype(np.uint8)
    one = np.array([0, 1 << 23 | 23 << 24], "<u4").view(np.uint8)
    scenario.memory[PARAMS : PARAMS + config.oc_p * REQUANT_WORD_BYTES] = np.tile(one, config.oc_p)
    scenario.expected[:] = scenario.memory
    row = {"rows": 1, "pixels": pixels, "run": size, "step": size}
    window = dict.fromkeys(("s_y", "s_x", "k_h", "k_w", "d_y", "d_x", "vectors", "chunks", "o_xs", "o_h", "i_h"), 1)
    window |= dict.fromkeys(("i_w", "i_ys", "o_w", "o_ys", "o_addr", "o_cs"), pixels) | {"lo": -128, "hi": 127}
    words = whole(
        config,
        Op("LOADP", {"buffer": int(Buffer.WEIGHT), "count": 1}),
        Op("LOADP", {"buffer": int(Buffer.PARAM), "count": 1, "offset": PARAMS}),
        Op("LOAD", {**row, "valid": pixels * size, "region": int(Region.INPUT), "d_xs": 1}, signal=frozenset({Unit.CONV})),
        Op("CONV", {**window, "acc_out": 1}, wait=frozenset({Unit.LOAD})),
        Op("CONV", {**window, "acc_in": 1, "w_zp": 0}, signal=frozenset({Unit.SAVE})),
        Op("SAVE", {**row, "region": int(Region.OUTPUT), "s_addr": pixels, "s_xs": 1}, wait=frozenset({Unit.CONV})),
    )
    scenario.start(words)
    yield scenario


def beside_halves(config: MachineConfig) -> Iterator[Scenario]:
    """Sums of MISC that are a half, and one bit more or less, for every shift and every bit below, on numbers of every size."""
    if not config.build_misc:
        return
    scenario = _scenario(config, {Region.INPUT: INPUTS, Region.OUTPUT: RESULTS})
    size = config.ic_p
    count = -(-len(SIZES) // size)
    scenario.memory[INPUTS : INPUTS + len(SIZES)] = np.array(SIZES, np.int8).view(np.uint8)
    scenario.expected[:] = scenario.memory
    row = {"rows": 1, "run": size, "step": size}
    load = {**row, "pixels": count, "valid": count * size, "region": int(Region.INPUT), "d_xs": 1}
    sums = [(shift, sign << bit) for shift in range(1, SHIFTS) for bit in range(shift - 1) for sign in (1, -1)]
    good = {**token(Unit.MISC).values, "n4": count, "a_s4": 1, "o_s4": 1}
    for first in range(0, len(sums), HALVES):
        ops = []
        for number, (shift, beside) in enumerate(sums[first : first + HALVES]):
            constant = (1 << shift - 1) + beside
            values = {"mode": int(MiscMode.PASS), "m_a": 1 << min(shift, 24), "shift": shift, "lo": -128, "hi": 127}
            values |= {"c_lo": constant & 0xFFFFFFFF, "c_hi": constant >> 32}
            ops.append(Op("MISC", {**good, **values, "o_addr": count * (1 + number)}))
        ops[0] = Op("MISC", ops[0].values, wait=frozenset({Unit.LOAD}))
        ops[-1] = Op("MISC", ops[-1].values, ops[-1].wait, signal=frozenset({Unit.SAVE}))
        where = {"region": int(Region.OUTPUT), "offset": first * count * size, "s_addr": count, "s_xs": 1}
        save = Op("SAVE", {**row, "pixels": count * len(ops), **where}, wait=frozenset({Unit.MISC}))
        scenario.start(whole(config, Op("LOAD", load, signal=frozenset({Unit.MISC})), *ops, save))
    yield scenario


def products_near_halves(config: MachineConfig) -> Iterator[Scenario]:
    """Biases and factors whose products are as near to a half as they can be, so that each bit of the product decides some of
    them."""
    rng = np.random.default_rng(7)
    size = config.ic_p
    chunks = min(config.param_depth, config.weight_depth, config.fm_words // 4 // config.words_per_chunk)
    window = dict.fromkeys(("s_y", "s_x", "k_h", "k_w", "d_y", "d_x", "vectors", "o_xs", "o_h", "o_w", "i_h", "i_w", "o_cs"), 1)
    conv = {**window, "chunks": chunks, "o_addr": 1, "lo": -128, "hi": 127}
    vectors = -(-chunks * config.oc_p // size)
    lanes = chunks * config.oc_p
    of_records = lanes * REQUANT_WORD_BYTES
    bases = {Region.INPUT: INPUTS, Region.OUTPUT: RESULTS}
    scenario = _scenario(config, bases, memory_bytes=MEMORY_BYTES + PRODUCTS * of_records)
    scenario.memory[INPUTS : INPUTS + size] = scenario.expected[INPUTS : INPUTS + size] = 0
    for number in range(PRODUCTS):
        factors = rng.integers(1 << 23, 1 << 26, lanes)
        wanted = (rng.integers(-120, 120, lanes) + 0.5) * (1 << 40)
        biases = np.rint(wanted / factors).astype(np.int64)
        records = packed(biases, factors, np.full(lanes, 40))
        at = MEMORY_BYTES + number * of_records
        scenario.memory[at : at + of_records] = scenario.expected[at : at + of_records] = records.view(np.uint8)
        words = whole(
            config,
            Op("LOADP", {"buffer": int(Buffer.WEIGHT), "count": chunks}),
            Op("LOADP", {"buffer": int(Buffer.PARAM), "count": chunks, "offset": at}),
            Op("LOAD", {"rows": 1, "pixels": 1, "run": size, "step": size, "valid": size, "region": int(Region.INPUT)},
               signal=frozenset({Unit.CONV})),
            Op("CONV", conv, wait=frozenset({Unit.LOAD}), signal=frozenset({Unit.SAVE})),
            Op("SAVE", {"rows": 1, "pixels": vectors, "run": size, "step": size, "s_addr": 1, "s_xs": 1,
                        "region": int(Region.OUTPUT), "offset": number * vectors * size}, wait=frozenset({Unit.CONV})),
        )  # fmt: skip
        scenario.start(words)
    yield scenario


def rows_beside_halves(config: MachineConfig) -> Iterator[Scenario]:
    """Normalised values that are a half, and a bit of ``B`` more or less, for every shift, beside even and odd numbers. All
    lanes of a word have the same value."""
    if not config.build_rows:
        return
    bases = {Region.INPUT: INPUTS, Region.OUTPUT: RESULTS}
    size, channels = config.ic_p, config.row_words * config.ic_p
    of_records = 8 * channels
    cases = []
    for shift in range(ROW_SHIFTS):
        half = 1 << MOST_F - F_STEP * shift - B_SHIFT - 1
        besides = [0, *(sign << bit for bit in range(half.bit_length() - 1) for sign in (1, -1))]
        numbers = [(2 * number + 1) * half + beside for beside in besides for number in (2, -5)]
        cases += [(shift, numbers[first : first + config.row_words]) for first in range(0, len(numbers), config.row_words)]
    scenario = _scenario(config, bases, memory_bytes=MEMORY_BYTES + len(cases) * of_records)
    for number, (shift, wanted) in enumerate(cases):
        b = np.repeat(np.resize(np.array(wanted, np.int64), config.row_words), size)
        records = norm_records(np.zeros(channels, np.int64), b).reshape(-1)
        at = MEMORY_BYTES + number * of_records
        scenario.memory[at : at + of_records] = scenario.expected[at : at + of_records] = records
        moved = {"rows": 1, "pixels": config.row_words, "run": size, "step": size}
        row = {**token(Unit.ROW).values, "n0": 1, "n1": 1, "words": config.row_words, "last_lanes": size, "a_cs": 1, "o_cs": 1}
        values = {"o_addr": config.row_words, "mode": int(RowMode.NORMALISE), "k_lo": 1, "shift": shift, "lo": -128, "hi": 127}
        words = whole(
            config,
            Op("LOADP", {"buffer": int(Buffer.NORM), "count": config.row_words, "offset": at}),
            Op("LOAD", {**moved, "valid": channels, "region": int(Region.INPUT), "d_xs": 1}, signal=frozenset({Unit.ROW})),
            Op("ROW", {**row, **values}, wait=frozenset({Unit.LOAD}), signal=frozenset({Unit.SAVE})),
            Op("SAVE", {**moved, "s_addr": config.row_words, "s_xs": 1, "region": int(Region.OUTPUT),
                        "offset": number * channels}, wait=frozenset({Unit.ROW})),
        )  # fmt: skip
        scenario.start(words)
    yield scenario


def large_windows(config: MachineConfig) -> Iterator[Scenario]:
    """CONV and POOL with outputs, kernels, strides, dilations or padding that are large together, as far as the feature maps
    have room."""
    half = config.fm_words // 2
    shapes = [(3, 1, 1, True, 0), (3, 1, 2, False, 0), (7, 1, 1, True, 0), (2, 2, 3, False, 0)]
    for kernel, stride, dilation, tall, more in (*shapes, (5, 5, 1, True, LONG_PAD), (5, 5, 1, False, LONG_PAD)):
        pad = kernel // 2 * dilation
        pad_t, pad_l = pad + more * tall, pad + more * (not tall)
        rows = LONG_SIDE
        columns = max(1, min(half // stride**2 // rows, LONG_SIDE))
        o_h, o_w = (rows, columns) if tall else (columns, rows)
        v = {"k_h": kernel, "k_w": kernel, "s_y": stride, "s_x": stride, "d_y": dilation, "d_x": dilation, "vectors": 1}
        v |= {"pad_t": pad_t, "pad_l": pad_l, "i_h": o_h * stride, "i_w": o_w * stride, "o_h": o_h, "o_w": o_w, "o_xs": 1}
        pitch = v["i_w"]
        v |= {"i_ys": stride * pitch, "t_ys": dilation * pitch, "i_off": -pad_t * pitch % ADDRESS_MODULUS, "o_addr": half}
        v |= {"o_ys": o_w, "o_cs": o_h * o_w, "lo": -128, "hi": 127}
        yield _directed(config, Op("CONV", {**v, "chunks": 1}))
        if config.build_pool:
            yield _directed(config, Op("POOL", {**v, "mode": int(PoolMode.DEPTHWISE), "t_step": kernel**2}))


def many_channels(config: MachineConfig) -> Iterator[Scenario]:
    """CONV over many channel vectors, to many chunks and to groups of many chunks; POOL over many channel vectors."""
    side = 4
    half, plane = config.fm_words // 2, side**2
    v = dict.fromkeys(("k_h", "k_w", "s_y", "s_x", "d_y", "d_x", "o_xs"), 1)
    v |= dict.fromkeys(("i_h", "i_w", "o_h", "o_w", "i_ys", "t_ys", "o_ys"), side)
    v |= {"i_cs": plane, "o_cs": plane, "o_addr": half, "lo": -128, "hi": 127}
    vectors = min(LONG_SIDE, half // plane, config.weight_depth)
    chunks = min(LONG_SIDE, half // plane // config.words_per_chunk, config.weight_depth, config.param_depth)
    yield _directed(config, Op("CONV", {**v, "vectors": vectors, "chunks": 1}))
    yield _directed(config, Op("CONV", {**v, "vectors": 1, "chunks": chunks}))
    yield _directed(config, Op("CONV", {**v, "vectors": 1, "chunks": chunks, "g_chunks": min(11, chunks), "g_step": plane}))
    if config.build_pool:
        yield _directed(config, Op("POOL", {**v, "vectors": vectors, "mode": int(PoolMode.MAX)}))


def _directed(config: MachineConfig, op: Op) -> Scenario:
    """A scenario of the instruction alone, after those that define all that it reads."""
    program = directed_program(config, [op])
    scenario = Scenario(config, program.memory, program.bases)
    scenario.start(program.words)
    return scenario


def _scenario(
    config: MachineConfig, bases: Mapping[Region, int], dram: Dram = QUOTED, memory_bytes: int = MEMORY_BYTES
) -> Scenario:
    memory = np.random.default_rng(3).integers(0, 256, memory_bytes, np.uint8)
    return Scenario(config, memory, {region: bases.get(region, 0) for region in Region}, dram=dram)
