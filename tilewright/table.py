"""Optimus' look-up table (Algorithm 3), built off line for one network, so that the search only looks it up."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from compiler.frontend.extras import Extras
from compiler.papers.as_written import build_table, kept_tables, modelled_like
from compiler.papers.modelled import optimus_model
from compiler.papers.optimus.online_table import most_operations
from compiler.programs.fitting import fitted
from compiler.search.cost import Evaluator
from compiler.search.database import open_database
from compiler.search.progress import Progress
from isa.config import MachineConfig
from isa.errors import TilewrightError
from tilewright.compiling import imported_as


@dataclass(frozen=True)
class Built:
    """The result. ``table`` holds the bytes of feature maps for groups of 1, 2 and more operations."""

    table: Sequence[int]
    room: int
    """The bytes of feature maps that the configuration's buffer holds."""
    path: Path
    """The file in which the table is kept."""
    seconds: float
    """The seconds for the table alone, without the import."""

    @property
    def operations(self) -> int:
        """The most operations of a group on the configuration."""
        return most_operations(self.table, self.room)


def online_table(
    model: Path | str | onnx.ModelProto, config: MachineConfig, *, progress: Progress | None = None, **how: Any
) -> Built:  # fmt: skip
    """The table for the graph that ``compile_model`` makes of the same arguments. ``how``: arguments of
    ``tilewright.compiling.imported_as``."""
    told = progress or (lambda doing: None)
    told("import")
    imported = imported_as(model, progress=progress, **how, extras=Extras.of(config))
    database = open_database(config)
    graph = fitted(imported, config, database=database)[0].graph
    told("look-up table")
    modelled = modelled_like(Evaluator(config, graph, database), optimus_model)
    kept = kept_tables(modelled)
    assert kept is not None
    since = time.perf_counter()
    try:
        table = build_table(modelled)
    except OSError as error:
        raise TilewrightError(f"{kept.path} cannot be written: {error.strerror}; XDG_CACHE_HOME says where it lies") from None
    return Built(table, modelled.machine.maps, kept.path, time.perf_counter() - since)
