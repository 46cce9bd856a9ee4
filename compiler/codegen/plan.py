"""How a group is executed: steps, rings, which parameters stay on chip, and where everything lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.codegen.layer import Block
from compiler.codegen.operations import Group
from compiler.codegen.placed import Placed
from compiler.codegen.placement import place
from compiler.codegen.ranges import Ranges, deduce
from compiler.codegen.room import Room
from compiler.codegen.walk import beats_of, walk
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.instructions import Buffer

PARAMETER_BUFFERS: tuple[Buffer, ...] = (Buffer.WEIGHT, Buffer.PARAM, Buffer.TAPS, Buffer.POOL_PARAM)


class FitError(TilewrightError):
    """A group that no tiling fits on chip."""


@dataclass(frozen=True, eq=False)
class Plan:
    """One way to execute a group."""

    group: Group
    ranges: Ranges
    skew: Mapping[str, int]
    """Steps by which each layer (by output), each load and each save (``load x``, ``save x``) runs behind."""
    placed: Mapping[str, Placed]
    blocks: Mapping[str, tuple[Block, ...]]
    resident: frozenset[str]
    """Layers (by output) whose parameters are loaded once."""
    cycles: int
    """Estimate for one batch element."""
    dram_bytes: int
    """What it moves, for one batch element."""


def plan_group(config: MachineConfig, group: Group, upwards: bool = True) -> Plan:
    """The best plan by estimated cycles; ``upwards``: placed from the bottom of the buffer, else from the top."""
    room = Room(config, group)
    beats = max(beats_of(group.layers).values())
    best: Plan | None = None
    for steps in _step_counts(max(group.tensors[t].height for t in group.outputs)):
        if best is not None and best.cycles <= beats:
            break
        plan = _plan_steps(config, group, steps, upwards, beats, best) if room.may_hold(steps) else None
        best = plan or best
    if best is None:
        raise FitError(why_not(config, group))
    return best


def _step_counts(height: int) -> list[int]:
    """Step counts worth trying: those that change the rows of a step."""
    return sorted({-(-height // rows) for rows in range(1, height + 1)})


def _plan_steps(
    config: MachineConfig, group: Group, steps: int, upwards: bool, beats: int, best: Plan | None
) -> Plan | None:
    """A plan that is better than ``best``; ``beats``: of the busiest unit."""
    heights = {name: group.tensors[name].height for name in (*group.inputs, *(la.output for la in group.layers))}
    ranges = deduce(group.layers, heights, group.outputs, steps)
    chosen = _parameters(config, group, steps)
    if chosen is None:
        return None
    blocks, resident, budgets = chosen
    moved = _moved(config, group, steps, blocks, resident)
    floor = max(beats, moved // config.axi_bytes)
    if best is not None and best.cycles <= floor:
        return None
    for layer in group.layers:
        rows = max(b - a for a, b in (ranges.made(layer.output, t) for t in range(steps)))
        if rows > layer.rows_at_most(budgets[layer.output]):
            return None
    better: Plan | None = None
    for pipelined in (True, False) if steps > 1 else (False,):
        skew = _skew(group, pipelined)
        placed = place(config, group, ranges, skew, upwards)
        if placed is not None:
            cycles = max(floor, _cycles(config, group, ranges, skew, placed, blocks, resident))
            if best is None or cycles < best.cycles:
                best = better = Plan(group, ranges, skew, placed, blocks, resident, cycles, moved)
    return better


def _parameters(
    config: MachineConfig, group: Group, steps: int
) -> tuple[dict[str, tuple[Block, ...]], frozenset[str], dict[str, Mapping[Buffer, int]]] | None:
    """Parameter blocks of each layer, and which layers keep theirs on chip through all steps.

    Blocks that stream take a third of what residents leave, so that one loads, and one waits, while one is used.
    Layers are kept in the order of what a reload would cost, as long as the streaming ones find room.
    """
    depth = {b: config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    whole = {layer.output: tuple(layer.blocks(depth)) for layer in group.layers}
    if any(not found for found in whole.values()) or len(group.tables) > config.tables:
        return None
    size = {name: _words(found) for name, found in whole.items()}
    resident: set[str] = set()
    left = dict(depth)
    if steps > 1:
        for layer in sorted(group.layers, key=lambda la: sum(b.bytes(config) for b in whole[la.output])):
            words = size[layer.output]
            keeps_room = len(group.layers) == len(resident) + 1
            room = {b: left[b] - words[b] for b in PARAMETER_BUFFERS}
            if all(room[b] >= (0 if keeps_room else depth[b] // 3) or not words[b] for b in PARAMETER_BUFFERS):
                resident.add(layer.output)
                left = room
    blocks: dict[str, tuple[Block, ...]] = {}
    budgets: dict[str, Mapping[Buffer, int]] = {}
    for layer in group.layers:
        name = layer.output
        budgets[name] = depth if name in resident else {b: max(1, left[b] // 3) for b in PARAMETER_BUFFERS}
        blocks[name] = whole[name] if name in resident else tuple(layer.blocks(budgets[name]))
        if not blocks[name]:
            budgets[name] = left
            blocks[name] = tuple(layer.blocks(left))
        if not blocks[name]:
            return None
    return blocks, frozenset(resident), budgets


def _words(blocks: Sequence[Block]) -> dict[Buffer, int]:
    return {b: sum(block.sizes.get(b, 0) for block in blocks) for b in PARAMETER_BUFFERS}


def _skew(group: Group, pipelined: bool) -> dict[str, int]:
    """Pipelined: each layer runs a step behind its makers, loads a step before, saves a step after."""
    skew: dict[str, int] = {}
    made = {layer.output: layer for layer in group.layers}
    for layer in group.layers:
        before = [skew[name] for name in layer.inputs if name in made]
        skew[layer.output] = (max(before) + 1 if before else 1) if pipelined else 0
    for name in group.inputs:
        users = [skew[layer.output] for layer in group.layers if name in layer.inputs]
        skew[f"load {name}"] = min(users) - 1 if pipelined else 0
    for name in group.outputs:
        skew[f"save {name}"] = skew[name] + (1 if pipelined else 0)
    return skew


def _moved(
    config: MachineConfig, group: Group, steps: int, blocks: Mapping[str, Sequence[Block]], resident: frozenset[str]
) -> int:
    """DRAM bytes."""
    moved = sum(group.tensors[name].bytes // group.tensors[name].batch for name in (*group.inputs, *group.outputs))
    for name, own in blocks.items():
        moved += sum(block.bytes(config) for block in own) * (1 if name in resident else steps)
    return moved


def _cycles(
    config: MachineConfig, group: Group, ranges: Ranges, skew: Mapping[str, int], placed: Mapping[str, Placed],
    blocks: Mapping[str, Sequence[Block]], resident: frozenset[str],
) -> int:  # fmt: skip
    """Estimate, in a program: neighbouring groups overlap if both fit on chip, as they do where each takes up to half of it.

    So what the group takes before and after its busiest unit works is counted as far as it needs more than that.
    """
    taken = walk(config, group, ranges, skew, placed, blocks, resident)
    low = min(each.base for each in placed.values())
    high = max(each.base + each.words for each in placed.values())
    weights = sum(block.sizes.get(Buffer.WEIGHT, 0) for own in blocks.values() for block in own)
    share = max(min(high, config.fm_words - low) / config.fm_words, min(1.0, weights / config.weight_depth))
    return taken.inside + round(max(0.0, 2 * share - 1) * (taken.cycles - taken.inside))


def why_not(config: MachineConfig, group: Group) -> str:
    """Names the map or parameter that asks for most."""
    names = (*group.inputs, *(layer.output for layer in group.layers))
    words, name = max((group.vectors(config, name) * group.width(name), name) for name in names)
    return (
        f"layer {group.name}: no tiling fits configuration {config.name}: one row of {name} takes {words} words "
        f"(feature-map buffer: {config.fm_words}, weight buffer: {config.weight_depth}); choose one with larger buffers"
    )
