"""The place finder against plain words: who lies in each at each moment, and the best places there are for small cases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from compiler.planning.presence import Presence
from compiler.planning.slabs import Berth, Seat, Slab, Slabs, Tenant


def tenant(rng: random.Random, layers: int, steps: int) -> Tenant:
    """Lives from one layer to another of each step; gains one row or two a step, of which some stay for the next."""
    first = rng.randrange(layers)
    last = rng.randrange(first, layers)
    gain, stay = rng.choice([1, 1, 2]), rng.choice([0, 0, 1, 2])
    begin = np.zeros((steps, layers), np.int64)
    end = np.zeros((steps, layers), np.int64)
    for step in range(steps):
        made, kept = gain * (step + 1), max(0, gain * step - stay)
        after = made if step + 1 == steps else max(kept, made - stay)
        begin[step], end[step] = kept, made
        begin[step, last + 1 :] = after
        end[step, :first] = gain * step
    begin = np.minimum(begin, end)
    presence = Presence(begin.reshape(-1), end.reshape(-1), first, last, stay > 0)
    return Tenant(presence, presence.most, rng.choice([1, 2]), rng.choice([1, 2, 3]))


def words_of(each: Tenant, berth: Berth, moment: int) -> set[int]:
    """That hold rows in use."""
    rows = range(int(each.presence.begin[moment]), int(each.presence.end[moment]))
    return {
        berth.word + (plane * berth.rows + (row + berth.shift) % berth.rows) * berth.pitch + x
        for plane, row, x in product(range(each.planes), rows, range(each.pitch))
    }


def destroyed(tenants: list[Tenant], berths: list[Berth]) -> int:
    """Words in which two rows lie at one moment, by plain replay."""
    found = 0
    for moment in range(len(tenants[0].presence.begin)):
        taken: set[int] = set()
        for each, berth in zip(tenants, berths, strict=True):
            own = words_of(each, berth, moment)
            found += len(own & taken)
            taken |= own
    return found


@pytest.mark.parametrize("upwards", [True, False])
def test_no_word_holds_two_rows(upwards: bool) -> None:
    tighter = 0
    for seed in range(300):
        rng = random.Random(seed)
        tenants = [tenant(rng, rng.randint(1, 4), 5) for _ in range(1)]
        layers = len(tenants[0].presence.begin) // 5
        tenants += [tenant(rng, layers, 5) for _ in range(rng.randint(1, 4))]
        apart = sum(each.ring * each.pitch * each.planes for each in tenants)
        slabs = Slabs(tenants)
        berths = slabs.berths(apart, upwards)
        assert berths is not None, f"seed {seed}: they fit side by side"
        assert destroyed(tenants, berths) == 0, f"seed {seed}"
        for words in range(slabs.least(), apart):
            berths = slabs.berths(words, upwards)
            if berths is not None:
                assert destroyed(tenants, berths) == 0, f"seed {seed}, {words} words"
                ends = [b.word + each.planes * b.rows * b.pitch for each, b in zip(tenants, berths, strict=True)]
                assert min(b.word for b in berths) >= 0
                assert max(ends) <= words
                tighter += 1
                break
    assert tighter > 80


def least_by_trial(tenants: list[Tenant]) -> int:
    """Words that two rings of one word a row take at least, each ring of any length and shift and at any word."""
    first, second = tenants
    apart = sum(each.ring * each.planes for each in tenants)
    for words in range(max(each.ring * each.planes for each in tenants), apart):
        for own, its in product(range(first.ring, words + 1), range(second.ring, words + 1)):
            if own * first.planes > words or its * second.planes > words:
                continue
            for shift, other, word in product(range(own), range(its), range(words - its * second.planes + 1)):
                if not destroyed(tenants, [Berth(0, own, 1, shift), Berth(word, its, 1, other)]):
                    return words
    return apart


def test_two_rings_lie_as_close_as_any_places_let_them() -> None:
    """But where rings of different lengths would do, now and then: those are not looked for."""
    equal = 0
    for seed in range(25):
        rng = random.Random(seed)
        pair = [tenant(rng, 3, 3) for _ in range(2)]
        pair = [Tenant(each.presence, each.ring, 1, min(2, each.planes)) for each in pair]
        best = least_by_trial(pair)
        slabs = Slabs(pair)
        found = next(words for words in range(1, 100) if slabs.berths(words) is not None)
        assert found >= best >= slabs.least(), f"seed {seed}"
        equal += found == best
    assert equal >= 22


class Plain(Slabs):
    """Seats all members anew, and looks at all slabs."""

    def _seated(self, members: tuple[int, ...], rows: int) -> dict[int, Seat] | None:
        seats: dict[int, Seat] = {}
        for number in members:
            planes = self.tenants[number].planes
            for first in sorted({0, *(seat.plane + self.tenants[n].planes for n, seat in seats.items())}):
                beside = [
                    (other, seat) for other, seat in seats.items()
                    if first < seat.plane + self.tenants[other].planes and seat.plane < first + planes
                ]  # fmt: skip
                free = (
                    shift for shift in range(rows)
                    if not any(self._mask(number, other, rows) >> (shift - seat.shift) % rows & 1 for other, seat in beside)
                )  # fmt: skip
                shift = next(free, None)
                if shift is not None:
                    seats[number] = Seat(first, shift)
                    break
            else:
                return None
        return seats

    def _slabs(self, order: Sequence[int]) -> list[Slab]:
        slabs: list[Slab] = []
        for number in order:
            ways = []
            for place in range(len(slabs) + 1):
                seats = slabs[place].seats if place < len(slabs) else {}
                if (slab := self._joined((*seats, number))) is not None:
                    ways.append([*slabs[:place], slab, *slabs[place + 1 :]])
            slabs = min(ways, key=lambda way: (self._most_in_use(way), sum(slab.words for slab in way)))
        return slabs

    def _most_in_use(self, slabs: Sequence[Slab]) -> int:
        """Words, at the worst moment of a step."""
        blocks = [self._block(slab) for slab in slabs]
        last = max(each.presence.last for each in self.tenants)
        return max(sum(block.size for block in blocks if block.begin <= time < block.end) for time in range(last + 1))


def test_seats_are_those_of_a_plain_search() -> None:
    shared = 0
    for seed in range(200):
        rng = random.Random(seed)
        layers = rng.randint(1, 6)
        tenants = [tenant(rng, layers, 5) for _ in range(rng.randint(4, 10))]
        apart = sum(each.ring * each.pitch * each.planes for each in tenants)
        for words in {Slabs(tenants).least(), (Slabs(tenants).least() + apart) // 2, apart}:
            found = Slabs(tenants).berths(words)
            assert found == Plain(tenants).berths(words), f"seed {seed}, {words} words"
            shared += found is not None and words < apart
    assert shared > 100
