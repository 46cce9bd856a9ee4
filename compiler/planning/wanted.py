"""Translates the decisions of a schedule about a group for planning: parts, held maps, and parameters that stay."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.layers.layer import Block, Layer
from compiler.planning.columns import TileCut
from compiler.planning.cut import Cut
from compiler.planning.operations import Group
from compiler.planning.parts import Parts, grid, passes, whole
from compiler.planning.residence import PARAMETER_BUFFERS, Residence
from compiler.schedule.document import GroupSchedule, Stay
from isa.config import MachineConfig
from isa.instructions import Buffer


def check_steps(wanted: GroupSchedule, height: int) -> None:
    """Refuses steps that cannot be. ``height``: the rows of the highest output."""
    if wanted.steps is not None and wanted.steps > height:
        raise wanted.refused("steps", f"{wanted.steps} steps; expected 1 to {height}, the rows of its outputs")
    if wanted.steps == 1 and wanted.pipelined:
        raise wanted.refused("pipelined", "true, with one step; expected false, or more steps")


def parts_as(config: MachineConfig, group: Group, cut: Cut | None, wanted: GroupSchedule) -> Parts:
    """The parts with as many channel passes and column tiles as decided, and one of each where nothing is decided."""
    count, tiles = wanted.passes or 1, wanted.tiles or 1
    most = cut.most if cut else 1
    if count > most:
        raise wanted.refused("passes", f"{count} passes; expected 1 to {most}: parts of whole words of each map")
    widest = TileCut(config, group).most
    if tiles > widest:
        raise wanted.refused("tiles", f"{tiles} tiles; expected 1 to {widest}, the columns of its widest output")
    outer = whole(group) if cut is None or count == 1 else passes(cut, count)
    return outer if tiles == 1 else grid(config, outer, tiles)


def check_held(wanted: GroupSchedule, cut: Cut | None) -> None:
    """Refuses held maps that cannot stay. Only a map that every pass reads in whole can stay from one pass to the next."""
    if not wanted.held:
        return
    may = cut.whole if cut else ()
    other = next((name for name in wanted.held if name not in may), None)
    if other is not None:
        what = ", ".join(may) or "none: it does not run in passes"
        raise wanted.refused("held", f"map {other!r} cannot stay on chip from pass to pass; maps that can: {what}")
    if wanted.passes == 1 or (wanted.tiles or 1) > 1:
        raise wanted.refused("held", "maps stay from pass to pass; with one pass, or with tiles, there is nothing to stay for")


def residence_as(config: MachineConfig, group: Group, wanted: GroupSchedule, number: int, count: int) -> Residence:
    """The residence of pass ``number`` of ``count``."""
    assert wanted.parameters is not None
    depth = {b: config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    with_parameters = [layer.op.name for layer in group.layers if any(block.sizes for block in layer.blocks(depth))]
    for name in (*wanted.parameters, *with_parameters):
        if name not in with_parameters:
            what = f"no operation {name!r} with parameters; expected {', '.join(with_parameters) or 'none'}"
            raise wanted.refused(f"parameters.{name}", what)
        if name not in wanted.parameters:
            what = f"{name!r} is missing; expected all of {', '.join(with_parameters)}, or no parameters"
            raise wanted.refused("parameters", what)
    budgets: dict[str, Mapping[Buffer, int]] = {}
    blocks: dict[str, tuple[Block, ...]] = {}
    stays: dict[str, int] = {}
    for layer in group.layers:
        stay = _stay(wanted, layer.op.name, number, count)
        budgets[layer.output] = {b: stay.words.get(b.name.lower(), depth[b]) for b in PARAMETER_BUFFERS}
        blocks[layer.output] = tuple(layer.blocks(budgets[layer.output]))
        _check_blocks(wanted, layer, blocks[layer.output], stay)
        stays[layer.output] = stay.stay if layer.op.name in wanted.parameters else len(blocks[layer.output])
    _check_room(config, wanted, blocks, stays)
    size = {name: [block.bytes(config) for block in own] for name, own in blocks.items()}
    return Residence(
        budgets, blocks, stays, {layer.output: layer.rows_at_most(budgets[layer.output]) for layer in group.layers},
        {name: sum(own[: stays[name]]) for name, own in size.items()},
        {name: sum(own[stays[name] :]) for name, own in size.items()},
    )  # fmt: skip


def _stay(wanted: GroupSchedule, name: str, number: int, count: int) -> Stay:
    assert wanted.parameters is not None
    stays = wanted.parameters.get(name, (Stay(),))
    if len(stays) not in (1, count):
        what = f"{name}: {len(stays)} tables; expected one, or one for each of {count} passes"
        raise wanted.refused(f"parameters.{name}", what)
    return stays[0] if len(stays) == 1 else stays[number]


def _check_blocks(wanted: GroupSchedule, layer: Layer, blocks: tuple[Block, ...], stay: Stay) -> None:
    name = layer.op.name
    if not blocks:
        words = ", ".join(f"{words} of {buffer}" for buffer, words in stay.words.items()) or "all words of the buffers"
        raise wanted.refused(f"parameters.{name}", f"{name}: {words} hold no part of its parameters; allow more words")
    if stay.stay > len(blocks):
        raise wanted.refused(f"parameters.{name}", f"{name}: {stay.stay} blocks stay; expected at most its {len(blocks)}")


def _check_room(
    config: MachineConfig, wanted: GroupSchedule, blocks: Mapping[str, tuple[Block, ...]], stays: Mapping[str, int]
) -> None:
    """Refuses parameters that stay and leave no room for the largest of the other blocks."""
    for buffer in PARAMETER_BUFFERS:
        sizes = {name: [block.sizes.get(buffer, 0) for block in own] for name, own in blocks.items()}
        stay = sum(sum(own[: stays[name]]) for name, own in sizes.items())
        most = max(max(own[stays[name] :], default=0) for name, own in sizes.items())
        depth = config.buffer_depth(buffer.name)
        if stay + most > depth:
            raise wanted.refused(
                "parameters",
                f"what stays takes {stay} words of {buffer.name.lower()}, and the largest of the other blocks {most}; "
                f"configuration {config.name} has {depth}",
            )
