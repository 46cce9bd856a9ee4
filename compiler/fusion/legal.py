"""All legal groups: connected, and executable in one go once what they read has been computed.

Sets of operations are bit masks over the machine operations in topological order. A set is *closed* if it
holds everything its members read; a partition whose groups can be executed one after the other is a chain of
closed sets, so its contraction has no cycle (Optimus section 4).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

from compiler.emit.grouping import machine_ops
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op

Mask = int


@dataclass(frozen=True, eq=False)
class OpSets:
    """The machine operations of a graph as bits, and what connects them."""

    graph: XGraph

    @cached_property
    def ops(self) -> list[Op]:
        return machine_ops(self.graph)

    @cached_property
    def everything(self) -> Mask:
        return (1 << len(self.ops)) - 1

    @cached_property
    def needs(self) -> list[Mask]:
        """Machine operations whose results each one reads, also through views and CPU parts."""
        return self._reach[0]

    @cached_property
    def joins(self) -> list[Mask]:
        """Neighbours with which each may share a group: makers and users of its maps, and readers of the same map.

        A map that is stored before it is read again, as a view or for the CPU, joins nobody.
        """
        index = {op.output: n for n, op in enumerate(self.ops)}
        joined = [0] * len(self.ops)
        for number, op in enumerate(self.ops):
            for name in op.inputs:
                if name in index:
                    joined[number] |= 1 << index[name]
                    joined[index[name]] |= 1 << number
                for user in self.graph.consumers(name):
                    if user is not op and user.output in index:
                        joined[number] |= 1 << index[user.output]
        return joined

    @cached_property
    def apart(self) -> list[Mask]:
        """Operations that lie behind a view or a CPU part of this one's result: never in one group with it."""
        return self._reach[1]

    @cached_property
    def _reach(self) -> tuple[list[Mask], list[Mask]]:
        needs: list[Mask] = []
        bits: dict[str, Mask] = {}
        stored: dict[str, Mask] = {}
        host: dict[str, Mask] = {}
        number = 0
        apart = [0] * len(self.ops)
        for op in self.graph.ops:
            direct = through = 0
            for name in op.inputs:
                direct |= bits.get(name, 0)
                through |= stored.get(name, 0)
            if isinstance(op, Cpu):
                for name in op.onnx_inputs:
                    direct |= host.get(name, 0)
            if number < len(self.ops) and op is self.ops[number]:
                needs.append(direct | through)
                bits[op.output] = 1 << number
                for other in range(number):
                    if through >> other & 1:
                        apart[other] |= 1 << number
                        apart[number] |= 1 << other
                number += 1
                continue
            for name in op.outputs:
                stored[name] = direct | through
            if isinstance(op, Cpu):
                host |= dict.fromkeys(op.onnx_outputs, direct | through)
        return needs, apart

    def members(self, mask: Mask) -> list[Op]:
        return [self.ops[n] for n in bits_of(mask)]

    def groups(self, done: Mask, most: int) -> Generator[tuple[Mask, Mask], bool | None, None]:
        """Connected groups of at most ``most`` operations that can run when ``done`` have run.

        Yields a group and the closed set after it; a caller that finds a group useless may ``send(True)``: what contains
        it is then not tried.
        """
        seen: set[Mask] = set()
        stack = [1 << n for n in bits_of(self.everything & ~done) if self.needs[n] & ~done == 0]
        while stack:
            group = stack.pop()
            if group in seen:
                continue
            seen.add(group)
            useless = yield group, done | group
            if useless or group.bit_count() >= most:
                continue
            near = barred = 0
            for n in bits_of(group):
                near |= self.joins[n]
                barred |= self.apart[n]
            for n in bits_of(near & ~group & ~done & ~barred):
                if self.needs[n] & ~(done | group) == 0:
                    stack.append(group | 1 << n)


def bits_of(mask: Mask) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
