"""The benches: scenarios for the machine, which run on every configuration that can be built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from isa.capabilities import built_units
from isa.codec import Op, encode
from isa.config import MachineConfig
from isa.faults import TOKEN_MAX, Fault
from isa.instructions import Buffer, Region, Unit
from sim.random.program import RandomProgram, directed_program, random_program
from sim.rtl.extremes import (
    beside_halves,
    crowds,
    large_windows,
    limit_bits,
    many_channels,
    most_fill,
    products_near_halves,
    rows_beside_halves,
    whole_sums,
)
from sim.rtl.limits import region_limits
from sim.rtl.places import ONE_PIXEL, all_tokens, fault_places, field_rules, long_programs
from sim.rtl.scenario import Scenario, token, whole
from sim.rtl.stops import aborts, setup, slow_memory

STARTS = 8
"""The programs in one run of the simulator: as many as the script of the host can hold."""
MEMORY_BYTES = 1 << 16
PLAYS_SCENARIO = "plays_scenario"
"""The cocotb test in ``sim.rtl.cocotb_tests`` that plays scenarios."""
BASES = {Region.CONST: 0, Region.WORK: 0x4000, Region.INPUT: 0x8000, Region.OUTPUT: 0xC000}


@dataclass(frozen=True)
class Bench:
    """One bench. The host in HDL plays its ``scenarios``; a bench without them drives the registers itself."""

    name: str
    doc: str
    test: str = PLAYS_SCENARIO
    """The name of its cocotb test in ``sim.rtl.cocotb_tests``."""
    scenarios: Callable[[MachineConfig], Iterator[Scenario]] | None = None


def programs(config: MachineConfig) -> Iterator[Scenario]:
    """Random programs over all units, without stalls."""
    for seed in range(2):
        yield _of_program(random_program(config, seed, size=6), None)


def back_pressure(config: MachineConfig) -> Iterator[Scenario]:
    """The same random program under different stalls. With the second seed it runs twice in a row."""
    program = random_program(config, 7, size=5)
    for seed in (1, 2):
        scenario = _of_program(program, seed)
        if seed == 2:
            scenario.start(program.words)
        yield scenario


def protocol(config: MachineConfig) -> Iterator[Scenario]:
    """Moves of all alignments and lengths, across 4 KB borders, with single pixels and with long rows, under stalls."""
    size = config.ic_p
    for seed in (None, 11):
        ops = []
        for n, offset in enumerate((0, 1, config.axi_bytes - 1, 4096 - 3, 4096 - config.axi_bytes, 5000)):
            pixels = max(1, 250 // size)
            row = {"rows": 2, "pixels": pixels, "run": size, "step": size, "offset": offset}
            row["row_stride"] = pixels * size + 7 * n
            ops.append(Op("LOAD", {**row, "valid": pixels * size, "region": 2, "d_xs": 1, "d_ys": pixels}))
            ops.append(Op("SAVE", {**row, "region": 1 + 2 * (n & 1), "s_xs": 1, "s_ys": pixels}))
        sparse = {"rows": 1, "pixels": 40, "run": 3, "step": 50, "offset": 4000}
        ops.append(Op("LOAD", {**sparse, "valid": 1, "region": 2, "d_xs": 1}))
        ops.append(Op("SAVE", {**sparse, "region": 1, "s_xs": 1, "offset": 8000}))
        yield _of_program(directed_program(config, ops), seed)


def tokens(config: MachineConfig) -> Iterator[Scenario]:
    """Tokens between all pairs of units, each unit to itself included, as many as the counters hold, and with a giver that runs
    ahead; then one token too many in program order."""
    units = built_units(config)
    scenario = _scenario(config)
    ring = []
    for giver in units:
        ring.append(token(giver, signal=units))
        ring += [token(taker, wait=[giver]) for taker in units]
    scenario.start(whole(config, *ring))
    full = [token(Unit.LOAD, signal=[Unit.LOAD])] * TOKEN_MAX
    scenario.start(whole(config, *full, *[token(Unit.LOAD, wait=[Unit.LOAD])] * TOKEN_MAX))
    scenario.start(whole(config, *running_ahead()))
    scenario.start(whole(config, *full, token(Unit.LOAD, signal=[Unit.LOAD])), watchdog=5000)
    scenario.start(whole(config, *ring))
    yield scenario


def running_ahead() -> Iterator[Op]:
    """A sequential program with 252 tokens on the way from LOAD to SAVE. LOAD gives more before SAVE takes them, since SAVE is
    busy with an instruction of its own."""
    ahead = 252
    slow = token(Unit.SAVE, signal=[Unit.LOAD])
    slow = replace(slow, values={**slow.values, "rows": 60, "pixels": 50, "step": 1, "run": 1, "row_stride": 50})
    yield from [token(Unit.LOAD, signal=[Unit.SAVE])] * ahead
    yield slow
    for _ in range(12):
        yield token(Unit.SAVE, wait=[Unit.LOAD])
        yield token(Unit.LOAD, signal=[Unit.SAVE])
    yield from [token(Unit.SAVE, wait=[Unit.LOAD])] * ahead
    yield token(Unit.LOAD, wait=[Unit.SAVE])


def error_responses(config: MachineConfig) -> Iterator[Scenario]:
    """DRAM refuses a LOAD, a LOADP, a SAVE, and a fetch. After each the next program runs undisturbed."""
    outside = MEMORY_BYTES
    good = [token(Unit.LOAD, signal=[Unit.SAVE]), token(Unit.SAVE, wait=[Unit.LOAD])]
    row = {"rows": 1, "pixels": 30, "run": config.ic_p, "step": config.ic_p}
    for seed in (None, 5):
        scenario = _scenario(config, seed)
        scenario.start(whole(config, *good, Op("LOAD", {**row, "valid": 30 * config.ic_p, "d_xs": 1, "offset": outside - 64})))
        scenario.start(whole(config, *good))
        scenario.start(whole(config, *good, Op("LOADP", {"count": 4, "offset": outside})))
        scenario.start(whole(config, *good))
        scenario.start(whole(config, *good, Op("SAVE", {**row, "region": 1, "s_xs": 1, "offset": outside})))
        scenario.start(whole(config, *good))
        scenario.start_at(1 << (config.axi_addr_bits - 2), 40, (Fault.FETCH_ERROR, 0))
        scenario.start(whole(config, *good))
        yield scenario


def watchdog(config: MachineConfig) -> Iterator[Scenario]:
    """Programs that wait for a token that nobody gives. They stop and name who waits; the next program runs."""
    scenario = _scenario(config)
    for unit in (Unit.LOAD, Unit.SAVE, Unit.CONV):
        scenario.start(whole(config, token(Unit.LOAD), token(unit, wait=[Unit.CONV])), watchdog=500)
    scenario.start(whole(config, token(Unit.LOAD)), watchdog=500)
    yield scenario


def illegal_instructions(config: MachineConfig) -> Iterator[Scenario]:
    """Words that are no program. The machine refuses each with its code and its place."""
    good = token(Unit.LOAD)
    start, end, body = encode(Op("START", {"config": config.hash})), encode(Op("END")), encode(good)
    bad = [
        [*start, 0xF, *end],
        [*start, *body, 0],
        [*start, body[0] ^ 1 << 4, *body[1:], *end],
        [*start, body[0] | 1 << 31, *body[1:], *end],
        [*start, *body[:-1], body[-1] | 1 << 31, *end],
        [*body, *end],
        encode(Op("START", {"config": config.hash ^ 1})) + end,
        [*start, *body],
        [*start, *body[:-2]],
        [*start, end[0] | 1 << 9],
    ]
    far = config.fm_words
    for op in (
        Op("LOAD", {**good.values, "rows": 0}),
        Op("LOAD", {**good.values, "step": 2, "lead": 1}),
        Op("LOADP", {"count": 1, "buffer": 5}),
        Op("LOADP", {"count": 1, "offset": config.axi_bytes // 2}),
        Op("LOADP", {"count": 2, "dst": config.weight_depth - 1}),
        Op("SAVE", {**token(Unit.SAVE).values, "run": 2}),
        Op("SAVE", {**token(Unit.SAVE).values, "region": 0}),
        Op("SAVE", {**token(Unit.SAVE).values, "region": 2}),
        Op("CONV", {**token(Unit.CONV).values, "table": 3, "i_ring": 4, "i_ys": 5}),
        Op("LOAD", {**good.values, "d_addr": far}),
        Op("SAVE", {**token(Unit.SAVE).values, "s_addr": far}),
        Op("CONV", {**token(Unit.CONV).values, "i_addr": far}),
        Op("CONV", {**token(Unit.CONV).values, "o_addr": far}),
        Op("CONV", {**token(Unit.CONV).values, "w_addr": config.weight_depth}),
        Op("CONV", {**token(Unit.CONV).values, "p_addr": config.param_depth}),
        Op("CONV", {**token(Unit.CONV).values, "acc_in": 1, "a_addr": config.acc_depth}),
        *_illegal_optional(config, far),
    ):
        bad.append(whole(config, good, op))
    for first in range(0, len(bad), STARTS):
        scenario = _scenario(config)
        scenario.compare_memory = False
        for words in bad[first : first + STARTS]:
            scenario.start(words, watchdog=2000)
        scenario.start(whole(config, good))
        yield scenario


def _illegal_optional(config: MachineConfig, far: int) -> Iterator[Op]:
    """Illegal instructions of the units that a machine may lack. Without such a unit its opcode is illegal."""
    pool, misc = token(Unit.POOL).values, token(Unit.MISC).values
    yield Op("POOL", {**pool, "i_addr": far})
    yield Op("POOL", {**pool, "o_addr": far})
    yield Op("POOL", {**pool, "mode": 2, "t_addr": config.taps_depth})
    yield Op("POOL", {**pool, "mode": 1, "p_addr": config.pool_param_depth})
    yield Op("POOL", {**pool, "mode": 3})
    yield Op("POOL", {**pool, "by_count": 1})
    yield Op("MISC", {**misc, "a_addr": far})
    yield Op("MISC", {**misc, "b_addr": far})
    yield Op("MISC", {**misc, "o_addr": far})
    yield Op("MISC", {**misc, "act": 1})
    yield Op("MISC", {**misc, "n3": 0})
    yield Op("LOADW", ONE_PIXEL | {"run": config.ic_p + 1, "step": config.ic_p + 1})
    yield Op("LOADW", ONE_PIXEL | {"lead": 1, "step": 2})
    yield Op("LOADW", ONE_PIXEL | {"pixels": 0})
    yield Op("LOADW", ONE_PIXEL | {"w_addr": config.weight_depth})
    yield Op("LOADW", ONE_PIXEL | {"turned": 1, "p_addr": config.param_depth})
    row = token(Unit.ROW).values
    yield Op("ROW", {**row, "a_addr": far})
    yield Op("ROW", {**row, "o_addr": far})
    yield Op("ROW", {**row, "mode": 1, "k_lo": 1, "p_addr": config.buffer_depth("NORM")})
    yield Op("ROW", {**row, "mode": 1})
    yield Op("ROW", {**row, "mode": 3})
    yield Op("ROW", {**row, "words": config.row_words + 1})
    yield Op("ROW", {**row, "last_lanes": 0})
    yield Op("ROW", {**row, "last_lanes": config.ic_p + 1})
    yield Op("LOADP", {"count": 1, "buffer": int(Buffer.EXP), "dst": 256})


BENCHES: tuple[Bench, ...] = (
    Bench("axi4-protocol", "burst legality, 4 KB borders, steady VALID, WLAST, one B for each burst", scenarios=protocol),
    Bench("axi4-lite", "registers, byte strobes, back-pressure on every channel, unmapped addresses", "drives_registers"),
    Bench("axi4-lite-program", "a program started, polled and acknowledged over AXI4-Lite", "runs_program"),
    Bench("tokens", "tokens between all units, full counters, a giver that finds no room", scenarios=tokens),
    Bench("all-tokens", "every counter full and without room; none left when all are taken", scenarios=all_tokens),
    Bench("back-pressure", "the same results under random stalls of all AXI channels", scenarios=back_pressure),
    Bench("error-responses", "DRAM errors name the instruction; the machine starts again", scenarios=error_responses),
    Bench("watchdog", "a token that never comes", scenarios=watchdog),
    Bench("abort", "abort and reset in any cycle; the next program runs at once", scenarios=aborts),
    Bench("slow-memory", "answers that come after the stop; no start before them", scenarios=slow_memory),
    Bench("set-up", "addresses between beats refused; registers that do not change under a program", scenarios=setup),
    Bench("region-limits", "moves that end with their region, and that go a byte beyond", scenarios=region_limits),
    Bench("limit-bits", "every bit of the limit of every region, for LOAD and for SAVE", scenarios=limit_bits),
    Bench("most-fill", "as much fill before a row as can be asked for", scenarios=most_fill),
    Bench("crowds", "more instructions of a unit in a row than can be in flight", scenarios=crowds),
    Bench("whole-sums", "sums left in every accumulator, and seen in every bit", scenarios=whole_sums),
    Bench("large-windows", "outputs, kernels, strides, dilations and padding that are large", scenarios=large_windows),
    Bench("many-channels", "many channel vectors, many chunks", scenarios=many_channels),
    Bench("beside-halves", "sums of MISC a bit above and below a half, in every bit", scenarios=beside_halves),
    Bench("products-near-halves", "requantised products, each bit of which decides some", scenarios=products_near_halves),
    Bench("rows-beside-halves", "normalised values a bit above and below a half, in every bit", scenarios=rows_beside_halves),
    Bench("long-programs", "every bit of a program's length", scenarios=long_programs),
    Bench("field-rules", "fields that another one bounds, each bit refused alone", scenarios=field_rules),
    Bench("fault-places", "the instruction that breaks a bound is named, among others of its unit", scenarios=fault_places),
    Bench("illegal-instructions", "each refused with code and place", scenarios=illegal_instructions),
    Bench("programs", "random programs over all units", scenarios=programs),
)


def _scenario(config: MachineConfig, seed: int | None = None) -> Scenario:
    memory = np.random.default_rng(3).integers(0, 256, MEMORY_BYTES, np.uint8)
    return Scenario(config, memory, BASES if seed is None else dict.fromkeys(Region, 0), seed)


def _of_program(program: RandomProgram, stalls_seed: int | None) -> Scenario:
    scenario = Scenario(program.config, program.memory, program.bases, stalls_seed)
    scenario.start(program.words)
    return scenario
