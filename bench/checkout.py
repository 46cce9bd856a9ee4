"""Runs another checkout of this project with the same interpreter and packages as this one."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from isa.errors import TilewrightError

ROOT = Path(__file__).parents[1]
"""The folder of this checkout."""


def revision(checkout: Path) -> str:
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=checkout, check=True, capture_output=True, text=True
    ).stdout.strip()  # fmt: skip


def run_in(checkout: Path, arguments: list[str], what: str, cache: Path | None = None) -> tuple[str, float]:
    """Runs Python with imports from a checkout; returns what it prints, and its seconds on the CPU.

    ``what``: a name for the error if it fails. ``cache``: the cache directory; without one the run finds nothing kept.
    """
    before = _of_children()
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=checkout, check=False, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(checkout), "XDG_CACHE_HOME": str(cache or empty)},
        )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise TilewrightError(f"{what} in {checkout.name}: failed with status {done.returncode}: {said[-1]}")
    return done.stdout, _of_children() - before


def _of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
