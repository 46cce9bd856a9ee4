"""The memory model as it is quoted, and as anything that AXI4 allows; the machine on such memories."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from isa.codec import Op, encode
from isa.config import MachineConfig, preset
from isa.faults import Fault, MachineFault
from isa.instructions import Buffer, Region
from sim.random.draw import HIDDEN
from sim.random.engines import Outcome, difference, rtl_machine
from sim.random.memories import endings, memory_of
from sim.random.program import random_program
from sim.rtl.build import HERE
from sim.rtl.memory import MOST_LATENCY, QUOTED, Dram, random_dram
from sim.rtl.scenario import whole
from tests.tools import needs

NANO = preset("nano")
WIDE = replace(NANO, name="wide", axi_addr_bits=40)
ABOVE = [replace(NANO, name=f"{bits}_bits", axi_addr_bits=bits) for bits in (33, 34)]
"""With 33 bits the program's half of the address space begins where 4 GiB end."""
SIZE = 1 << 15
Answers = list[list[int]]


@dataclass(frozen=True)
class Log:
    """What a bench has seen, by channel; cycle first."""

    asked: Answers
    read: Answers
    written: Answers
    acknowledged: Answers
    words: dict[int, int]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Dram], Log]:
    program = tmp_path_factory.mktemp("dram") / "sim"
    sources = [str(HERE / name) for name in ("dram.v", "stalls.v")]
    bench_file = str(Path(__file__).parent / "dram_bench.v")
    subprocess.run(["iverilog", "-g2012", "-o", str(program), bench_file, *sources], check=True)

    def run(dram: Dram) -> Log:
        text = subprocess.run(["vvp", "-n", str(program), *dram.arguments()], check=True, capture_output=True, text=True).stdout
        lines = [line.split() for line in text.splitlines() if line[:2] in ("A ", "R ", "W ", "B ", "M ")]
        of = {kind: [[int(n) for n in rest] for first, *rest in lines if first == kind] for kind in "ARWBM"}
        return Log(of["A"], of["R"], of["W"], of["B"], {line[0]: line[1] for line in of["M"]})

    return run


BURSTS, BEATS = 6, 4
EXPECTED = [[burst & 1, 0, 8 * burst + beat, int(beat == BEATS - 1)] for burst in range(BURSTS) for beat in range(BEATS)]
"""Id, response, data and last of each beat: bursts of ids 0 and 1 in turn."""


@needs("iverilog")
@pytest.mark.parametrize("latency", [1, 2, 3, 64, MOST_LATENCY])
def test_the_first_beat_comes_after_the_latency(bench: Callable[[Dram], Log], latency: int) -> None:
    log = bench(Dram(latency=latency))
    assert [beat[1:] for beat in log.read] == EXPECTED
    assert log.read[0][0] - log.asked[0][0] == latency


@needs("iverilog")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_disorder_interleaves_ids_and_leaves_each_id_in_order(bench: Callable[[Dram], Log], seed: int) -> None:
    log = bench(Dram(seed=seed, disorder=True))
    beats = [beat[1:] for beat in log.read]
    assert beats != EXPECTED
    for number in (0, 1):
        assert [beat for beat in beats if beat[0] == number] == [beat for beat in EXPECTED if beat[0] == number]
    switches = sum(a[0] != b[0] for a, b in pairwise(beats))
    assert switches > BURSTS


@needs("iverilog")
def test_late_answers_come_at_random_but_come(bench: Callable[[Dram], Log]) -> None:
    quick, late = bench(QUOTED), bench(Dram(seed=9, late=31))
    delays = {b[0] - w[0] for w, b in zip(late.written, late.acknowledged, strict=True)}
    assert len(delays) > 3
    assert max(delays) > 10 + max(b[0] - w[0] for w, b in zip(quick.written, quick.acknowledged, strict=True))
    assert [beat[1:] for beat in late.read] == EXPECTED


@needs("iverilog")
@pytest.mark.parametrize("beat", range(BEATS))
def test_one_bad_beat_of_a_burst(bench: Callable[[Dram], Log], beat: int) -> None:
    """SLVERR, and no data; the beats beside it are well."""
    log = bench(Dram(seed=4, origin=0x1000, bad=(64 + 8 * beat, 8)))
    assert [b[1:] for b in log.read if not b[2]] == [b for b in EXPECTED if b[2] != 8 + beat]
    assert [b[2] for b in log.read].count(2) == 1
    assert all(b[3] != 8 + beat for b in log.read)


