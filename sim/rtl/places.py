"""Benches on the instruction to blame, and on every pair of units: faults amid a unit's work, and all counters of tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isa.capabilities import built_units
from isa.codec import Op, broken_rule
from isa.config import MachineConfig
from isa.faults import TOKEN_MAX
from isa.instructions import Region, Unit
from sim.rtl.scenario import DONE, Scenario, token, whole

MEMORY_BYTES = 1 << 16
STARTS = 24
"""The programs in one run of the simulator."""
BEFORE = (0, 1, 2, 4, 8, 15)
"""The instructions of the same unit before the one that stops it: every bit of the numbers that a unit gives its own."""
AFTER = 3
ONE_PIXEL = {"pixels": 1, "run": 1, "step": 1, "region": 1}
"""The fields of a LOADW of one pixel."""
FEW = 5
FAR = 1 << 14
"""The words of a program before its last instruction."""
LONGEST_FETCH = 64
"""The most words that are fetched at a time, 256 bytes. The program has more, so that the bit of its length is still set after
the first fetch."""


def fault_places(config: MachineConfig) -> Iterator[Scenario]:
    """Each bound of each unit, broken by an instruction with others of its unit before and behind it. Only this one is
    named."""
    programs = [
        whole(config, *[token(bad.row.unit)] * before, bad, *[token(bad.row.unit)] * AFTER)
        for bad in out_of_bounds(config)
        for before in BEFORE
        if isinstance(bad.row.unit, Unit)
    ]
    for first in range(0, len(programs), STARTS):
        scenario = _scenario(config)
        scenario.compare_memory = False
        for words in programs[first : first + STARTS]:
            scenario.start(words, watchdog=2000)
        yield scenario


def out_of_bounds(config: MachineConfig) -> Iterator[Op]:
    """Yields instructions that break one bound each."""
    far = config.fm_words

    def broken(unit: Unit, **values: int) -> Op:
        good = token(unit)
        return Op(good.name, {**good.values, **values})

    yield broken(Unit.LOAD, d_addr=far)
    yield Op("LOADP", {"count": 2, "dst": config.weight_depth - 1})
    if config.build_products:
        yield Op("LOADW", ONE_PIXEL | {"w_addr": config.weight_depth - 1, "pixels": config.ic_p + 1})
        yield Op("LOADW", ONE_PIXEL | {"p_addr": config.param_depth})
    yield broken(Unit.SAVE, s_addr=far)
    yield broken(Unit.CONV, i_addr=far)
    yield broken(Unit.CONV, o_addr=far)
    yield broken(Unit.CONV, w_addr=config.weight_depth)
    yield broken(Unit.CONV, p_addr=config.param_depth)
    yield broken(Unit.CONV, acc_in=1, a_addr=config.acc_depth)
    if config.build_pool:
        yield broken(Unit.POOL, i_addr=far)
        yield broken(Unit.POOL, o_addr=far)
        yield broken(Unit.POOL, mode=2, t_addr=config.taps_depth)
        yield broken(Unit.POOL, mode=1, p_addr=config.pool_param_depth)
    if config.build_misc:
        yield broken(Unit.MISC, a_addr=far)
        yield broken(Unit.MISC, b_addr=far)
        yield broken(Unit.MISC, o_addr=far)
    if config.build_rows:
        yield broken(Unit.ROW, a_addr=far)
        yield broken(Unit.ROW, o_addr=far)
        yield broken(Unit.ROW, mode=1, k_lo=1, p_addr=config.buffer_depth("NORM"))


def all_tokens(config: MachineConfig) -> Iterator[Scenario]:
    """All counters of tokens are full at once, and are emptied. Then, for each pair of units, a token more than was given never
    comes, and a token more than a counter holds finds no room."""
    units = built_units(config)
    scenario = _scenario(config)
    given = [token(giver, signal=units) for giver in units]
    taken = [token(taker, wait=units) for taker in units]
    scenario.start(whole(config, *given * TOKEN_MAX, *taken * TOKEN_MAX))
    yield scenario
    scenario = _scenario(config)
    for giver in units:
        for taker in units:
            given, taken = [token(giver, signal=[taker])] * FEW, [token(taker, wait=[giver])] * FEW
            scenario.start(whole(config, *given, *taken, token(taker, wait=[giver])), watchdog=2000)
    yield scenario
    for giver in units:
        scenario = _scenario(config)
        for taker in units:
            gives = token(giver, signal=[taker])
            scenario.start(whole(config, *[gives] * (TOKEN_MAX + 1)), watchdog=2000)
        yield scenario


def field_rules(config: MachineConfig) -> Iterator[Scenario]:
    """Rules that compare two fields: each bit of the field that may not be the greater is refused by itself."""
    few = 3

    def beside(unit: Unit, name: str, **values: int) -> Iterator[Op]:
        good = token(unit)
        for bit in range(good.row.fields[name].bits):
            yield Op(good.name, {**good.values, **values, name: 1 << bit})

    ops = [*beside(Unit.LOAD, "step", run=few, lead=1), *beside(Unit.LOAD, "run", step=few)]
    ops += beside(Unit.SAVE, "run", step=few)
    if config.build_products:
        ops += [Op("LOADW", ONE_PIXEL | {"run": 1 << bit, "step": 1 << bit}) for bit in range(16)]
    for unit in (Unit.CONV, *([Unit.POOL] * config.build_pool)):
        for name in ("i_off", "i_ys", "t_ys"):
            ops += beside(unit, name, i_ring=few)
        ops += beside(unit, "i_ring")
    if config.build_misc:
        ops += [*beside(Unit.MISC, "o_s4", mode=6, last_lanes=1), *beside(Unit.MISC, "n4", mode=6, last_lanes=1)]
        ops += [*beside(Unit.MISC, "last_lanes", mode=7), *beside(Unit.MISC, "b_lane", b_one=1)]
    refused = [op for op in ops if broken_rule(op, config) is not None]
    for first in range(0, len(refused), STARTS):
        scenario = _scenario(config)
        for op in refused[first : first + STARTS]:
            scenario.start(whole(config, op))
        yield scenario


def long_programs(config: MachineConfig) -> Iterator[Scenario]:
    """Programs whose length register has one high bit set, each bit once, and which end before. Then a program of more than
    ``FAR`` words, which the machine stops at its last instruction."""
    words = whole(config, *[token(Unit.LOAD)] * FEW * FEW)
    scenario = _scenario(config)
    place = scenario.place(words)
    for bit in range(len(words).bit_length(), 32):
        scenario.start_at(place, (1 << bit) + LONGEST_FETCH, DONE)
    yield scenario
    short = token(Unit.LOAD)
    scenario = _scenario(config)
    scenario.start(whole(config, *[short] * (FAR // short.row.length + 1), next(out_of_bounds(config))))
    yield scenario


def _scenario(config: MachineConfig) -> Scenario:
    bases = {region: int(region) * MEMORY_BYTES // len(Region) for region in Region}
    return Scenario(config, np.random.default_rng(3).integers(0, 256, MEMORY_BYTES, np.uint8), bases)
