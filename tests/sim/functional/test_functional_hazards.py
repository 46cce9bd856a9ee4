"""The race detector on named programs, and on random ones against exhaustive search."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import deque

import pytest

from isa.capabilities import built_units
from isa.codec import Op, encode
from isa.config import preset
from isa.instructions import WRITABLE, Activation, Buffer, MiscMode, PoolMode, Region, Unit
from sim.functional.footprint import Runs, Space, footprint
from sim.functional.hazards import find_races
from sim.functional.tokens import unit_of
from tests.sim.functional.random_ops import program

NANO = preset("nano")
BASES = {Region.CONST: 0, Region.WORK: 0x1000, Region.INPUT: 0x2000, Region.OUTPUT: 0x3000}
TILE = 4
"""Words of the tiles that the helpers below move and compute."""


def tokens(op: Op, wait: str, signal: str) -> Op:
    def units(text: str) -> frozenset[Unit]:
        return frozenset(Unit[name] for name in text.split())

    return dataclasses.replace(op, wait=units(wait), signal=units(signal))


def load(to: int, wait: str = "", signal: str = "", **values: int) -> Op:
    fields = {"rows": 1, "pixels": TILE, "step": 4, "run": 4, "valid": 16, "d_xs": 1, "d_addr": to}
    return tokens(Op("LOAD", fields | values), wait, signal)


def save(source: int, wait: str = "", signal: str = "", **values: int) -> Op:
    fields = {"rows": 1, "pixels": TILE, "step": 4, "run": 4, "s_xs": 1, "s_addr": source, "region": Region.OUTPUT}
    return tokens(Op("SAVE", fields | values), wait, signal)


def loadp(buffer: Buffer, wait: str = "", signal: str = "", **values: int) -> Op:
    return tokens(Op("LOADP", {"buffer": buffer, "count": 1} | values), wait, signal)


def window(source: int, to: int, **values: int) -> dict[str, int]:
    fields = dict.fromkeys(("s_y", "s_x", "k_h", "k_w", "i_h", "d_y", "d_x", "vectors", "o_h", "o_xs"), 1)
    return fields | {"i_w": TILE, "o_w": TILE, "i_addr": source, "o_addr": to} | values


def conv(source: int, to: int, wait: str = "", signal: str = "", **values: int) -> Op:
    return tokens(Op("CONV", window(source, to, chunks=1, **values)), wait, signal)


def pool(source: int, to: int, wait: str = "", signal: str = "", **values: int) -> Op:
    return tokens(Op("POOL", window(source, to, **values)), wait, signal)


def misc(source: int, to: int, wait: str = "", signal: str = "") -> Op:
    fields = {"n0": 1, "n1": 1, "n2": 1, "n3": 1, "n4": TILE, "a_s4": 1, "o_s4": 1, "mode": MiscMode.PASS}
    return tokens(Op("MISC", fields | {"a_addr": source, "o_addr": to}), wait, signal)


def races(*ops: Op) -> list[tuple[str, int, int, Space]]:
    """Kind, numbers of the two instructions, memory."""
    pcs = list(itertools.accumulate((op.row.length for op in ops), initial=len(encode(Op("START")))))
    found = find_races(program(NANO, *ops), NANO, BASES)
    return [(race.kind, pcs.index(race.first_pc), pcs.index(race.second_pc), race.space) for race in found]


FM, DRAM = Space.FEATURE_MAP, Space.DRAM

SAFE = {
    "load, token, convolve": [load(0, signal="CONV"), conv(0, 50, wait="LOAD")],
    "known since an earlier instruction of the unit": [load(0, signal="CONV"), conv(90, 50, wait="LOAD"), conv(0, 60)],
    "a unit completes in order": [load(0), load(20, signal="CONV"), conv(0, 50, wait="LOAD")],
    "known through a third unit": [
        load(0, signal="CONV"), conv(90, 50, wait="LOAD", signal="POOL"), pool(0, 60, wait="CONV"),
    ],
    "own output, own token": [conv(0, 50, signal="CONV"), conv(50, 60, wait="CONV")],
    "a unit reads before it later writes": [conv(0, 50), conv(90, 0)],
    "a unit writes in order": [load(0), load(2)],
    "a unit saves in order": [save(0), save(8)],
    "save, token, load back": [save(0, signal="LOAD"), load(50, wait="SAVE", region=Region.OUTPUT)],
    "channels of the same pixels": [save(0, step=8), load(50, region=Region.OUTPUT, offset=4, step=8)],
    "padding is not read": [load(1), conv(0, 50, i_w=1)],
    "sums kept in the accumulators": [conv(0, 50, acc_out=1), conv(20, 60, acc_in=1)],
    "in place": [misc(0, 0)],
    "reads beside reads": [conv(0, 50), pool(0, 60), save(0)],
}  # fmt: skip


@pytest.mark.parametrize("ops", SAFE.values(), ids=SAFE.keys())
def test_safe_programs(ops: list[Op]) -> None:
    assert races(*ops) == []


RACES = {
    "load, convolve": ([load(0), conv(0, 50)], [("RAW", 0, 1, FM)]),
    "a token is given once": (
        [load(0, signal="CONV"), load(20, signal="CONV"), conv(20, 50, wait="LOAD")], [("RAW", 1, 2, FM)],
    ),
    "a token says nothing of its taker's other work": (
        [conv(0, 50), load(20, signal="CONV"), conv(90, 70, wait="LOAD", signal="LOAD"), load(0)], [("WAR", 0, 3, FM)],
    ),
    "own output": ([conv(0, 50), conv(50, 60)], [("RAW", 0, 1, FM)]),
    "operands overwritten": ([conv(0, 50), load(3)], [("WAR", 0, 1, FM)]),
    "two writers": ([conv(0, 50), pool(20, 52)], [("WAW", 0, 1, FM)]),
    "every pair": (
        [load(0), load(2), conv(0, 50)], [("RAW", 0, 2, FM), ("RAW", 1, 2, FM)],
    ),
    "save, load back": ([save(0), load(50, region=Region.OUTPUT, offset=12)], [("RAW", 0, 1, DRAM)]),
    "load, save over it": ([load(50, region=Region.OUTPUT), save(0, offset=15)], [("WAR", 0, 1, DRAM)]),
    "weights saved over": ([loadp(Buffer.WEIGHT, region=Region.WORK), save(0, region=Region.WORK)], [("WAR", 0, 1, DRAM)]),
    "weights": ([loadp(Buffer.WEIGHT), conv(0, 50)], [("RAW", 0, 1, Space.WEIGHT)]),
    "next weights too early": ([conv(0, 50), loadp(Buffer.WEIGHT)], [("WAR", 0, 1, Space.WEIGHT)]),
    "parameters": ([conv(0, 50), loadp(Buffer.PARAM)], [("WAR", 0, 1, Space.PARAM)]),
    "taps": ([loadp(Buffer.TAPS), pool(0, 50, mode=PoolMode.DEPTHWISE)], [("RAW", 0, 1, Space.TAPS)]),
    "pool parameters": ([loadp(Buffer.POOL_PARAM), pool(0, 50, mode=PoolMode.AVERAGE)], [("RAW", 0, 1, Space.POOL_PARAM)]),
    "table": ([pool(0, 50, act=Activation.TABLE), loadp(Buffer.TABLE)], [("WAR", 0, 1, Space.TABLE)]),
    "convolution over its own input": ([conv(0, 3)], [("OVERLAP", 0, 0, FM)]),
    "element-wise work that shifts": ([misc(0, 1)], [("OVERLAP", 0, 0, FM)]),
}  # fmt: skip


@pytest.mark.parametrize(("ops", "expected"), RACES.values(), ids=RACES.keys())
def test_races(ops: list[Op], expected: list[tuple[str, int, int, Space]]) -> None:
    assert races(*ops) == expected


def test_message_names_both_instructions_and_the_place() -> None:
    race = next(find_races(program(NANO, load(0), conv(2, 50)), NANO, BASES))
    assert str(race) == "RAW on feature-map word 2: CONV at word 12 does not wait for LOAD at word 2"


def test_message_of_an_overlap() -> None:
    race = next(find_races(program(NANO, conv(0, 3)), NANO, BASES))
    assert str(race) == "OVERLAP on feature-map word 3: CONV at word 2 overwrites its own operand"


def exhaustive(ops: list[Op]) -> set[tuple[str, int, int, Space]]:
    """Reachability over starts and completions of every instruction, then every pair of instructions."""
    after: dict[tuple[str, int], list[tuple[str, int]]] = {("start", n): [("done", n)] for n in range(len(ops))}
    after |= {("done", n): [] for n in range(len(ops))}
    given: dict[tuple[Unit, Unit], deque[int]] = {pair: deque() for pair in itertools.product(Unit, Unit)}
    for n, op in enumerate(ops):
        for later in range(n + 1, len(ops)):
            if unit_of(ops[later]) is unit_of(op):
                after["start", n].append(("start", later))
                after["done", n].append(("done", later))
        for giver in op.wait:
            after["done", given[giver, unit_of(op)].popleft()].append(("start", n))
        for taker in op.signal:
            given[unit_of(op), taker].append(n)

    def reached(event: tuple[str, int]) -> set[tuple[str, int]]:
        seen, ahead = set(), [event]
        while ahead:
            for following in after[ahead.pop()]:
                if following not in seen:
                    seen.add(following)
                    ahead.append(following)
        return seen

    def locations(accesses: dict[Space, Runs], space: Space) -> set[int]:
        return {n for first, past in accesses.get(space, []) for n in range(first, past)}

    touched = [footprint(op, NANO, BASES) for op in ops]
    found = set()
    for one in range(len(ops)):
        known = reached(("done", one))
        for two in range(one + 1, len(ops)):
            if ("start", two) in known:
                continue
            same = unit_of(ops[one]) is unit_of(ops[two])
            for space in Space:
                reads, writes = (locations(a, space) for a in (touched[one].reads, touched[one].writes))
                later_reads, later_writes = (locations(a, space) for a in (touched[two].reads, touched[two].writes))
                found |= {("RAW", one, two, space)} if writes & later_reads else set()
                if not same:
                    found |= {("WAR", one, two, space)} if reads & later_writes else set()
                    found |= {("WAW", one, two, space)} if writes & later_writes else set()
    return found


def random_program(rng: random.Random) -> list[Op]:
    """Instructions on a few tiles that meet often, with tokens that are there when they are waited for."""
    count = dict.fromkeys(itertools.product(Unit, Unit), 0)
    ops = []
    for _ in range(14):
        source, to = rng.sample(range(0, 40, 2), 2)
        region = rng.choice(WRITABLE)
        offset = rng.choice([0, 8, 16])
        op = rng.choice([
            load(to, region=region, offset=offset), save(source, region=region, offset=offset),
            conv(source, to), pool(source, to), misc(source, to), loadp(Buffer.WEIGHT),
        ])  # fmt: skip
        unit = unit_of(op)
        wait = frozenset(giver for giver in Unit if count[giver, unit] and rng.random() < 0.7)
        signal = frozenset(taker for taker in built_units(NANO) if rng.random() < 0.3)
        for giver in wait:
            count[giver, unit] -= 1
        for taker in signal:
            count[unit, taker] += 1
        ops.append(dataclasses.replace(op, wait=wait, signal=signal))
    return ops


def test_random_programs_against_exhaustive_search() -> None:
    for seed in range(60):
        ops = random_program(random.Random(seed))
        found = {race for race in races(*ops) if race[0] != "OVERLAP"}
        assert found == exhaustive(ops)
        assert found, "a program without races shows nothing"
