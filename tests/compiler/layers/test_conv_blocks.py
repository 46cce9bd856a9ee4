"""How a convolution is cut for the array: channels into lanes, groups into spans, parameters into blocks."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from compiler.layers.array import Part, Span
from compiler.layers.conv import ConvLayer
from compiler.layers.packing import channel_slots, chunk_count, records, tap_words, weight_words
from compiler.xgraph.ops import Conv, Requantisation
from isa.config import MachineConfig, preset
from isa.instructions import Buffer
from isa.requantisation import packed
from tests.compiler.graphs import Builder

NANO, BASE = preset("nano"), preset("base")


def lanes(ic_p: int, oc_p: int) -> MachineConfig:
    return replace(NANO, name=f"{ic_p}x{oc_p}", ic_p=ic_p, oc_p=oc_p, conv_finish=oc_p, pool_finish=ic_p, fm_banks=16)


SHAPES = [lanes(4, 4), lanes(5, 3), lanes(4, 9), lanes(6, 2), lanes(3, 7), lanes(1, 5), lanes(5, 1)]


def layer(config: MachineConfig, inputs: int, outputs: int, groups: int = 1, kernel: tuple[int, int] = (3, 3)) -> ConvLayer:
    b = Builder(0)
    b.conv(b.input(9, 9, inputs), outputs, kernel, groups=groups)
    (op,) = b.ops
    assert isinstance(op, Conv)
    return ConvLayer.of(config, op, b.tensors["x0"], b.tensors[op.output])


@pytest.mark.parametrize("config", SHAPES, ids=lambda config: config.name)
def test_each_channel_has_a_lane_in_a_chunk_of_its_word(config: MachineConfig) -> None:
    """Of a word of ``ic_p`` channels as many chunks as it takes, or of a chunk as many words as it fills."""
    for channels in range(1, 40):
        slots = channel_slots(config, channels)
        expected = np.full_like(slots, -1)
        for channel in range(channels):
            word, place = divmod(channel, config.ic_p)
            if config.oc_p < config.ic_p:
                expected[word * config.chunks_per_word + place // config.oc_p, place % config.oc_p] = channel
            else:
                filled = config.oc_p // config.ic_p
                expected[word // filled, word % filled * config.ic_p + place] = channel
        assert np.array_equal(slots, expected)
        words = -(-channels // config.ic_p)
        assert len(slots) == chunk_count(config, channels) == -(-words // config.words_per_chunk) * config.chunks_per_word


@pytest.mark.parametrize("config", SHAPES, ids=lambda config: config.name)
def test_weights_lie_word_by_word_as_they_are_read(config: MachineConfig) -> None:
    """Chunk, row and column of the kernel, vector; in each word all outputs of an input lane."""
    rng = np.random.default_rng(1)
    weights = rng.integers(-128, 128, (11, 2, 3, 7)).astype(np.int8)
    slots = channel_slots(config, 11)
    words = weight_words(config, weights, slots, 5).view(np.int8)
    vectors = -(-7 // config.ic_p)
    assert words.shape == (len(slots) * 6 * vectors, config.buffer_dram_bytes("WEIGHT"))
    for chunk, row, column, vector in np.ndindex(len(slots), 2, 3, vectors):
        word = words[((chunk * 2 + row) * 3 + column) * vectors + vector]
        assert not word[config.ic_p * config.oc_p :].any()
        for lane, output in np.ndindex(config.ic_p, config.oc_p):
            channel, source = slots[chunk, output], vector * config.ic_p + lane
            there = channel >= 0 and source < 7
            assert word[lane * config.oc_p + output] == (weights[channel, row, column, source] if there else 5)


def test_taps_lie_vector_by_vector() -> None:
    taps = np.random.default_rng(2).integers(-128, 128, (10, 2, 3)).astype(np.int8)
    words = tap_words(NANO, taps).view(np.int8)
    assert words.shape == (3 * 6, NANO.buffer_dram_bytes("TAPS"))
    for vector, tap, lane in np.ndindex(3, 6, 4):
        channel = vector * 4 + lane
        assert words[vector * 6 + tap, lane] == (taps[channel, tap // 3, tap % 3] if channel < 10 else 0)


def test_records_have_bias_and_scale() -> None:
    cases = [(0, 0, 0), (-1, 1, 63), (-(1 << 31), (1 << 24) - 1, 1), ((1 << 31) - 1, 1 << 23, 40), (7, 8, 9)]
    bias, mantissa, shift = zip(*cases, strict=True)
    table = records(Requantisation(np.array(bias, np.int32), np.array(mantissa, np.uint32), np.array(shift, np.uint8)))
    for (b, m, s), found in zip(cases, table.tolist(), strict=True):
        assert found == packed(b, m, s)


def vectors_of(span: Span, chunk: int) -> range:
    """That a chunk reads."""
    first = span.first_vector + ((chunk - span.first_chunk) // span.g_chunks * span.vectors if span.g_chunks else 0)
    return range(first, first + span.vectors)


@pytest.mark.parametrize("config", [*SHAPES, BASE], ids=lambda config: config.name)
@pytest.mark.parametrize(("inputs", "outputs", "groups"), [
    (12, 20, 1), (8, 8, 2), (20, 30, 5), (20, 30, 2), (12, 36, 3), (32, 16, 4), (64, 128, 2), (18, 18, 18), (30, 42, 6),
])  # fmt: skip
def test_chunks_read_the_channels_of_their_groups(config: MachineConfig, inputs: int, outputs: int, groups: int) -> None:
    """All chunks of a word the same, and no vectors beyond the first and the last that one of them needs."""
    made = layer(config, inputs, outputs, groups)
    spans = made.spans
    chunks = [(span, span.first_chunk + chunk) for span in spans for chunk in range(span.chunks)]
    assert [chunk for _, chunk in chunks] == [*range(len(made.slots))]
    per, of_group = config.chunks_per_word, inputs // groups
    for span, chunk in chunks:
        word = made.slots[chunk // per * per : chunk // per * per + per]
        read = {int(output) // (outputs // groups) for output in word[word >= 0]}
        needed = {(group * of_group + channel) // config.ic_p for group in read for channel in range(of_group)}
        assert vectors_of(span, chunk) == range(min(needed), max(needed) + 1)
    assert made.beats == 9 * -(-81 // config.px_p) * sum(len(vectors_of(span, chunk)) for span, chunk in chunks)


@pytest.mark.parametrize(
    ("config", "inputs", "outputs", "groups", "spans"),
    [
        (NANO, 20, 30, 1, 1), (NANO, 8, 8, 2, 1), (NANO, 32, 16, 4, 1), (NANO, 8, 24, 2, 1),
        (NANO, 12, 8, 2, 2), (NANO, 8, 12, 2, 3), (lanes(6, 2), 12, 12, 2, 1), (lanes(6, 2), 12, 24, 2, 1),
        (lanes(6, 2), 12, 16, 2, 3), (lanes(4, 9), 8, 16, 2, 1), (lanes(4, 9), 8, 8, 2, 1),
    ],
)  # fmt: skip
def test_whole_groups_in_whole_lanes_are_one_span(
    config: MachineConfig, inputs: int, outputs: int, groups: int, spans: int
) -> None:
    made = layer(config, inputs, outputs, groups)
    assert len(made.spans) == spans
    if groups > 1 and spans == 1 and len(made.slots) > 1:
        assert made.spans[0].g_chunks == len(made.slots) // groups


def test_groups_whose_weights_do_not_fit_together_are_spans_of_their_own() -> None:
    """Half of the buffer is one group's at most: the other half is loaded meanwhile. A group is nine taps of a vector."""
    for depth, count in ((36, 1), (35, 2)):
        few = replace(NANO, name="few", weight_depth=depth)
        spans = layer(few, 8, 16, 2).spans
        assert len(spans) == count
        assert [span.g_chunks for span in spans] == ([2] if count == 1 else [0, 0])
    for depth, count in ((4, 1), (3, 2)):
        assert len(layer(replace(NANO, name="few", param_depth=depth), 8, 16, 2).spans) == count


