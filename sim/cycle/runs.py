"""How bytes fall into DRAM beats."""

from __future__ import annotations

from functools import lru_cache
from math import gcd

MAX_BURST_BEATS = 32


@lru_cache(maxsize=1 << 16)
def beats_of_runs(beat: int, offset: int, row_stride: int, rows: int, step: int, pieces: int, length: int) -> int:
    """Beats of ``rows`` times ``pieces`` runs of ``length`` bytes: a beat that two runs share counts twice.

    Only the lane in which a run begins matters, and lanes repeat after at most ``beat`` rows or pieces.
    """
    total = 0
    for row, row_times in _lanes(beat, row_stride, rows):
        for piece, piece_times in _lanes(beat, step, pieces):
            lane = (offset + row + piece) % beat
            total += row_times * piece_times * ((lane + length - 1) // beat + 1)
    return total


@lru_cache(maxsize=1 << 12)
def _lanes(beat: int, step: int, count: int) -> tuple[tuple[int, int], ...]:
    """The lanes of ``count`` starts ``step`` bytes apart, and how often each occurs."""
    period = beat // gcd(step, beat)
    full, rest = divmod(count, period)
    return tuple((n * step % beat, full + (n < rest)) for n in range(min(period, count)))
