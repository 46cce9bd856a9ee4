"""The rows of a program's layers: the cycles, waits, bytes and multiply-accumulates of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from isa.instructions import Unit
from tilewright.profile.activity import MOVES, Activity
from tilewright.profile.dataflow import Dataflow
from tilewright.profile.network import Network


@dataclass
class LayerRow:
    """One layer. The cycles of all layers of a unit add up to the time until the unit's last instruction ends."""

    name: str
    group: int
    unit: Unit
    macs: int = 0
    instructions: int = 0
    cycles: int = 0
    """The cycles of its unit: work and waits."""
    work: int = 0
    waits: Counter[str] = field(default_factory=Counter)
    read: int = 0
    written: int = 0
    start: int = 0
    finish: int = 0

    @property
    def active(self) -> float:
        """The share of its cycles in which its unit works."""
        return self.work / self.cycles if self.cycles else 0.0

    def utilisation(self, macs_per_cycle: int) -> float:
        """The share of the array that is in use while the layer's unit works."""
        return self.macs / (self.work * macs_per_cycle) if self.work else 0.0


def layer_rows(items: Sequence[Activity], flow: Dataflow, network: Network) -> list[LayerRow]:
    """The layers in the order in which they start to compute. Layers that only move data have LOAD or SAVE as their unit."""
    members: dict[str, list[Activity]] = {}
    for item in items:
        members.setdefault(flow.layer_of[item.number], []).append(item)
    rows = [_row(name, flow.group_of[name], found) for name, found in members.items()]
    wholes: dict[str, list[LayerRow]] = {}
    for row in rows:
        wholes.setdefault(network.whole_of(row.name), []).append(row)
    for name, pieces in wholes.items():
        _share(network.macs.get(name, 0), pieces)
    return sorted(rows, key=lambda row: row.start)


def _share(macs: int, pieces: Sequence[LayerRow]) -> None:
    """Divides the products of one node among its pieces, by their work."""
    whole, work, given = sum(row.work for row in pieces) or 1, 0, 0
    for row in pieces:
        work += row.work
        row.macs = macs * work // whole - given
        given += row.macs


def _row(name: str, group: int, members: Sequence[Activity]) -> LayerRow:
    computing = [item for item in members if item.unit not in MOVES] or list(members)
    row = LayerRow(name, group, computing[0].unit, instructions=len(members))
    row.start, row.finish = min(item.start for item in computing), max(item.finish for item in computing)
    for item in computing:
        row.work += item.work
        row.waits.update(item.waits)
    row.cycles = row.work + row.waits.total()
    row.read, row.written = sum(item.read for item in members), sum(item.written for item in members)
    return row


@dataclass(frozen=True)
class GroupRow:
    """Layers that run together."""

    number: int
    layers: tuple[LayerRow, ...]
    cycles: int
    """The cycles from the end of all earlier groups' computation to the end of its own. Those of all groups add up."""

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)

    @property
    def dram_bytes(self) -> int:
        return sum(layer.read + layer.written for layer in self.layers)


def group_rows(layers: Sequence[LayerRow]) -> list[GroupRow]:
    """The groups in the order in which they start."""
    rows: list[GroupRow] = []
    before = 0
    for number in sorted({layer.group for layer in layers}):
        members = tuple(layer for layer in layers if layer.group == number)
        end = max(layer.finish for layer in members)
        rows.append(GroupRow(number, members, max(0, end - before)))
        before = max(before, end)
    return rows