def test_blocks_are_all_of_it_once_and_fit_their_budget() -> None:
    """Sums that wait are taken up by the next block of their chunks; a block holds whole words of channels."""
    for seed in range(400):
        rng = random.Random(seed)
        config = rng.choice(SHAPES[:5])
        groups = rng.choice([1, 1, 2, 3])
        kernel = rng.choice([(3, 3), (1, 1), (2, 1), (5, 2), (2, 7)])
        made = layer(config, groups * rng.randint(1, 14), groups * rng.randint(1, 30), groups, kernel)
        room, allowed = rng.randint(1, rng.choice([20, 60, 120])), rng.randint(1, 30)
        waiting: dict[int, set[tuple[int, int]]] = {}
        for block in made.blocks({Buffer.WEIGHT: room, Buffer.PARAM: allowed}):
            part = block.part
            assert isinstance(part, Part)
            own = {*product(range(part.skip, part.skip + part.vectors), range(part.kernel.begin, part.kernel.end))}
            assert own
            assert block.divisible == (not part.acc_in and not part.acc_out)
            words = part.chunks * len(own) * kernel[1]
            assert block.sizes == {Buffer.WEIGHT: words} | ({} if part.acc_out else {Buffer.PARAM: part.chunks})
            assert words <= room
            assert part.chunks <= allowed
            every = {*product(range(part.span.vectors), range(kernel[0]))}
            for chunk in range(part.first_chunk, part.first_chunk + part.chunks):
                before = waiting.setdefault(chunk, set())
                assert part.acc_in == bool(before)
                assert before.isdisjoint(own)
                before |= own
                assert part.acc_out == (before != every)
            assert part.base_vector == vectors_of(part.span, part.first_chunk).start
            assert (part.first_chunk - part.span.first_chunk) % together(config, part.span) == 0
        fitting = [span for span in made.spans if together(config, span) <= min(allowed, room // kernel[1])]
        assert waiting.keys() == {span.first_chunk + chunk for span in fitting for chunk in range(span.chunks)}


def together(config: MachineConfig, span: Span) -> int:
    """Chunks of which none is computed without the others: of whole words, and of whole groups that lie in one span."""
    return math.lcm(span.g_chunks or 1, config.chunks_per_word)


def test_a_kernel_goes_in_rows_where_one_vector_of_it_does_not_fit() -> None:
    made = layer(NANO, 8, 8, 1, (5, 3))
    for room, rows in ((15, [5]), (14, [4, 1]), (8, [2, 2, 1]), (6, [2, 2, 1]), (5, [1] * 5), (3, [1] * 5)):
        parts = [block.part for block in made.blocks({Buffer.WEIGHT: room, Buffer.PARAM: 9})]
        found = [len(part.kernel) for part in parts if isinstance(part, Part) and part.first_chunk == 0 and part.skip == 0]
        assert found == rows
    assert made.blocks({Buffer.WEIGHT: 2, Buffer.PARAM: 9}) == []
    assert made.blocks({Buffer.WEIGHT: 99, Buffer.PARAM: 0}) == []
