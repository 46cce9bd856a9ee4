"""Costs and schemes of groups that were planned before, kept between runs.

There is one file for each machine and version of the planner, in the user's cache directory. It can be deleted at any time.
A damaged file is told in a warning, ignored, and written anew. Several compilations may use it at once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import Any

from compiler.planning.objective import Cost
from compiler.planning.schemes import Scheme
from compiler.search.sources import sources_of
from isa.config import MachineConfig
from isa.files import locked, write_atomically

PLANNER = "compiler.search.cost"
"""The module that plans groups and asks for their costs: all that it imports may change them."""
UNREAD = ("name", "clock_mhz", "chip")
"""Fields of a configuration that planning does not read."""
_MOST = 1 << 53
"""No count of cycles or bytes is as large."""


class DamagedCache(UserWarning):
    """A file of costs is not as it was written."""


class Database:
    """A dictionary of costs (None: fits at no tiling) by digest of shape; ``save`` writes what is new.

    ``schemes``: lists of them by how many were asked for and digest; they are costly to find, and few.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._costs, self._schemes = _read(path)
        self._new = False

    @property
    def schemes(self) -> Mapping[str, tuple[Scheme, ...]]:
        return self._schemes

    def keep_schemes(self, digest: str, schemes: Sequence[Scheme]) -> None:
        self._schemes[digest] = tuple(schemes)
        self._new = True

    def __contains__(self, digest: str) -> bool:
        return digest in self._costs

    def __getitem__(self, digest: str) -> Cost | None:
        return self._costs[digest]

    def __setitem__(self, digest: str, cost: Cost | None) -> None:
        self._costs[digest] = cost
        self._new = True

    def __len__(self) -> int:
        return len(self._costs)

    def save(self) -> None:
        """Adds to what other processes have written meanwhile; a directory that cannot be written is no error."""
        if not self._new:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.path.with_suffix(".lock")):
                costs, schemes = _read(self.path)
                _write(self.path, costs | self._costs, schemes | self._schemes)
            self._new = False


def open_database(config: MachineConfig, directory: Path | None = None) -> Database:
    """The database of this configuration and this version of the planner."""
    root = directory or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilewright"
    read = {name: value for name, value in dataclasses.asdict(config).items() if name not in UNREAD}
    key = hashlib.sha256(f"{json.dumps(read)}{_planner()}".encode()).hexdigest()[:24]
    return Database(root / "groups" / f"{key}.json")


@lru_cache(maxsize=1)
def _planner() -> str:
    """Of the sources that costs depend on."""
    state = hashlib.sha256()
    for name, path in sorted(sources_of(PLANNER).items()):
        state.update(name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


_Content = tuple[dict[str, Cost | None], dict[str, tuple[Scheme, ...]]]


def _write(path: Path, costs: Mapping[str, Cost | None], schemes: Mapping[str, Sequence[Scheme]]) -> None:
    """In two lines: the checksum of the second, and the second."""
    content = json.dumps({
        "costs": {digest: None if cost is None else astuple(cost) for digest, cost in costs.items()},
        "schemes": {digest: [astuple(each) for each in found] for digest, found in schemes.items()},
    }).encode()  # fmt: skip
    write_atomically(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def _read(path: Path) -> _Content:
    """Nothing where there is no file; nothing, with a warning, where it is not as it was written."""
    if not path.exists():
        return {}, {}
    try:
        if not path.is_file():
            raise ValueError("it is not a file")
        seal, _, content = path.read_bytes().partition(b"\n")
        if seal != hashlib.sha256(content).hexdigest().encode():
            raise ValueError("its checksum is wrong")
        kept = json.loads(content)
        costs = {digest: None if cost is None else _cost(*cost) for digest, cost in kept["costs"].items()}
        return costs, {digest: tuple(_scheme(*each) for each in found) for digest, found in kept["schemes"].items()}
    except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        what = f"{path}: kept costs of groups cannot be used ({error}); all are found again; delete the file if this comes back"
        warnings.warn(what, DamagedCache, stacklevel=2)
        return {}, {}


def _cost(cycles: Any, dram_bytes: Any) -> Cost:
    for value in (cycles, dram_bytes):
        if type(value) is not int or not 0 < value < _MOST:
            raise ValueError(f"a cost is {str(value)[:20]}, expected a whole number above 0")
    return Cost(cycles, dram_bytes)


def _scheme(steps: Any, pipelined: Any, passes: Any, held: Any, partly: Any, turned: Any) -> Scheme:
    if not all(type(value) is int and 0 < value < _MOST for value in (steps, passes)):
        raise ValueError(f"a scheme has {str(steps)[:20]} steps and {str(passes)[:20]} passes, expected whole numbers above 0")
    if not all(type(value) is bool for value in (pipelined, held, partly, turned)):
        raise ValueError("a scheme is neither so nor so, expected true or false")
    return Scheme(steps, pipelined, passes, held, partly, turned)
