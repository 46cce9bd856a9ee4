"""Groups as they would be on another accelerator, of Optimus' table 4: the bytes that they move there. No program is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import onnx

from compiler.driver import check_choices
from compiler.frontend.extras import Extras
from compiler.papers.optimus.architectures import OnArchitecture, architecture_named
from compiler.planning.objective import DRAM
from compiler.programs.fitting import fitted
from compiler.search.effort import NORMAL, Effort
from compiler.search.partition import price_of
from compiler.search.progress import Progress, unheard
from compiler.search.strategies import STRATEGIES
from isa.config import MachineConfig, load_config
from isa.errors import TilewrightError
from tilewright.compiling import imported_as

OURS = "optimus-online"
"""The strategy that is refused here, since its table is about our machine's buffers."""


@dataclass(frozen=True)
class GroupThere:
    ops: tuple[str, ...]
    bytes: int
    alone: int
    """The bytes of its operations layer by layer, with the accelerator's own dataflow."""


@dataclass(frozen=True)
class PartitionThere:
    architecture: str
    groups: Sequence[GroupThere]
    exact: bool
    """Whether no partition into groups that the strategy may choose moves less."""
    bound: int
    """The bytes that every partition of any kind moves at least."""
    borrowed: Sequence[str]
    """The operations that fit in no block of the accelerator's. Their cost is that of our machine."""

    @property
    def bytes(self) -> int:
        return sum(group.bytes for group in self.groups)

    @property
    def alone(self) -> int:
        return sum(group.alone for group in self.groups)


def groups_on(
    architecture: str, model: Path | str | onnx.ModelProto, config: MachineConfig | str = "base", *, strategy: str = "best",
    effort: Effort = NORMAL, progress: Progress | None = None, **how: Any,
) -> PartitionThere:  # fmt: skip
    """The partition that a strategy chooses on another accelerator.

    ``architecture``: eyeriss, shidiannao or lower-bound. What a machine of ``config`` leaves to the CPU is not counted.
    ``how``: arguments of ``tilewright.compiling.imported_as``.
    """
    name = architecture_named(architecture)
    check_choices(strategy, DRAM.name)
    if strategy == OURS:
        raise TilewrightError(f"strategy {OURS}: its table is of our machine's buffers; expected {OURS}-as-written")
    machine = load_config(config) if isinstance(config, str) else config
    told = progress or unheard
    told("import")
    imported = imported_as(model, progress=progress, **how, extras=Extras.of(machine))
    told("search")
    by = OnArchitecture(machine, fitted(imported, machine, DRAM)[0].graph, effort=effort, told=told, architecture=name)
    found = STRATEGIES[strategy](by.graph, by, DRAM)
    groups = []
    for group in found.groups:
        masks = [by.sets.mask([op]) for op in group]
        moved = [by.alone(op) for op in group]
        alone = sum(int(own) if isfinite(own) else price_of(by, DRAM, mask) for own, mask in zip(moved, masks, strict=True))
        groups.append(GroupThere(tuple(op.name for op in group), price_of(by, DRAM, by.sets.mask(group)), alone))
    borrowed = [op.name for mask in sorted(by.borrowed) for op in by.sets.members(mask)]
    return PartitionThere(name, groups, found.exact, found.bound, borrowed)
