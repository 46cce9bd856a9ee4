"""A lower bound of the cycles of every program of a graph, however it is grouped, ordered and tiled.

Each unit must do its beats, and the bus must move what cannot stay. Besides, parameters come no earlier than there is room for
them. Let ``S`` be a set of operations that all other operations need in full. An operation outside ``S`` computes its last rows
after those of ``S``, and each block of its parameters takes part in them. So when ``S`` is done, what was loaded into a buffer
belongs to ``S`` or is still there. Let ``P`` be the bytes of all parameters that go into a buffer, and ``P(S)`` those of ``S``.
The rest has yet to come:

    cycles >= max over units of beats(S) + sum over buffers of (P - P(S) - room) / bytes of a beat of the bus

Rows of a map that no window reads may come later or never, so only the other rows count in beats(S). An instruction waits for
all rows of its window, even where it takes only a part of the kernel. The phases of a transposed convolution end in different
rows, so no operation before one counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from compiler.fusion.legal import bits_of
from compiler.planning.residence import PARAMETER_BUFFERS
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import CHANNELS, Concat, ConvTranspose
from isa.instructions import Buffer, Unit


@dataclass(frozen=True)
class LeastCycles:
    """Lower bounds of the cycles. The greatest of them counts."""

    beats: dict[Unit, int]
    """The beats of each unit that has work."""
    bus: int
    """The beats of the bus for all bytes that must pass through DRAM."""
    parameters: int
    """The bound of the formula above: beats of ``S``, and then those of the bus for parameters that had no room before.

    0: all parameters find room.
    """

    @property
    def cycles(self) -> int:
        return max(self.bus, self.parameters, *self.beats.values(), 0)

    @property
    def reason(self) -> str:
        """What sets the bound, in words."""
        busiest = max(self.beats, key=self.beats.__getitem__, default=None)
        if busiest is not None and self.beats[busiest] == self.cycles:
            return f"{busiest.name} is at work in each of them"
        return "DRAM is at work in each of them" if self.bus == self.cycles else "parameters find no room earlier"


def least_cycles(evaluator: Evaluator) -> LeastCycles:
    """The bound of one run of the evaluator's graph with its whole batch. Parts of the host take no time."""
    config, sets, floors = evaluator.config, evaluator.sets, evaluator.floors
    parameters = _parameters(evaluator)
    room = {b: config.buffer_depth(b.name) * config.buffer_dram_bytes(b.name) for b in PARAMETER_BUFFERS}
    done = dict.fromkeys(floors.beats, 0)
    before, found = 0, 0
    later = sum(parameters, Counter[Buffer]())
    for number, share in enumerate(_needed_shares(evaluator)):
        before |= 1 << number
        later.subtract(parameters[number])
        for unit, beats in floors.beats.items():
            done[unit] += int(beats[number] * share)
        if all(before & ~sets.ancestors[n] == 0 for n in bits_of(sets.everything & ~before)):
            moved = sum(max(0, later[b] - room[b]) for b in PARAMETER_BUFFERS)
            found = max(found, max(done.values()) + moved // config.axi_bytes if moved else 0)
    bus = max(0, sum(floors.moved) // config.axi_bytes - len(sets.ops))
    return LeastCycles({unit: sum(beats) for unit, beats in floors.beats.items()}, bus, found)


def _parameters(evaluator: Evaluator) -> list[Counter[Buffer]]:
    """For each operation: the bytes in DRAM of its parameters that go into each buffer."""
    config, found = evaluator.config, []
    for blocks in evaluator.parameter_blocks:
        own = Counter[Buffer]()
        for block in blocks:
            if block.of_map is not None:
                own[Buffer.WEIGHT] += block.of_map.bytes
            else:
                own.update({b: words * block.pitch(config, b) for b, words in block.sizes.items()})
        found.append(own)
    return found


def _needed_shares(evaluator: Evaluator) -> list[Fraction]:
    """For each operation: the share of its beats that serves rows which the last rows of the operations behind it need.

    A beat computes up to ``px_p`` pixels, which may belong to several rows.
    """
    tensors, lanes = evaluator.graph.tensors, evaluator.config.px_p
    needed = _needed_rows(evaluator)
    shares = []
    for op in evaluator.sets.ops:
        made, rows = tensors[op.output], needed[op.output]
        at_once = -(-made.height * made.width // lanes) * lanes
        shares.append(Fraction(rows * made.width, at_once) if rows < made.height else Fraction(1))
    return shares


def _needed_rows(evaluator: Evaluator) -> Counter[str]:
    """The rows of each map that the last rows of the machine's last operations need.

    The host, and views other than a concat of channels, need none.
    """
    graph, sets = evaluator.graph, evaluator.sets
    last = [op.output for op, behind in zip(sets.ops, sets.descendants, strict=True) if not behind]
    rows = Counter({output: graph.tensors[output].height for output in last})
    for op in reversed(graph.ops):
        if op in sets.number and rows[op.output] and not isinstance(op, ConvTranspose):
            group = evaluator.group(1 << sets.number[op])
            rows |= Counter({name: graph.tensors[name].height for name in op.stored})
            for index, name in enumerate(op.streamed):
                # A map that is one long row of pixels counts as one row, and it is needed.
                end = 1 if group.row_pixels else int(group.layers[0].input_end(index, np.array([rows[op.output]]))[0])
                step = group.sampled[name][0] if name in group.sampled else 1
                rows[name] = max(rows[name], (end - 1) * step + 1)
        elif isinstance(op, Concat) and op.axis == CHANNELS:
            for name in op.inputs:
                rows[name] = max(rows[name], rows[op.output])
    return rows
