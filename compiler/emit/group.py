"""Emits a planned group as instructions, in an order that is right if they run one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from compiler.emit.parameters import Parameters
from compiler.instructions.pending import Pending
from compiler.layers.layer import Block, Layer, ParameterWords
from compiler.layers.placed import Rows
from compiler.layers.views import load_rows, save_rows
from compiler.planning.homes import Homes
from compiler.planning.plan import Pass, Plan
from isa.config import MachineConfig
from isa.instructions import Buffer

_Piece = tuple[object, ...]
"""A map, the block of its layer, the step, the first row and the row after the last, and the places of the parameters."""
_computed: WeakKeyDictionary[Pass, dict[_Piece, Sequence[Pending]]] = WeakKeyDictionary()
"""The instructions of layers that were emitted before. A pass has the same ones in another program if its parameters lie in
the same words. Loads and saves may differ, because a map's place in DRAM depends on all groups."""


def emit_plan(config: MachineConfig, plan: Plan, homes: Homes, parameters: Parameters, core: int = 0) -> list[Pending]:
    """The instructions of all passes of one core over all images. The numbers of steps go on from pass to pass."""
    return [
        pending
        for number, part, images in plan.runs_of(core)
        for pending in PassEmitter(config, part, homes.of(part.group), parameters, number * plan.steps).emit(images)
    ]


class PassEmitter:
    """Emits a pass, turn by turn."""

    def __init__(self, config: MachineConfig, plan: Pass, homes: Homes, parameters: Parameters, first_tile: int) -> None:
        self.config, self.plan, self.homes, self.parameters = config, plan, homes, parameters
        self.first_tile = first_tile
        self._layers = {layer.output: layer for layer in plan.group.layers}
        self._resident: dict[str, list[ParameterWords]] = {}
        self._tables: dict[str, int] = {}
        self._pieces = {name: plan.ranges.piece(name) for name in plan.group.maps}
        """The rows of a piece of each map."""
        self._pending: list[Pending] = []
        self._computed = _computed.setdefault(plan, {})

    def emit(self, images: range) -> list[Pending]:
        """The instructions of one image after the other. Parameters that stay are loaded once."""
        for image in images:
            for turn, step, rows in self.plan.order():
                if turn.what == "load":
                    self._load(turn.map, step, rows, image)
                elif turn.what == "save":
                    self._save(turn.map, step, rows, image)
                else:
                    self._compute(self._layers[turn.map], step, rows)
        self.parameters.release()
        return self._pending

    def _add(self, pending: Sequence[Pending], layer: str, step: int) -> None:
        name = self.plan.group.name
        self._pending += [p.belongs(layer, self.first_tile + step, name) for p in pending]

    def _load(self, tensor: str, step: int, rows: Rows, image: int) -> None:
        fold = self.plan.group.folds.get(tensor)
        view, placed = self.homes.load[tensor], self.plan.placed[tensor]
        for piece in rows.pieces(self._pieces[tensor]):
            self._add(list(load_rows(self.config, view, placed, piece, image, fold)), tensor, step)

    def _save(self, tensor: str, step: int, rows: Rows, image: int) -> None:
        for view in self.homes.save[tensor]:
            for piece in rows.pieces(self._pieces[tensor]):
                self._add(list(save_rows(self.config, view, self.plan.placed[tensor], piece, image)), tensor, step)

    def _compute(self, layer: Layer, step: int, rows: Rows) -> None:
        name = layer.op.name
        if layer.table is not None and layer.output not in self._tables:
            slot, load = self.parameters.load_table(layer.table)
            self._tables[layer.output] = slot
            self._add([load], name, step)
        extra = {Buffer.TABLE: self._tables[layer.output]} if layer.table is not None else {}
        kept = self._resident.setdefault(layer.output, [])
        residence = self.plan.residence
        for number, block in enumerate(residence.blocks[layer.output]):
            stays = number < residence.stay[layer.output]
            if stays and number < len(kept):
                where = kept[number]
            else:
                where, loads = self.parameters.load(block, stays, *[self.homes.stored[name] for name in layer.op.stored])
                self._add(loads, name, step)
                if stays:
                    kept.append(where)
            self._emit(layer, number, rows, block, {**where, **extra}, step)

    def _emit(self, layer: Layer, number: int, rows: Rows, block: Block, at: ParameterWords, step: int) -> None:
        """Emits a block of a layer: in pieces if it is the first or the last one, else in one."""
        edge = number in (0, len(self.plan.residence.blocks[layer.output]) - 1)
        most = self._pieces[layer.output] if edge and block.divisible else max(1, len(rows))
        for piece in rows.pieces(most):
            key = layer.output, number, step, piece.begin, piece.end, *at.values()
            if key not in self._computed:
                self._computed[key] = layer.emit(piece, block, at, self.plan.placed)
            self._add(self._computed[key], layer.op.name, step)
