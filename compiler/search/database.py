"""Keeps the costs of groups that were planned from run to run.

There is one file for each machine and version of the planner, in the user's cache directory. It can be deleted at any time.
A damaged file is ignored, with a warning, and written anew. Several compilations may use a file at once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import Any

from compiler.planning.objective import Cost
from compiler.search.sources import sources_of
from isa.config import MachineConfig
from isa.files import locked, write_atomically

PLANNER = "compiler.search.cost"
"""The module that plans groups and asks for their costs. Any module that it imports may change the costs."""
UNREAD = ("name", "clock_mhz", "chip")
"""The fields of a configuration that planning does not read."""
_MOST = 1 << 53
"""An upper limit: each count of cycles or bytes is smaller."""


class DamagedCache(UserWarning):
    """The warning for a file of costs that is not as it was written."""


class Database:
    """A dictionary of costs by digest of shape. None: a group of this shape fits at no tiling. ``save`` writes new costs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._costs = _read(path)
        self._new = False

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
        """Adds the costs to those that other processes wrote meanwhile. A directory that cannot be written is no error."""
        if not self._new:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locked(self.path.with_suffix(".lock")):
                _write(self.path, _read(self.path) | self._costs)
            self._new = False


def open_database(config: MachineConfig, directory: Path | None = None) -> Database:
    """The database of this configuration and this version of the planner."""
    root = directory or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilewright"
    read = {name: value for name, value in dataclasses.asdict(config).items() if name not in UNREAD}
    key = hashlib.sha256(f"{json.dumps(read)}{_planner()}".encode()).hexdigest()[:24]
    return Database(root / "groups" / f"{key}.json")


@lru_cache(maxsize=1)
def _planner() -> str:
    """A digest of the sources that costs depend on."""
    state = hashlib.sha256()
    for name, path in sorted(sources_of(PLANNER).items()):
        state.update(name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


def _write(path: Path, costs: Mapping[str, Cost | None]) -> None:
    """Writes the costs in the second line of the file, and the checksum of that line in the first."""
    content = json.dumps({digest: None if cost is None else astuple(cost) for digest, cost in costs.items()}).encode()
    write_atomically(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def _read(path: Path) -> dict[str, Cost | None]:
    """Reads the costs of a file. There are none if there is no file, and none, with a warning, if the file is damaged."""
    if not path.exists():
        return {}
    try:
        if not path.is_file():
            raise ValueError("it is not a file")
        seal, _, content = path.read_bytes().partition(b"\n")
        if seal != hashlib.sha256(content).hexdigest().encode():
            raise ValueError("its checksum is wrong")
        return {digest: None if cost is None else _cost(*cost) for digest, cost in json.loads(content).items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        what = f"{path}: kept costs of groups cannot be used ({error}); all are found again; delete the file if this comes back"
        warnings.warn(what, DamagedCache, stacklevel=2)
        return {}


def _cost(cycles: Any, dram_bytes: Any) -> Cost:
    for value in (cycles, dram_bytes):
        if type(value) is not int or not 0 < value < _MOST:
            raise ValueError(f"a cost is {str(value)[:20]}, expected a whole number above 0")
    return Cost(cycles, dram_bytes)
