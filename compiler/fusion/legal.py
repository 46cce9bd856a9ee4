"""Tells which operations may form a group. Sets of operations are bit masks.

A mask stands for a set of machine operations in topological order. A group is legal if three things hold. It is connected. It
is *convex*: no path leaves it and comes back, so it can run in one go. And it joins nothing across a view, a CPU part or
parameters that are made of a map, except concats whose parts can lie side by side on chip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from compiler.planning.grouping import machine_ops
from compiler.planning.running_order import running_order
from compiler.tuned import CROWD
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Cpu, Op

Mask = int


@dataclass(frozen=True, eq=False)
class OpSets:
    """The machine operations of a graph as bits, and what connects them."""

    graph: XGraph
    joined: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The results of concats that groups may join on chip, and their parts. Other concats are made in DRAM."""

    @cached_property
    def ops(self) -> list[Op]:
        return machine_ops(self.graph)

    @cached_property
    def index(self) -> dict[str, int]:
        """The numbers of operations by the names of their outputs."""
        return {op.output: number for number, op in enumerate(self.ops)}

    @cached_property
    def number(self) -> dict[Op, int]:
        return {op: number for number, op in enumerate(self.ops)}

    @cached_property
    def everything(self) -> Mask:
        return (1 << len(self.ops)) - 1

    @cached_property
    def needs(self) -> list[Mask]:
        """For each operation, the machine operations whose results it reads, also through views and CPU parts."""
        return self._reach[0]

    @cached_property
    def direct_users(self) -> list[Mask]:
        """For each operation, the operations that read its result as it is."""
        users = [0] * len(self.ops)
        for number, op in enumerate(self.ops):
            for name in op.streamed:
                if name in self.index:
                    users[self.index[name]] |= 1 << number
        return users

    @cached_property
    def users(self) -> list[Mask]:
        """For each operation, its readers and the operations that read its result as a part of a joined map."""
        users = list(self.direct_users)
        for number, op in enumerate(self.ops):
            for name in op.streamed:
                for part in self.joined.get(name, ()):
                    users[self.index[part]] |= 1 << number
        return users

    @cached_property
    def feeds(self) -> list[Mask]:
        """For each operation, the makers of the maps that it reads and the users of its result, whole or in parts."""
        joined = list(self.users)
        for number, users in enumerate(self.users):
            for user in bits_of(users):
                joined[user] |= 1 << number
        return joined

    @cached_property
    def shares(self) -> list[Mask]:
        """For each operation, the others that read a map that it reads."""
        joined = [0] * len(self.ops)
        for readers in self._readers:
            together = sum(1 << number for number in readers)
            for number in readers:
                joined[number] |= together & ~(1 << number)
        return joined

    @cached_property
    def _readers(self) -> list[list[int]]:
        """For each map that is read, its readers in their order."""
        found: dict[str, list[int]] = {}
        for number, op in enumerate(self.ops):
            for name in dict.fromkeys(op.streamed):
                found.setdefault(name, []).append(number)
        return [*found.values()]

    @cached_property
    def joins(self) -> list[Mask]:
        """For each operation, all that may be next to it in a group: makers, users, and readers of the same map."""
        return [a | b for a, b in zip(self.feeds, self.shares, strict=True)]

    @cached_property
    def near(self) -> list[Mask]:
        """For each operation, those of ``joins`` by which a search lets a group grow.

        In a crowd that reads one map, each reader joins those before and behind it, and the first joins the map's maker.
        Subsets of a crowd are too many, and all alike.
        """
        if all(len(readers) <= CROWD for readers in self._readers):
            return self.joins
        joined = [0] * len(self.ops)
        for readers in self._readers:
            crowd = len(readers) > CROWD
            together = sum(1 << number for number in readers)
            for place, number in enumerate(readers):
                beside = readers[max(0, place - 1) : place + 2] if crowd else []
                joined[number] |= (sum(1 << other for other in beside) if crowd else together) & ~(1 << number)
        for maker, users in enumerate(self.users):
            for user in bits_of(users if users.bit_count() <= CROWD else users & -users):
                joined[maker] |= 1 << user
                joined[user] |= 1 << maker
        return joined

    @cached_property
    def apart(self) -> list[Mask]:
        """For each operation, those that can never be in one group with it.

        A view or a CPU part lies between them, or one reads the other's result as parameters.
        """
        return self._reach[1]

    @cached_property
    def ancestors(self) -> list[Mask]:
        """For each operation, all that must run before it."""
        above: list[Mask] = []
        for needs in self.needs:
            above.append(needs | union(above, needs))
        return above

    @cached_property
    def descendants(self) -> list[Mask]:
        below = [0] * len(self.ops)
        for number in reversed(range(len(self.ops))):
            for other in bits_of(self.needs[number]):
                below[other] |= below[number] | 1 << number
        return below

    @cached_property
    def stored(self) -> list[bool]:
        """For each operation: whether its result must be stored, whichever group reads it.

        Such a result is an output of the graph, or views or the CPU see it, or it serves as parameters.
        """
        graph = self.graph
        return [
            op.output in graph.outputs
            or any(
                op.output in user.stored or (user not in self.number and not self._joins(user))
                for user in graph.consumers(op.output)
            )
            for op in self.ops
        ]

    def _joins(self, op: Op) -> bool:
        return isinstance(op, Concat) and op.output in self.joined

    def only_feeds(self, maker: int, user: int) -> bool:
        """Whether only ``user`` reads the result of ``maker``, and reads it as it is."""
        return self.users[maker] == self.direct_users[maker] == 1 << user and not self.stored[maker]

    def keeps_readers_together(self, group: Mask) -> bool:
        """Whether, for each result of the group, all readers are in the group or none.

        A result that is kept on chip while another group reads it from DRAM saves little (Optimus section 6).
        """
        return all(self.users[n] & group in (0, self.users[n]) for n in bits_of(group))

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
            for name in op.streamed:
                direct |= bits.get(name, 0)
                through |= stored.get(name, 0)
            for name in op.stored:
                through |= bits.get(name, 0) | stored.get(name, 0)
            if isinstance(op, Cpu):
                for name in op.onnx_inputs:
                    direct |= host.get(name, 0)
            if number < len(self.ops) and op is self.ops[number]:
                needs.append(direct | through)
                bits[op.output] = 1 << number
                for other in bits_of(through):
                    apart[other] |= 1 << number
                    apart[number] |= 1 << other
                number += 1
                continue
            if self._joins(op):
                bits[op.output] = direct
                continue
            for name in op.outputs:
                stored[name] = direct | through
            if isinstance(op, Cpu):
                host |= dict.fromkeys(op.onnx_outputs, direct | through)
        return needs, apart

    def members(self, mask: Mask) -> list[Op]:
        return [self.ops[n] for n in bits_of(mask)]

    def mask(self, ops: Sequence[Op]) -> Mask:
        return sum(1 << self.number[op] for op in ops)

    def why_not(self, mask: Mask) -> str:
        """The reason why the operations cannot be a group, and what to do. It is empty if they can."""
        if not self.together(mask):
            return "some lie behind a view, or a CPU part, of others' results; put them into two groups"
        if not self.convex(mask):
            between = self.ops[next(bits_of(self.before(mask) & self.after(mask)))].name
            return f"not convex: {between} needs some of them, and others need it; take it in, or split"
        if not self.connected(mask, self.joins):
            return "some neither read nor share a map with the others; put them into two groups"
        return ""

    def before(self, mask: Mask) -> Mask:
        """The operations that must run before the group or a part of it."""
        return union(self.ancestors, mask) & ~mask

    def after(self, mask: Mask) -> Mask:
        """The operations that can only run after the group or a part of it."""
        return union(self.descendants, mask) & ~mask

    def convex(self, mask: Mask) -> bool:
        return union(self.ancestors, mask) & union(self.descendants, mask) & ~mask == 0

    def together(self, mask: Mask) -> bool:
        """Whether no member lies behind a view or a CPU part of another member's result, or has it as parameters."""
        return union(self.apart, mask) & mask == 0

    def connected(self, mask: Mask, joins: Sequence[Mask]) -> bool:
        found = front = mask & -mask
        while front:
            front = union(joins, front) & mask & ~found
            found |= front
        return found == mask

    def legal(self, mask: Mask) -> bool:
        return self.together(mask) and self.convex(mask) and self.connected(mask, self.joins)

    def in_order(self, groups: Sequence[Mask]) -> list[Mask] | None:
        """Disjoint groups in an order in which they can run. None: there is none, or other operations must run before."""
        everything = sum(groups)
        if any(union(self.needs, group) & ~everything for group in groups):
            return None
        order = self.that_run(groups)
        return order if len(order) == len(groups) else None

    def that_run(self, groups: Sequence[Mask]) -> list[Mask]:
        """The disjoint groups that can run, in order. Groups that wait for each other, and groups behind them, are left out."""
        holder = {n: number for number, group in enumerate(groups) for n in bits_of(group)}
        needed = [{holder[n] for n in bits_of(union(self.needs, group) & ~group)} for group in groups]
        # Of disjoint masks the greater one has the later last member: the rule of ``ordered_groups``.
        return [groups[number] for number in running_order(needed, groups)]


def bits_of(mask: Mask) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def union(masks: Sequence[Mask], members: Mask) -> Mask:
    """The union of the masks of all members."""
    found = 0
    while members:
        low = members & -members
        found |= masks[low.bit_length() - 1]
        members ^= low
    return found
