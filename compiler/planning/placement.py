"""Places the maps of a group on chip: one ring after another, each just long enough."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from compiler.layers.placed import Placed, meet
from compiler.planning.operations import Group
from compiler.planning.ranges import Ranges
from compiler.planning.sharing import share, sharing_as
from compiler.planning.tenancy import tenancies
from compiler.schedule.document import GroupSchedule
from compiler.tuned import POOL_IS_BUSY
from isa.config import MachineConfig
from isa.instructions import Unit


class _SizedRing(NamedTuple):
    """A ring with its number of rows, and the maps that lie in it."""

    planes: Sequence[tuple[str, int, int]]
    """For each map: its first channel vector, and the number of its channel vectors."""
    rows: int
    pitch: int
    vectors: int
    of_pool: bool
    """Whether POOL reads it."""

    def apart(self, phases: int) -> int:
        """The words between planes that put the channel vectors of a pixel by turns in either half of ``phases`` banks.

        CONV reads all channel vectors of a few pixels before it goes on. If they lay in one half, CONV would keep other units
        out of that half for as long.
        """
        return (phases // 2 - self.rows * self.pitch) % phases if self.vectors > 1 else 0

    def words(self, apart: int) -> int:
        return (self.rows * self.pitch + apart) * self.vectors


class Ring(NamedTuple):
    """The part of a ring that is the same for every number of steps, as long as the same layers run behind."""

    planes: Sequence[tuple[str, int, int]]
    """For each map in the ring: its first channel vector, and the number of its channel vectors."""
    lives: Sequence[tuple[str, str, int]]
    """For each use: the map that is made, the map that is read from it, and by how many steps later. Empty: the map is held."""
    least: int
    height: int
    pitch: int
    vectors: int
    of_pool: bool
    """Whether POOL reads it."""

    def rows(self, ranges: Ranges) -> int:
        """The fewest rows of the ring."""
        if not self.lives:
            return self.height
        return min(self.height, max([self.least, *[ranges.rows_kept(*life) for life in self.lives]]))

    def of_rows(self, rows: int) -> _SizedRing:
        return _SizedRing(self.planes, rows, self.pitch, self.vectors, self.of_pool)


def rings_of(config: MachineConfig, group: Group, skew: Mapping[str, int], held: Collection[str] = ()) -> list[Ring]:
    """The rings of a group. ``skew``: steps by which layers, loads and saves run behind. ``held``: maps that stay in full."""
    of_pool = {name for layer in group.layers if layer.unit is Unit.POOL for name in group.sources(layer)}
    found = []
    for tenancy in tenancies(config, group):
        lives = [(life.first, life.last, life.lag(skew)) for life in tenancy.lives if tenancy.lives[0].first not in held]
        height = group.tensors[tenancy.planes[0][0]].height
        read_by_pool = any(name in of_pool for name, _, _ in tenancy.planes)
        found.append(Ring(tenancy.planes, lives, tenancy.least_ring, height, tenancy.pitch, tenancy.vectors, read_by_pool))
    return found


def place(
    config: MachineConfig, group: Group, ranges: Ranges, rings: Sequence[Ring], upwards: bool
) -> dict[str, Placed] | None:
    """Places the rings one after another. None: they do not fit.

    The first of these ways is taken for which the buffer has room:
    - each ring at a bank group's start, with its planes apart (``_SizedRing.apart``);
    - if POOL is busy, the rings that POOL reads in other bank groups than the others. There CONV, which goes first, does not
      hold up POOL. In a group of point-wise and depthwise convolutions both read in every cycle; in others POOL has time to
      wait;
    - rings without a gap, with planes apart;
    - rings and planes without gaps.

    ``upwards``: from the buffer's bottom, else from its top.
    """
    rows = []
    left = config.fm_words
    for ring in rings:
        rows.append(ring.rows(ranges))
        left -= rows[-1] * ring.pitch * ring.vectors
        if left < 0:
            return None
    sized = [ring.of_rows(count) for ring, count in zip(rings, rows, strict=True)]
    nowhere, everywhere = set[int](), set(range(len(sized)))
    ways = [(sized, everywhere, config.fm_phases), (sized, nowhere, config.fm_phases), (sized, nowhere, 1)]
    if POOL_IS_BUSY * group.beats.get(Unit.POOL, 0) >= group.beats.get(Unit.CONV, 0) > 0:
        by_reader = sorted(sized, key=lambda ring: ring.of_pool is not sized[0].of_pool)
        second = {sum(ring.of_pool is sized[0].of_pool for ring in sized)}
        ways[1:1] = [(by_reader, second, config.fm_phases), (by_reader, second, 1)]
    found = (_in_a_row(config, *way, upwards) for way in ways)
    bases = next((bases for bases in found if bases is not None), None)
    return None if bases is None else dict(_placed(group, bases))


def _in_a_row(
    config: MachineConfig, rings: Sequence[_SizedRing], aligned: Collection[int], phases: int, upwards: bool
) -> list[tuple[_SizedRing, int, int, int]] | None:
    """Places one ring behind the other. None: they do not fit.

    Rings with the numbers in ``aligned`` begin at a bank group's start, or end at its end if placed downwards.
    """
    whole = config.fm_phases * config.fm_depth
    where = 0
    bases = []
    for number, ring in enumerate(rings):
        apart = ring.apart(phases)
        words = ring.words(apart)
        align = whole if number in aligned else 1
        where = -(-where // align) * align
        bases.append((ring, where if upwards else config.fm_words - where - words, apart, 0))
        where += words
    return bases if where <= config.fm_words else None


def place_shared(
    config: MachineConfig, group: Group, ranges: Ranges, skew: Mapping[str, int], upwards: bool, held: Collection[str]
) -> tuple[dict[str, Placed], frozenset[str]] | None:
    """Places rings that share words, and tells which layers slide (``Way.sliding``).

    None: a layer runs behind another, or no places are found.
    """
    if any(skew.values()):
        return None
    rings = [ring.rows(ranges) for ring in rings_of(config, group, skew, held)]
    return share(config, group, ranges, rings, upwards, held)


def place_as(
    config: MachineConfig, group: Group, ranges: Ranges, skew: Mapping[str, int], held: Collection[str], wanted: GroupSchedule
) -> tuple[dict[str, Placed], bool, frozenset[str]]:
    """Places rings as a schedule has them, and tells whether any share words, and which layers slide then (``Way.sliding``).

    It refuses a ring that is too short, too narrow, ends beyond the buffer, or destroys another.
    """
    assert wanted.rings is not None
    sized = {
        ring.planes[0][0]: ring.of_rows(ring.rows(ranges))
        for ring in rings_of(config, group, skew, held)
    }
    for name in (*wanted.rings, *sized):
        if name not in sized:
            raise wanted.refused(f"rings.{name}", f"no ring begins with map {name!r}; expected {', '.join(sized)}")
        if name not in wanted.rings:
            raise wanted.refused("rings", f"map {name!r} has no ring; expected all of {', '.join(sized)}, or no rings")
    bases = [(_ring_as(config, group, ranges, ring, wanted), wanted.rings[name]) for name, ring in sized.items()]
    placed = dict(_placed(group, [(ring, given.word, given.apart, given.shift) for ring, given in bases]))
    pairs = [pair for pair in combinations(sized, 2) if meet(placed[pair[0]], placed[pair[1]])]
    if not pairs:
        return placed, False, frozenset()
    found = pairs[0] if any(skew.values()) else sharing_as(config, group, ranges, placed, held)
    if isinstance(found, frozenset):
        return placed, True, found
    other, name = found
    words = placed[name].base, placed[name].base + placed[name].words - 1
    what = f"ring {name}: words {words[0]} to {words[1]} meet those of ring {other} while both are in use"
    raise wanted.refused(f"rings.{name}", what)


def _ring_as(config: MachineConfig, group: Group, ranges: Ranges, least: _SizedRing, wanted: GroupSchedule) -> _SizedRing:
    assert wanted.rings is not None
    name = least.planes[0][0]
    ring, height = wanted.rings[name], group.tensors[name].height
    if ring.rows < least.rows:
        what = f"ring {name}: {ring.rows} rows; expected {least.rows} to {height} in {ranges.steps} steps"
        raise wanted.refused(f"rings.{name}", what)
    if ring.pitch < group.width(name):
        raise wanted.refused(f"rings.{name}", f"ring {name}: pitch {ring.pitch}; expected at least {group.width(name)}")
    if ring.shift >= ring.rows:
        raise wanted.refused(f"rings.{name}", f"ring {name}: shift {ring.shift}; expected less than its {ring.rows} rows")
    found = least._replace(rows=ring.rows, pitch=ring.pitch)
    end = ring.word + found.words(ring.apart)
    if end > config.fm_words:
        raise wanted.refused(
            f"rings.{name}", f"ring {name}: ends at word {end}; configuration {config.name} has {config.fm_words}"
        )
    return found


def _placed(group: Group, bases: Sequence[tuple[_SizedRing, int, int, int]]) -> Iterator[tuple[str, Placed]]:
    """Yields each map with its place. ``bases``: each ring, its first word, the words between its planes, and its shift."""
    for ring, base, apart, shift in bases:
        plane = ring.rows * ring.pitch + apart
        for name, first, planes in ring.planes:
            height = group.tensors[name].height
            yield name, Placed(base + first * plane, ring.pitch, ring.rows, height, group.width(name), planes, apart, shift)
