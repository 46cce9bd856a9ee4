"""How the runs of LOAD and SAVE fall into DRAM beats, and what that costs beside the words on chip."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import gcd


@dataclass(frozen=True, slots=True)
class Runs:
    """``rows`` times ``pieces`` runs. Of an address only the lane counts in which a run begins: the address modulo the beat."""

    beat: int
    """The bytes of a beat."""
    offset: int
    row_stride: int
    rows: int
    step: int
    pieces: int
    length: int
    """The bytes of a run."""

    def lanes(self) -> list[tuple[int, int]]:
        """The lanes in which runs begin, each with the number of its runs. They repeat after ``beat`` rows or pieces at
        most."""
        return [
            ((self.offset + row + piece) % self.beat, row_times * piece_times)
            for row, row_times in _progression(self.beat, self.row_stride, self.rows)
            for piece, piece_times in _progression(self.beat, self.step, self.pieces)
        ]

    def beats_from(self, lane: int) -> int:
        return (lane + self.length - 1) // self.beat + 1


@dataclass(frozen=True, slots=True)
class Cuts:
    """How LOAD's packer cuts the bytes of a run into words."""

    words: int
    lanes: int
    """The bytes of a word."""
    pixels: int
    step: int
    """The bytes from pixel to pixel."""
    run: int
    """The bytes of a pixel."""

    @property
    def windows(self) -> bool:
        """Whether pixels overlap. Chunks then stay until a whole pixel is cut, and pass one per cycle."""
        return self.step < self.run

    def last_base(self) -> int:
        """The first byte that is still wanted when the last word is cut."""
        last_pixel = (self.pixels - 1) * self.step
        return last_pixel if self.windows else last_pixel + (-(-self.run // self.lanes) - 1) * self.lanes

    def passing(self, skip: int, size: int) -> int:
        """The cycles in which chunks pass between overlapping pixels. The first of them passes with the last word."""
        if not self.windows:
            return 0
        chunks = [(skip + pixel * self.step) // size for pixel in range(self.pixels)]
        return sum(max(0, after - before - 1) for before, after in pairwise(chunks))


@lru_cache(maxsize=1 << 14)
def loaded(runs: Runs, lead: int, cuts: Cuts) -> tuple[int, int, int]:
    """The beats, the cycles in the unit, and the additional cycles until the last word is written.

    A chunk (a beat, or fill in ``lead``) comes in and a word goes out per cycle; chunks behind the last word are dropped, one
    per cycle. The first word waits for all of its chunks.
    """
    beats = cycles = 0
    size = runs.beat
    last = cuts.last_base()
    for lane, times in runs.lanes():
        count = runs.beats_from(lane)
        chunks = count + max(0, -(-(lead - lane) // size))
        skip = (lane - lead) % size
        dropped = max(0, chunks - 1 - (skip + last) // size)
        beats += times * count
        cycles += times * max(chunks, cuts.words + dropped + cuts.passing(skip, size))
    skip = (runs.offset - lead) % size
    lane = runs.offset % size
    chunks = runs.beats_from(lane) + max(0, -(-(lead - lane) // size))
    dropped = max(0, chunks - 1 - (skip + last) // size)
    reach = -(-(size - 1 + cuts.lanes) // size)
    bound_by_chunks = chunks >= cuts.words + dropped
    edge = min(dropped, reach - 1) if bound_by_chunks else -(-(skip + min(cuts.run, cuts.lanes)) // size) - 1
    return beats, cycles, edge


@lru_cache(maxsize=1 << 14)
def saved(runs: Runs, words: int, last_bytes: int) -> tuple[int, int]:
    """The beats, and the cycles in the unit, of runs of ``words`` words each, whose last word has ``last_bytes`` bytes.

    A word comes in and a beat goes out per cycle; a last word that reaches into another beat costs a cycle more.
    """
    beats = cycles = 0
    for lane, times in runs.lanes():
        count = runs.beats_from(lane)
        straddles = (lane + runs.length - last_bytes) % runs.beat + last_bytes > runs.beat
        beats += times * count
        cycles += times * max(count, words + straddles)
    return beats, cycles


@lru_cache(maxsize=1 << 12)
def _progression(beat: int, step: int, count: int) -> tuple[tuple[int, int], ...]:
    """The lanes of ``count`` starts ``step`` bytes apart, and how often each occurs."""
    period = beat // gcd(step, beat)
    full, rest = divmod(count, period)
    return tuple((n * step % beat, full + (n < rest)) for n in range(min(period, count)))
