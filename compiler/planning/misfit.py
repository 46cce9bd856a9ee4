"""The reason why a group fits at no tiling: what cannot be cut into parts small enough for the configuration."""

from __future__ import annotations

from compiler.layers.fit import Fit, FitError
from compiler.planning.operations import Group
from compiler.planning.ranges import deduce
from compiler.planning.residence import PARAMETER_BUFFERS
from compiler.planning.tenancy import tenancies
from isa.config import MachineConfig


def misfit(config: MachineConfig, group: Group, name: str) -> FitError:
    """The error that gives the reason. ``group``: the smallest part of the group ``name`` that planning could take."""
    condition, why = _why(config, group)
    return FitError(
        condition, f"layer {name}", f"no tiling fits configuration {config.name}: {why}", "choose one with larger buffers"
    )


def _why(config: MachineConfig, group: Group) -> tuple[Fit | None, str]:
    depth = {b: config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    for layer in group.layers:
        if not layer.blocks(depth):
            buffers = ", ".join(f"{b.name} {words}" for b, words in depth.items() if words)
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