@needs("iverilog")
def test_a_bad_beat_is_not_written_and_fails_its_burst(bench: Callable[[Dram], Log]) -> None:
    log = bench(Dram(origin=0x1000, bad=(0x400 + 24, 8)))
    assert [response for _, response in log.acknowledged] == [0, 2, 0, 0, 0, 0]
    assert log.words == {word: 131 if word == 131 else 7 for word in range(128, 140)}


def test_random_memories_are_within_the_address_space() -> None:
    of_config = [(config, random_dram(config, seed, SIZE)) for config in (NANO, WIDE, *ABOVE) for seed in range(200)]
    drawn = [dram for _, dram in of_config]
    assert {dram.latency for dram in drawn} >= {1, 2, 3}
    assert max(dram.latency for dram in drawn) > 500
    for config, dram in of_config:
        space = 1 << config.axi_addr_bits
        assert dram.origin % config.axi_bytes == 0
        assert 0 <= dram.origin <= space - SIZE
        code = dram.program_base(config)
        assert code + SIZE <= dram.origin or dram.origin + SIZE <= code
    assert {dram.origin for dram in drawn} >= {0, 1 << 31, (1 << 32) - SIZE, (1 << 40) - SIZE, 1 << 32, (1 << 32) - SIZE // 2}


def outcome(config: MachineConfig, words: list[int], dram: Dram) -> Outcome:
    memory = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8)
    try:
        return Outcome(rtl_machine(config).run(words, memory, dict.fromkeys(Region, 0), dram=dram, watchdog=20_000).memory)
    except MachineFault as fault:
        return Outcome(fault=(fault.fault, fault.pc))


ROW = {"rows": 1, "pixels": 32, "run": 4, "step": 4, "offset": 256}
"""Sixteen beats of nano's."""
MOVES = {
    "LOAD": (Op("LOAD", {**ROW, "valid": 128, "d_xs": 1}), Fault.READ_ERROR),
    "LOADP": (Op("LOADP", {"buffer": Buffer.PARAM, "count": 4, "offset": 256}), Fault.READ_ERROR),
    "SAVE": (Op("SAVE", {**ROW, "s_xs": 1, "region": Region.OUTPUT}), Fault.WRITE_ERROR),
}


@pytest.mark.parametrize("name", MOVES)
def test_an_error_in_any_beat_stops_the_machine_at_its_instruction(name: str) -> None:
    op, fault = MOVES[name]
    words = whole(NANO, op)
    place = len(encode(Op("START", {"config": NANO.hash})))
    for beat in range(0, 128, NANO.axi_bytes):
        dram = Dram(latency=20, seed=beat + 1, disorder=True, late=3, bad=(256 + beat, NANO.axi_bytes))
        assert outcome(NANO, words, dram).fault == (fault, place), beat
    for beside in (256 - NANO.axi_bytes, 256 + 128):
        assert outcome(NANO, words, Dram(bad=(beside, NANO.axi_bytes))).fault is None


def test_an_error_in_any_beat_of_the_program_stops_the_machine() -> None:
    words = whole(NANO, *[MOVES["LOAD"][0]] * 4)
    for beat in range(0, 4 * len(words), NANO.axi_bytes):
        dram = Dram(latency=9, bad=(Dram().program_base(NANO) + beat, NANO.axi_bytes))
        found = outcome(NANO, words, dram).fault
        assert found is not None
        assert found[0] is Fault.FETCH_ERROR, beat


def test_random_programs_of_the_suite_meet_bad_beats_and_all_else() -> None:
    """``run_fuzz`` takes its memories from here."""
    met = [memory_of(random_program(NANO, seed, size=3)) for seed in range(32)]
    assert sum(dram == QUOTED for dram in met) == 16
    bad = [seed for seed, dram in enumerate(met) if dram.bad[1]]
    assert bad == [6, 14, 22, 30]
    for seed in bad:
        assert endings(random_program(NANO, seed, size=3), met[seed])


def test_a_machine_that_hides_little_latency_seldom_meets_more() -> None:
    slow = replace(NANO, axi_reads=1, axi_burst_beats=1)
    met = {seed: memory_of(random_program(slow, seed, size=3)).latency for seed in range(256)}
    assert {seed for seed, latency in met.items() if latency > HIDDEN} <= set(range(3, 256, 16))
    assert max(met.values()) > 100


def test_an_ending_that_the_memory_does_not_ask_for_is_a_difference() -> None:
    done = Outcome(np.zeros(4, np.uint8))
    allowed = {(Fault.READ_ERROR, 4)}
    assert difference(done, Outcome(fault=(Fault.READ_ERROR, 4)), allowed) is None
    assert difference(done, Outcome(fault=(Fault.READ_ERROR, 9)), allowed) is not None
    assert difference(done, done, allowed) == "expected READ_ERROR at instruction word 4, got no fault"
