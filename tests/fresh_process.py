"""The same work in fresh processes that differ in what must not matter: hash seeds, cores, caches, folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SEEDS = ("1", "2", "3")
"""Hash seeds: under each of them sets of strings come in another order."""
_CALL = "import importlib, json, sys; module, name, given = json.loads(sys.argv[1]); " \
    "print(json.dumps(getattr(importlib.import_module(module), name)(*given)))"


def answers(
    work: Callable[..., dict[str, str]], given: Sequence[Any], folder: Path, seeds: Sequence[str] = SEEDS
) -> list[dict[str, str]]:
    """What ``work(*given)`` returns under each seed, in an empty folder with an empty cache; under the first on one core."""
    found = []
    for seed in seeds:
        place = folder / f"under {seed}" / ("x" * int(seed))
        place.mkdir(parents=True)
        changed = {
            "PYTHONHASHSEED": seed, "TILEWRIGHT_CORES": "1" if seed == SEEDS[0] else "2",
            "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore",
            "XDG_CACHE_HOME": str(folder / f"cache {seed}"),
        }  # fmt: skip
        call = [sys.executable, "-c", _CALL, json.dumps([work.__module__, work.__name__, given])]
        done = subprocess.run(call, cwd=place, env=os.environ | changed, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def that_differ(found: Sequence[dict[str, str]]) -> list[str]:
    """Names whose values are not the same in all answers."""
    names = dict.fromkeys(name for each in found for name in each)
    return [name for name in names if len({each.get(name) for each in found}) > 1]
