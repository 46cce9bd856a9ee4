"""Costs of single instructions: known answers, and naive counts beside the closed forms."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from isa.codec import Op
from isa.config import MachineConfig, preset
from sim.cycle.costs import COSTS, Cost, MoveCost, WindowCost
from sim.cycle.lanes import lane_waits, lanes_meet, operand_waits
from sim.cycle.runs import Cuts, Runs, loaded, saved
from tests.sim.cycle.cycle_programs import NANO, conv, load, loadp, misc, pool, save

BASE = preset("base")
FULL = replace(NANO, misc_lanes=4)


def cost(op: Op, config: MachineConfig = NANO) -> Cost:
    return COSTS[op.name](config, {name: np.array([op[name]]) for name in op.row.fields})[0]


def move(op: Op, config: MachineConfig = NANO) -> MoveCost:
    found = cost(op, config)
    assert isinstance(found, MoveCost)
    return found


def window(op: Op, config: MachineConfig = NANO) -> WindowCost:
    found = cost(op, config)
    assert isinstance(found, WindowCost)
    return found


def test_conv_takes_a_beat_for_each_tap_and_vector_of_each_group_and_chunk() -> None:
    assert window(conv()).cycles == 2 * 60 * 9 * 2
    assert window(conv(), BASE).cycles == 2 * 30 * 9 * 2


def test_the_drain_bounds_short_reductions() -> None:
    config = replace(NANO, name="wide", px_p=2, conv_finish=4, fm_banks=8)
    assert window(conv(k_h=1, k_w=1, vectors=1, chunks=1), config).cycles == 30 * 2
    assert window(conv(k_h=1, k_w=1, vectors=1, chunks=1, acc_out=1), config).cycles == 30


def test_pool_takes_a_tap_per_cycle_but_no_less_than_a_cycle_for_each_pixel() -> None:
    assert window(pool()).cycles == 2 * 60 * 9
    assert window(pool(k_h=1, k_w=1), BASE).cycles == 2 * 30 * 4


def test_misc_takes_a_cycle_for_each_slice_of_a_word() -> None:
    assert [cost(misc(), lanes).cycles for lanes in (FULL, replace(NANO, misc_lanes=2), NANO)] == [128, 2 * 128, 4 * 128]


def test_loadw_takes_a_cycle_for_each_vector_or_chunk_and_two_for_each_record() -> None:
    """What follows the last word: a cycle to its step, six until sums or records are there, fill and records."""
    config = replace(NANO, name="products", oc_p=2, build_products=True)
    turned = {"pixels": 12, "run": 8, "step": 8}
    channels = {"pixels": 8, "run": 4, "step": 4}
    for values, own, cycles, more in (
        (turned, {"turned": 1}, 24, 1 + 6),
        (turned | {"run": 4, "step": 4}, {"turned": 1}, 24, 1 + 6),
        (turned | {"pixels": 11}, {"turned": 1}, 22, 1 + 6 + 2),
        (channels, {}, 16, 1 + 6 + 2 * 4 + 6),
        (channels | {"pixels": 5}, {}, 10, 1 + 6 + 2 * 4 + 6 + 3 * 2),
    ):
        values["valid"] = values["pixels"] * values["run"]
        plain, made = move(Op("LOAD", {**values, "rows": 1, "d_xs": 1}), config), move(Op("LOADW", values | own), config)
        assert (made.alone, made.beats, made.cycles, made.edge - plain.edge) == (True, plain.beats, cycles, more)


def test_two_operands_in_one_bank_take_turns_in_the_cycles_of_a_word() -> None:
    assert cost(misc(mode=0, b_addr=128, b_s4=1, b_s3=32), FULL).cycles == 2 * 128
    assert cost(misc(mode=0, b_addr=128, b_s4=1, b_s3=32), NANO).cycles == 4 * 128
    assert cost(misc(mode=0, b_addr=1024, b_s4=1, b_s3=32), FULL).cycles == 128


def test_operands_that_walk_from_bank_to_bank_do_not_wait() -> None:
    counts, a = (1, 1, 1, 1, 64), (0, 0, 0, 0, 0, 1)
    whole = replace(BASE, misc_lanes=16)
    assert operand_waits(whole, counts, a, (512, 0, 0, 0, 0, 1)) == 0
    assert operand_waits(whole, counts, (0, 0, 0, 0, 0, 4), (512, 0, 0, 0, 0, 4)) == 64
    assert operand_waits(BASE, counts, (0, 0, 0, 0, 0, 4), (512, 0, 0, 0, 0, 4)) == 0


def test_every_instruction_says_which_bank_groups_it_uses() -> None:
    """On nano 512 words are a group: the input from word 0 on, two planes of 256 words, the output from 2048 on."""
    assert (window(conv()).use.reads, window(conv()).use.writes) == (0b1, 0b10000)
    assert window(conv(i_addr=300)).use.reads == 0b11
    assert window(conv(vectors=1, i_off=512)).use.reads == 0b10
    assert window(conv(vectors=1, i_off=(1 << 24) - 32)).use.reads == 0b1
    assert window(conv(acc_out=1)).use.writes == 0
    assert (move(load(d_addr=512)).use.writes, move(save(s_addr=1000)).use.reads) == (0b10, 0b110)
    assert (cost(misc(mode=0, b_addr=1024)).use.reads, cost(misc(mode=0, b_addr=1024)).use.reads_b) == (0b1, 0b100)


@pytest.mark.parametrize(
    ("start", "groups"), [(0, 0b01), (200, 0b01), (460, 0b11), (560, 0b11), (580, 0b11), (520, 0b10)]
)
def test_a_ring_is_read_from_an_offset_and_on_from_its_beginning(start: int, groups: int) -> None:
    """Three rows of 20 words of a ring of 600, over two bank groups of 512: from 560 on the end and the beginning."""
    op = conv(
        i_addr=0, k_h=3, k_w=1, o_h=1, o_w=20, vectors=1, i_ring=600, i_off=start, i_ys=20, t_ys=20, i_h=40, i_w=20, s_y=1
    )  # fmt: skip
    assert window(op).use.reads == groups


def test_load_is_bound_by_words_or_by_beats() -> None:
    assert (move(load()).beats, move(load()).cycles) == (32, 64)
    row = move(load(valid=2048, run=64, step=64), BASE)
    assert (row.beats, row.cycles) == (128, 128)


def test_load_of_fill_alone_needs_no_dram() -> None:
    assert (move(load(valid=0)).beats, move(load(valid=0)).cycles) == (0, 64)


@pytest.mark.parametrize("lead", [0, 3, 17])
@pytest.mark.parametrize(("step", "run"), [(17, 51), (34, 51), (8, 64), (40, 48)])
def test_overlapping_pixels_take_a_cycle_for_each_chunk_that_passes_alone(lead: int, step: int, run: int) -> None:
    """Chunk by chunk: those before a pixel pass one per cycle, the first of them with the last word of the pixel before."""
    rows, pixels, valid = 3, 6, 150
    op = load(rows=rows, pixels=pixels, step=step, run=run, lead=lead, valid=valid, row_stride=valid)
    naive = 0
    for row in range(rows):
        lane = row * valid % 16
        chunks = -(-(lane + valid) // 16) + max(0, -(-(lead - lane) // 16))
        base, passed, cycles = (lane - lead) % 16, 0, 0
        for pixel in range(pixels):
            cycles += -(-run // 16)
            goal = chunks if pixel == pixels - 1 else (base + step) // 16
            cycles += max(0, goal - passed - 1)
            passed, base = goal, base + step
        naive += max(chunks, cycles)
    assert move(op, BASE).cycles == naive


def test_loadp_counts_whole_beats_and_the_bytes_of_tables() -> None:
    assert move(loadp()).cycles == 40
    table = move(loadp(buffer=4, count=1))
    assert (table.beats, table.cycles) == (32, 256)


def test_save_is_bound_by_words_or_by_beats() -> None:
    assert (move(save()).beats, move(save()).cycles) == (32, 64)
    assert move(save(run=4, step=16)).beats == 32
    assert move(save(offset=5)).beats == 33


def test_beats_of_runs_are_counted_address_by_address() -> None:
    rng = random.Random(1)
    for _ in range(200):
        beat = rng.choice([4, 8, 16, 64])
        offset, row_stride, step = rng.randrange(beat), rng.randrange(200), rng.randrange(1, 200)
        rows, pieces, length = rng.randint(1, 20), rng.randint(1, 20), rng.randint(1, 100)
        starts = [offset + row * row_stride + piece * step for row in range(rows) for piece in range(pieces)]
        naive = sum((start + length - 1) // beat - start // beat + 1 for start in starts)
        runs = Runs(beat, offset % beat, row_stride % beat, rows, step % beat, pieces, length)
        assert loaded(runs, 0, Cuts(1, 4, 1, 1, 1))[0] == naive
        assert saved(runs, 1, 1)[0] == naive


@pytest.mark.parametrize("s_x", [1, 2, 3, 4])
@pytest.mark.parametrize("pitch", [8, 9, 11])
@pytest.mark.parametrize("ring", [0, 33])
def test_lanes_that_meet_are_counted_step_by_step(s_x: int, pitch: int, ring: int) -> None:
    o_h, o_w, s_y, k, pad = 5, 7, 1, 3, 1
    i_h, i_w, i_off = 6, 5 + s_x * 6, 3
    waits = 0
    for first in range(0, o_h * o_w, BASE.px_p):
        for ky in range(k):
            for kx in range(k):
                phases = []
                for pixel in range(first, min(first + BASE.px_p, o_h * o_w)):
                    oy, ox = divmod(pixel, o_w)
                    iy, ix = oy * s_y - pad + ky, ox * s_x - pad + kx
                    row = i_off + oy * s_y * pitch + ky * pitch
                    if 0 <= iy < i_h and 0 <= ix < i_w:
                        phases.append(((row % ring if ring else row) + ix) % BASE.fm_phases)
                waits += max((phases.count(phase) for phase in phases), default=1) - 1
    found = lane_waits(BASE, o_h, o_w, s_y, s_x, k, k, 1, 1, i_h, i_w, pad, pad, i_off, s_y * pitch, pitch, ring)
    assert found == waits
    if not lanes_meet(BASE, o_w, s_x, s_y * pitch, ring):
        assert waits == 0


def test_bank_groups_of_rows_in_a_ring_plane_by_plane() -> None:
    """Each plane's rows from the first on, and what is left of them from the start of the ring."""
    for seed in range(30):
        rng = random.Random(seed)
        span = BASE.fm_phases * BASE.fm_depth
        pitch, ring_rows, rows, planes = rng.randint(4, 60), rng.randint(2, 40), rng.randint(1, 9), rng.randint(1, 6)
        ring, start = pitch * ring_rows, pitch * rng.randrange(ring_rows)
        apart = ring + rng.randint(0, 9)
        first = rng.randrange(BASE.fm_words - planes * apart)
        window = {"i_h": rows, "o_h": rows, "k_h": 1, "i_w": pitch, "i_ys": pitch, "i_ring": ring, "i_off": start}
        op = Op("CONV", {**conv().values, **window, "i_addr": first, "i_cs": apart, "vectors": planes})
        read = set()
        for plane in range(planes):
            words = (start + word for word in range(min(rows * pitch, ring)))
            read |= {(first + plane * apart + word % ring) // span for word in words}
        every = [conv(), Op("CONV", {**op.values, "i_addr": span}), op]
        found = COSTS["CONV"](BASE, {name: np.array([each[name] for each in every]) for name in op.row.fields})[2]
        assert isinstance(found, WindowCost)
        assert found.use.reads == sum(1 << group for group in read)
