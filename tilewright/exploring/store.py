"""Keeps results by their content: nothing is compiled again for the same model, machine and compiler.

Each result is a small file that appears whole, so processes share the folder without locks. It can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from compiler.search.sources import sources_of
from isa.config import MachineConfig
from isa.files import write_atomically
from sim.rtl.build import cache_directory

COMPILER = "compiler.driver"
"""The module that compiles. All that it imports may change a result."""
TIMES_NOTHING = ("name", "clock_mhz", "chip", "chip_cores", "axi_prot", "axi_cache", "axi_qos")
"""The fields that change neither cycles nor bytes."""


def explore_folder() -> Path:
    return cache_directory() / "explore"


def key_of(model: str, config: MachineConfig, effort: str) -> str:
    """The key of a result. ``model``: the digest of the imported model."""
    read = {name: value for name, value in asdict(config).items() if name not in TIMES_NOTHING}
    return hashlib.sha256(json.dumps([model, effort, read, compiler_digest()], sort_keys=True).encode()).hexdigest()[:32]


def kept(key: str) -> dict[str, Any] | None:
    """The result that is kept, or None. A damaged file counts as none."""
    try:
        found = json.loads(_path(key).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("cycles"), int) else None


def keep(key: str, result: Mapping[str, Any]) -> None:
    """Keeps a result. A folder that cannot be written is no error."""
    with suppress(OSError):
        _path(key).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(_path(key), json.dumps(dict(result)).encode())


def _path(key: str) -> Path:
    return explore_folder() / key[:2] / f"{key}.json"


@lru_cache(maxsize=1)
def compiler_digest() -> str:
    """A digest of the sources that results depend on."""
    state = hashlib.sha256()
    for name, path in sorted(sources_of(COMPILER).items()):
        state.update(name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()
