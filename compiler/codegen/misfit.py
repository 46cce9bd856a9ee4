"""Why a group fits at no tiling: what cannot be had in parts small enough for the configuration."""

from __future__ import annotations

import enum

from compiler.codegen.operations import Group
from compiler.codegen.ranges import deduce
from compiler.codegen.residence import PARAMETER_BUFFERS
from compiler.codegen.tenancy import tenancies
from isa.config import MachineConfig
from isa.errors import TilewrightError


class Fit(enum.Enum):
    """What an operation by itself asks of the configuration; the table of support has each, in these words."""

    UNIT = "The unit that computes it is built (build_pool, build_misc), or another one computes the same."
    OVER_CHANNELS = "A sum or a maximum over channels is one of at most 1024 (of as many as fill whole words on chip)."
    PARAMETERS = "The parameters can be cut, by output channels and by sums, into parts that the parameter buffers hold."
    MAPS = "What is needed of the maps at once, in the smallest tiles, fits the feature-map buffer."


class FitError(TilewrightError):
    """A group that no tiling fits on chip, or for which the machine lacks a unit.

    ``condition`` that does not hold; none where the operations would do in other groups, or in narrower tiles.
    """

    def __init__(self, condition: Fit | None, what: str, reason: str, remedy: str) -> None:
        super().__init__(f"{what}: {reason}; {remedy}")
        self.condition = condition
        self.reason = reason


def misfit(config: MachineConfig, group: Group, name: str) -> FitError:
    """``group``: the smallest part of the group called ``name`` that planning could have taken by itself."""
    condition, why = _why(config, group)
    return FitError(
        condition, f"layer {name}", f"no tiling fits configuration {config.name}: {why}", "choose one with larger buffers"
    )


def _why(config: MachineConfig, group: Group) -> tuple[Fit | None, str]:
    depth = {b: config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    for layer in group.layers:
        if not layer.blocks(depth):
            buffers = ", ".join(f"{b.name} {words}" for b, words in depth.items())
            return (
                Fit.PARAMETERS,
                f"the parameters of {layer.op.name} cannot be cut into parts that fit (words of the buffers: {buffers})",
            )
        if layer.rows_at_most(depth) < 1:
            width = group.tensors[layer.output].width
            return (
                None,
                f"the sums of {width} neighbouring pixel{'s' if width > 1 else ''} of {layer.output} wait for more weights in "
                f"accumulators, of which there are {config.acc_depth}",
            )
    if len(group.tables) > config.tables:
        return None, f"{len(group.tables)} activation tables are needed at once (there is room for {config.tables})"
    steps = max(group.tensors[name].height for name in group.outputs)
    ranges = deduce(group, steps)
    words = {}
    for tenancy in tenancies(config, group):
        kept = max(tenancy.least_ring, *(ranges.rows_kept(life.first, life.last, 0) for life in tenancy.lives))
        first = tenancy.planes[0][0]
        words[first] = min(kept, group.tensors[first].height) * tenancy.pitch * tenancy.vectors
    most = max(words, key=lambda first: words[first])
    return (
        Fit.MAPS,
        f"what is needed at once takes {sum(words.values())} words, {words[most]} of them for {most} "
        f"(feature-map buffer: {config.fm_words})",
    )
