"""The time of a model on the machines that fit a chip."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from compiler.frontend.extras import NO_EXTRAS
from isa.bounds import ConfigError
from isa.chips import Chip, chip_of, described
from isa.errors import TilewrightError
from isa.suggest import Suggestion
from tilewright.exploring.evaluate import evaluated, task
from tilewright.exploring.workload import workload_of


def described_chip(text: str) -> Chip:
    """The chip of that name, or of the table ``[chip]`` in a TOML file."""
    if text.endswith(".toml"):
        try:
            table = tomllib.loads(Path(text).read_text(encoding="utf-8")).get("chip", "")
        except OSError as error:
            raise ConfigError(f"chip file {text!r} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise ConfigError(f"chip file {text!r}: not TOML: {error}") from None
        text = described(table) if isinstance(table, dict) else str(table)
    found = chip_of(text)
    if found is None:
        raise ConfigError("a chip is named by a word, or by a TOML file with a table [chip]; '' is neither")
    return found


def timed(model: Path, found: Sequence[Suggestion]) -> list[tuple[Suggestion, tuple[int, float] | None]]:
    """The machines with their cycles and milliseconds at effort quick, as a search for machines finds them, the fastest
    first."""
    (net,) = workload_of({model.stem: model}, extras=NO_EXTRAS).nets
    rows: list[tuple[Suggestion, tuple[int, float] | None]] = []
    for one in found:
        run = evaluated(task(net, asdict(one.config), "quick"))
        if not run["cycles"]:
            raise TilewrightError(run["refused"])
        rows.append((one, (run["cycles"], run["cycles"] / one.config.clock_mhz / 1000)))
    return sorted(rows, key=lambda row: row[1] or (0, 0.0))
