"""A planned group as instructions, in an order that is right one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.codegen.layer import Block, Layer, ParameterWords
from compiler.codegen.parameters import Parameters
from compiler.codegen.placed import Rows
from compiler.codegen.plan import Plan
from compiler.codegen.views import View, load_rows, save_rows
from compiler.codegen.walk import PIECES
from compiler.schedule.instruction import Pending
from isa.config import MachineConfig
from isa.instructions import Buffer


@dataclass(frozen=True)
class Homes:
    """Where maps lie in DRAM: where they are read from, and all the places they are written to."""

    load: Mapping[str, View]
    save: Mapping[str, Sequence[View]]


class GroupEmitter:
    """Walks the steps of a plan: in time slot ``s`` a layer that runs ``k`` steps behind does step ``s - k``."""

    def __init__(self, config: MachineConfig, plan: Plan, homes: Homes, parameters: Parameters) -> None:
        self.config, self.plan, self.homes, self.parameters = config, plan, homes, parameters
        self._resident: dict[str, list[tuple[Block, ParameterWords]]] = {}
        self._tables: dict[str, int] = {}
        self._pieces = {name: -(-plan.ranges.most_made(name) // PIECES) for name in plan.placed}
        """Rows of a piece of each map."""
        self._pending: list[Pending] = []

    def emit(self, batch: int) -> list[Pending]:
        """All images of the batch, one after the other; parameters that stay are loaded once."""
        plan = self.plan
        group = plan.group
        for image in range(batch):
            for slot in range(plan.ranges.steps + max(plan.skew.values())):
                for tensor in group.inputs:
                    self._load(tensor, slot - plan.skew[f"load {tensor}"], image)
                for layer in group.layers:
                    self._compute(layer, slot - plan.skew[layer.output])
                for tensor in group.outputs:
                    self._save(tensor, slot - plan.skew[f"save {tensor}"], image)
        self.parameters.release()
        return self._pending

    def _rows(self, tensor: str, step: int) -> Rows | None:
        if not 0 <= step < self.plan.ranges.steps:
            return None
        rows = Rows(*self.plan.ranges.made(tensor, step))
        return rows if len(rows) else None

    def _add(self, pending: Sequence[Pending], layer: str, step: int) -> None:
        self._pending += [replace(p, layer=layer, tile=step) for p in pending]

    def _load(self, tensor: str, step: int, image: int) -> None:
        rows = self._rows(tensor, step)
        if rows:
            fold = self.plan.group.folds.get(tensor)
            view, placed = self.homes.load[tensor], self.plan.placed[tensor]
            for piece in rows.pieces(self._pieces[tensor]):
                self._add(list(load_rows(self.config, view, placed, piece, image, fold)), tensor, step)

    def _save(self, tensor: str, step: int, image: int) -> None:
        rows = self._rows(tensor, step)
        if rows:
            for view in self.homes.save[tensor]:
                for piece in rows.pieces(self._pieces[tensor]):
                    self._add(list(save_rows(self.config, view, self.plan.placed[tensor], piece, image)), tensor, step)

    def _compute(self, layer: Layer, step: int) -> None:
        rows = self._rows(layer.output, step)
        if rows is None:
            return
        name = layer.op.name
        if layer.table is not None and layer.output not in self._tables:
            slot, load = self.parameters.load_table(layer.table)
            self._tables[layer.output] = slot
            self._add([load], name, step)
        extra = {Buffer.TABLE: self._tables[layer.output]} if layer.table is not None else {}
        if layer.output in self.plan.resident:
            if layer.output not in self._resident:
                self._resident[layer.output] = []
                for block in self.plan.blocks[layer.output]:
                    at, loads = self.parameters.load(block, pinned=True)
                    self._add(loads, name, step)
                    self._resident[layer.output].append((block, at))
            for number, (block, kept) in enumerate(self._resident[layer.output]):
                self._emit(layer, number, rows, block, {**kept, **extra}, step)
            return
        for number, block in enumerate(self.plan.blocks[layer.output]):
            where, loads = self.parameters.load(block, pinned=False)
            self._add(loads, name, step)
            self._emit(layer, number, rows, block, {**where, **extra}, step)

    def _emit(self, layer: Layer, number: int, rows: Rows, block: Block, at: ParameterWords, step: int) -> None:
        """The first and the last block in pieces, those between in one."""
        edge = number in (0, len(self.plan.blocks[layer.output]) - 1)
        most = self._pieces[layer.output] if edge and block.divisible else max(1, len(rows))
        for piece in rows.pieces(most):
            self._add(layer.emit(piece, block, at, self.plan.placed), layer.op.name, step)
