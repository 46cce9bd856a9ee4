"""Calibration methods beside plain loops: every scale tried, every threshold's divergence summed bin by bin, values sorted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from compiler.quantise.entropy import LEVELS, STEP, UNSEEN, best_threshold, divergence
from compiler.quantise.histogram import BINS, Histogram
from compiler.quantise.methods import METHODS, method_of
from compiler.quantise.schemes import Free, PowerOfTwo, squared_error
from compiler.quantise.statistics import CalibrationError, Statistics, sampled

SEEDS = st.integers(0, 2**32)


def of(values: NDArray[np.float32]) -> Statistics:
    return Statistics.of(values, sampled(values.size, np.random.default_rng(0)))


def heavy_tails(seed: int, count: int = 4000) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    values = rng.standard_t(2.5, count) * 10 ** rng.uniform(-3, 3)
    return (np.maximum(values, 0) if seed % 2 else values).astype(np.float32)


@given(SEEDS)
@settings(max_examples=20)
def test_least_squared_error_is_that_of_all_ranges(seed: int) -> None:
    """A fine grid over both ends of the range; what is found is at most a percent worse."""
    values = heavy_tails(seed, 600)
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    parts = np.linspace(0.05, 1.0, 40)
    forms = [Free().holding(low * a, high * b) for a in (parts if low < 0 else (1.0,)) for b in parts]
    least = min(squared_error(values, p.scale, p.zero_point) for p in forms)
    found = METHODS["mse"](Free(), of(values))
    assert squared_error(values, found.scale, found.zero_point) <= 1.01 * least


@given(SEEDS)
@settings(max_examples=10)
def test_powers_of_two_of_least_error_are_the_best_of_all(seed: int) -> None:
    values = heavy_tails(seed, 600)
    found = METHODS["mse"](PowerOfTwo(), of(values))
    every = {2.0**e: squared_error(values, 2.0**e) for e in range(-40, 40)}
    tried = [scale for scale in every if found.scale / 16 <= scale <= found.scale * 16]
    assert every[found.scale] == min(every[scale] for scale in tried)


@pytest.mark.parametrize("scheme", [Free(), PowerOfTwo()])
@given(seed=SEEDS)
@settings(max_examples=20)
def test_minmax_holds_everything(scheme: Free | PowerOfTwo, seed: int) -> None:
    values = heavy_tails(seed)
    p = METHODS["minmax"](scheme, of(values))
    stored = np.rint(values / np.float32(p.scale)) + p.zero_point
    assert stored.min() >= -129
    assert stored.max() <= 128
    half = METHODS["minmax"](scheme, of(values / np.float32(2)))
    assert half.scale == pytest.approx(p.scale / 2)


@given(SEEDS)
@settings(max_examples=20)
def test_percentile_leaves_out_as_many_as_it_says(seed: int) -> None:
    values = heavy_tails(seed)
    low, high = of(values).histogram.between(0.99)
    width = 2.0 ** of(values).histogram.exponent
    ordered = np.sort(values)
    assert low <= ordered[20] < low + width or low <= ordered[20] <= high
    assert int((values < low).sum()) <= 20 < int((values < low + width).sum()) + 1
    assert int((values > high).sum()) <= 20
    assert int((values >= high - width).sum()) >= 20
    p = method_of("percentile:99")(PowerOfTwo(), of(values))
    assert p.scale <= METHODS["minmax"](PowerOfTwo(), of(values)).scale


def plain_divergence(counts: list[int], kept: int) -> float:
    """Bin by bin."""
    p = [float(n) for n in counts[:kept]]
    p[-1] += sum(counts[kept:])
    q = [0.0] * kept
    for level in range(LEVELS):
        bins = [b for b in range(kept) if b * LEVELS // kept == level]
        used = [b for b in bins if counts[b] > 0]
        for b in used:
            q[b] = sum(counts[i] for i in bins) / len(used)
    total_p, total_q = sum(p), max(sum(q), 1.0)
    return sum(a / total_p * math.log(a / total_p / max(b / total_q, UNSEEN)) for a, b in zip(p, q, strict=True) if a > 0)


@given(SEEDS)
@settings(max_examples=5, deadline=None)
def test_entropy_takes_the_least_divergence_of_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.zeros(BINS, np.int64)
    counts[:300] = rng.poisson(40 * np.exp(-np.arange(300) / rng.uniform(20, 80)))
    counts[rng.integers(200, 300)] += 1
    used = int(np.flatnonzero(counts)[-1]) + 1
    tried = [*range(LEVELS, used, STEP), used]
    plain = {kept: plain_divergence(counts.tolist(), kept) for kept in tried}
    for kept in tried:
        assert divergence(counts, kept) == pytest.approx(plain[kept], rel=1e-9, abs=1e-12)
    assert plain[best_threshold(counts)] == pytest.approx(min(plain.values()), rel=1e-9, abs=1e-12)


def test_entropy_gives_up_one_far_outlier_and_keeps_what_fits() -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(20000).astype(np.float32)
    values[7] = 100.0
    assert METHODS["entropy"](Free(), of(values)).scale < METHODS["minmax"](Free(), of(values)).scale / 5
    few = (np.arange(100) / 64).astype(np.float32)
    assert best_threshold(Histogram.of(np.zeros(3)).distances()) <= LEVELS
    assert METHODS["entropy"](PowerOfTwo(), of(few)).scale >= METHODS["mse"](PowerOfTwo(), of(few)).scale


@given(st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30), min_size=1, max_size=5), SEEDS)
def test_histograms_add_up_in_any_order(parts: list[list[float]], seed: int) -> None:
    whole = Histogram.of(np.array([v for part in parts for v in part], np.float32))
    order = np.random.default_rng(seed).permutation(len(parts))
    joined = Histogram.of(np.array(parts[order[0]], np.float32))
    for index in order[1:]:
        joined = joined.joined(Histogram.of(np.array(parts[index], np.float32)))
    assert joined.exponent == whole.exponent
    assert (joined.counts == whole.counts).all()
    assert whole.total == sum(map(len, parts))


ANY = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(st.lists(st.floats(-1e6, 1e6, width=32) | ANY, min_size=1, max_size=50))
@example([2.0**127, -(2.0**-149)])
@example([2.0**-149, 0.0])
def test_bins_hold_what_they_say(values: list[float]) -> None:
    found = Histogram.of(np.array(values, np.float32))
    for value in values:
        inside = [i for i in np.flatnonzero(found.counts) if found.edge(int(i)) <= value < found.edge(int(i) + 1)]
        assert len(inside) == 1
    assert found.distances().sum() == len(values)


def test_methods_have_names() -> None:
    assert set(METHODS) == {"minmax", "mse", "percentile", "entropy"}
    for name in ("best", "percentile:", "percentile:120", "percentile:10", "mse:3", "percentile:nan"):
        with pytest.raises(CalibrationError, match=f"calibration method '{name}': unknown; choose one of measured, "):
            method_of(name)
