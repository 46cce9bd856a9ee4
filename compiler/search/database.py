"""Costs and schemes of groups that were planned before, kept between runs.

One file per configuration and version of the planner, in the user's cache directory, sealed by a checksum: costs that somebody
has changed would change programs. It can be deleted at any time; a damaged one is told, ignored, and written anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import lru_cache
from pathlib import Path
from typing import Any

from compiler.planning.objective import Cost
from compiler.planning.schemes import Scheme
from compiler.schedule.latency import AFTER_LOAD, OF_A_PASS
from isa.config import MachineConfig
from isa.files import write_atomically

_LIMIT = 1 << 62
FOLDERS = ("layers", "planning", "emit", "search", "xgraph", "memory", "schedule")
"""Where the code lies that costs depend on."""


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
        costs, schemes = _read(self.path, told=True)
        content = {
            "costs": {
                digest: None if cost is None else [cost.cycles, cost.dram_bytes]
                for digest, cost in (costs | self._costs).items()
            },
            "schemes": {digest: [astuple(each) for each in found] for digest, found in (schemes | self._schemes).items()},
        }  # fmt: skip
        if self.path.exists() and not self.path.is_file():
            return
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, json.dumps({"sha256": _seal(content), **content}).encode())
            self._new = False


def open_database(config: MachineConfig, directory: Path | None = None) -> Database:
    """The database of this configuration and this version of the planner."""
    root = directory or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilewright"
    key = hashlib.sha256(f"{config.to_json()}{_planner()}".encode()).hexdigest()[:24]
    return Database(root / "groups" / f"{key}.json")


@lru_cache(maxsize=1)
def _planner() -> str:
    """Of the sources, and of what they take from the cycle model: costs of another planner must not be taken."""
    state = hashlib.sha256(repr((AFTER_LOAD, OF_A_PASS)).encode())
    for folder in FOLDERS:
        for source in sorted((Path(__file__).parents[1] / folder).glob("*.py")):
            state.update(source.name.encode() + b"\0" + source.read_bytes())
    return state.hexdigest()


class CacheWarning(UserWarning):
    """A file of the cache that is of no use."""


def _seal(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read(path: Path, told: bool = False) -> tuple[dict[str, Cost | None], dict[str, tuple[Scheme, ...]]]:
    try:
        if not path.exists():
            return {}, {}
        if not path.is_file():  # a pipe would be waited for
            raise ValueError("not a file")
        content = json.loads(path.read_bytes())
        if content.pop("sha256") != _seal(content):
            raise ValueError("its content does not match its checksum")
        costs = {digest: None if cost is None else _cost(cost) for digest, cost in content["costs"].items()}
        return costs, {digest: tuple(map(_scheme, found)) for digest, found in content["schemes"].items()}
    except OSError:
        return {}, {}
    except (ValueError, TypeError, AttributeError, IndexError, KeyError, OverflowError, RecursionError) as error:
        if not told:
            message = f"costs of groups in {path} cannot be used ({error}); they are found anew"
            warnings.warn(message, CacheWarning, stacklevel=2)
        return {}, {}


def _cost(kept: Sequence[Any]) -> Cost:
    cycles, dram_bytes = kept
    return Cost(_number(cycles, 0), _number(dram_bytes, 0))


def _scheme(kept: Sequence[Any]) -> Scheme:
    steps, pipelined, passes, held, partly, turned = kept
    return Scheme(_number(steps, 1), bool(pipelined), _number(passes, 1), bool(held), bool(partly), bool(turned))


def _number(value: Any, least: int) -> int:
    if type(value) is not int or not least <= value < _LIMIT:
        raise ValueError(f"{value!r:.40} is no number from {least}")
    return value
