"""Benches that stop programs at any time. The next program must find a machine like a fresh one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from isa.buffers import REQUANT_WORD_BYTES
from isa.codec import Op
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import Buffer, Region, Unit
from isa.registers import Control, Register
from sim.cycle.model import CycleModel
from sim.rtl.memory import QUOTED, Dram, random_dram
from sim.rtl.scenario import Scenario, whole
from sim.rtl.script import Start

ROWS, PIXELS = 4, 16
LOADS = 6
MEMORY_BYTES = 1 << 16
PARAMS, OLD, NEW, SLOTS = 0x1000, 0x2000, 0x3800, 0x5000
"""The addresses of parameter words (weights come first), of two inputs, and of the results of the pairs of programs."""
MOST_SLOTS = 24
"""The pairs of programs in one run of the simulator: as many as the script of the host can hold."""
SLOW_LATENCY = 1500
SETTING = tuple(register for register in Register if register.name.startswith(("BASE", "PROGRAM", "WATCHDOG", "BUS_WATCHDOG")))
"""The registers that set up a program. It takes their values at its start."""
STORM = ("abort", "abort", "reset", "registers", "starved")


class Stage:
    """A program that loads, computes and saves, on two inputs. The old run is stopped; the new one must come out right.

    Every pair of runs has a slot of its own for its results. So whatever an old program writes after it should have stopped is
    seen in the end.
    """

    def __init__(self, config: MachineConfig, stalls_seed: int | None, dram: Dram = QUOTED) -> None:
        rng = np.random.default_rng(0 if stalls_seed is None else stalls_seed)
        memory = rng.integers(0, 256, MEMORY_BYTES, np.uint8)
        record = np.array([0, 1 << 23 | 25 << 24], "<u4").view(np.uint8)
        memory[PARAMS : PARAMS + config.oc_p * REQUANT_WORD_BYTES] = np.tile(record, config.oc_p)
        self.scenario = Scenario(config, memory, {}, stalls_seed, dram=dram)
        self.words = whole(config, *_work(config))
        self.address = self.scenario.place(self.words)
        self.cycles = CycleModel(config).run(self.words).cycles
        """The cycles of the program on a quick DRAM without stalls."""
        size = 2 * ROWS * PIXELS * config.ic_p
        self.slots = range(SLOTS, MEMORY_BYTES - size, size)[:MOST_SLOTS]

    def bases(self, source: int, slot: int) -> dict[Region, int]:
        return {Region.CONST: 0, Region.WORK: 0, Region.INPUT: source, Region.OUTPUT: slot}


def aborts(config: MachineConfig, seeds: tuple[tuple[int, bool], ...] = ((0, False), (3, True))) -> Iterator[Scenario]:
    """Aborts or resets in any cycle, then runs the next program at once. ``seeds`` say whether DRAM stalls."""
    for seed, stalls in seeds:
        stage = Stage(config, seed if stalls else None)
        rng = random.Random(f"aborts {seed}")
        for slot in stage.slots:
            control = rng.choice((Control.ABORT, Control.ABORT, Control.RESET))
            stop = control, rng.randrange(stage.cycles + 40)
            bases = stage.bases(OLD, slot)
            stage.scenario.stopped(Start(stage.address, len(stage.words), bases, stop=stop, hasty=rng.random() < 0.3))
            stage.scenario.start(stage.words, bases=stage.bases(NEW, slot))
        yield stage.scenario


def storm(config: MachineConfig, seed: int) -> tuple[Scenario, Counter[str]]:
    """A scenario on any memory that AXI4 allows, and how often each kind of disturbance occurs in it.

    Programs are aborted or reset in any cycle, starved of answers, or run through while registers are written. Each is followed
    by one that must come out right.
    """
    rng = random.Random(f"storm {seed}")
    dram = random_dram(config, seed, MEMORY_BYTES + (1 << 14))
    stage = Stage(config, seed if rng.random() < 0.5 else None, dram)
    longest = stage.cycles * (1 + dram.latency // 64 + dram.late // 32) + 40
    counts: Counter[str] = Counter()
    for slot in stage.slots:
        kind = rng.choice(STORM)
        counts[kind] += 1
        start = Start(stage.address, len(stage.words), stage.bases(OLD, slot), hasty=rng.random() < 0.3)
        if kind == "registers":
            meddle = tuple((rng.choice(SETTING), rng.randrange(1 << 32) & -64) for _ in range(2))
            stage.scenario.start(
                stage.words, bases=stage.bases(OLD, slot), meddle=meddle, meddle_after=rng.randrange(longest),
                address=stage.address,
            )  # fmt: skip
        elif kind == "starved":
            stage.scenario.stopped(replace(start, bus_watchdog=rng.randrange(1, 2 * dram.latency + 2)))
        else:
            stage.scenario.stopped(replace(start, stop=(Control[kind.upper()], rng.randrange(longest))))
        stage.scenario.start(stage.words, bases=stage.bases(NEW, slot), address=stage.address)
    return stage.scenario, counts


def slow_memory(config: MachineConfig) -> Iterator[Scenario]:
    """DRAM owes answers for longer than it may. The next program is asked for at once, and refused until they have come."""
    stage = Stage(config, None, Dram(latency=SLOW_LATENCY))
    for number, slot in enumerate(stage.slots):
        bases = stage.bases(OLD, slot)
        limit = 100 + 61 * number
        stage.scenario.stopped(Start(stage.address, len(stage.words), bases, bus_watchdog=limit, hasty=True))
        stage.scenario.start(stage.words, bases=stage.bases(NEW, slot))
    yield stage.scenario


def setup(config: MachineConfig) -> Iterator[Scenario]:
    """Addresses between beats are refused. Registers that are written while a program runs do not matter to it."""
    stage = Stage(config, None)
    half = config.axi_bytes // 2
    good = stage.bases(NEW, SLOTS)
    for region in Region:
        stage.scenario.start(stage.words, bases={**good, region: good[region] + half})
    stage.scenario.start_at(stage.address + half, len(stage.words), (Fault.MISALIGNED, 0))
    meddle = [(register, 0x40) for register in SETTING]
    for first in range(0, len(meddle), 4):
        rotated = (*meddle[first:], *meddle[:first])
        stage.scenario.start(stage.words, bases=stage.bases(NEW, stage.slots[1 + first // 4]), meddle=rotated)
    yield stage.scenario


def _work(config: MachineConfig) -> Iterator[Op]:
    words = ROWS * PIXELS
    size = config.ic_p
    row = {"rows": ROWS, "pixels": PIXELS, "run": size, "step": size, "row_stride": PIXELS * size}
    load = {**row, "valid": PIXELS * size, "region": Region.INPUT, "d_xs": 1, "d_ys": PIXELS}
    save = {**row, "region": Region.OUTPUT, "s_xs": 1, "s_ys": PIXELS}
    window = dict.fromkeys(("s_y", "s_x", "k_h", "k_w", "d_y", "d_x", "vectors", "chunks", "o_xs"), 1)
    window |= {"i_h": ROWS, "i_w": PIXELS, "i_ys": PIXELS, "t_ys": PIXELS, "o_h": ROWS, "o_w": PIXELS, "o_ys": PIXELS}
    load_signal, conv_signal = frozenset({Unit.CONV, Unit.SAVE}), frozenset({Unit.SAVE})
    yield Op("LOADP", {"buffer": Buffer.WEIGHT, "count": 1})
    yield Op("LOADP", {"buffer": Buffer.PARAM, "count": 1, "offset": PARAMS})
    for number in range(LOADS):
        yield Op("LOAD", load, signal=load_signal if number == LOADS - 1 else frozenset())
    yield Op("SAVE", save, wait=frozenset({Unit.LOAD}))
    conv = {**window, "o_addr": words, "o_cs": words, "lo": -128, "hi": 127}
    yield Op("CONV", conv, wait=frozenset({Unit.LOAD}), signal=conv_signal)
    yield Op("SAVE", {**save, "s_addr": words, "offset": words * size}, wait=frozenset({Unit.CONV}))
