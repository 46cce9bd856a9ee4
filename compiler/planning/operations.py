"""A group: the layers that run together, the maps that they read from DRAM, and the maps that they leave there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from compiler.layers.array import ArrayLayer
from compiler.layers.layer import Layer
from compiler.layers.views import Fold
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import Unit


@dataclass(frozen=True, eq=False)
class Group:
    """Operations that run together, lowered to layers."""

    layers: tuple[Layer, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: Mapping[str, Tensor]
    folds: Mapping[str, Fold]
    sampled: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For an input that is read with strides: the row stride and the column stride. ``tensors`` holds only the rows and columns
    that are read."""
    stacked: bool = False
    """Whether the images of the batch are the rows of one image."""
    row_pixels: int = 0
    """If not 0, the maps have one row each, and it is cut into rows of this many pixels."""
    lacking: int = 0
    """The pixels that the last of these rows lacks. They are computed, but never loaded or saved."""
    first_channel: Mapping[str, int] = field(default_factory=dict)
    """The first channel of each map of which the group holds only some channels (``cut.py``)."""
    first_column: Mapping[str, int] = field(default_factory=dict)
    """The first column of each map of which the group holds only some columns (``columns.py``)."""
    first_row: Mapping[str, int] = field(default_factory=dict)
    """The first row of each map of which the group holds only some rows (``bands.py``)."""
    stored: tuple[str, ...] = ()
    """The maps in DRAM that serve as parameters of layers. They need no room in the feature-map buffer."""
    joined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each map that is put together on chip: its parts in the order of channels. Each part is made or loaded."""

    @property
    def tables(self) -> tuple[Layer, ...]:
        """The layers that need an activation table. Each keeps its own through all steps."""
        return tuple(layer for layer in self.layers if layer.table is not None)

    @cached_property
    def name(self) -> str:
        return "+".join(layer.op.name for layer in self.layers)

    @cached_property
    def maps(self) -> tuple[str, ...]:
        """All maps: first those that are loaded, then those that are made."""
        return (*self.inputs, *(layer.output for layer in self.layers))

    @cached_property
    def parts(self) -> frozenset[str]:
        """The parts of all joined maps."""
        return frozenset(part for parts in self.joined.values() for part in parts)

    @property
    def partial(self) -> bool:
        """Whether it holds only some channels, columns or rows of its maps."""
        return bool(self.first_channel or self.first_column or self.first_row)

    def sources(self, layer: Layer) -> tuple[str, ...]:
        """The maps that the layer reads. A joined map stands for its parts."""
        return self._sources[layer.output] if self.joined else layer.inputs

    @cached_property
    def _sources(self) -> dict[str, tuple[str, ...]]:
        return {
            layer.output: tuple(name for read in layer.inputs for name in self.joined.get(read, (read,)))
            for layer in self.layers
        }  # fmt: skip

    def vectors(self, config: MachineConfig, tensor: str) -> int:
        """The planes of the map on chip. They are whole output chunks, because CONV writes all words of a chunk."""
        if tensor in self.folds:
            return self.folds[tensor].vectors(config)
        if tensor in self.joined:
            return sum(self.vectors(config, part) for part in self.joined[tensor])
        used = -(-self.tensors[tensor].channels // config.ic_p)
        chunk = config.words_per_chunk * self._bytes.get(tensor, 1)
        return -(-used // chunk) * chunk

    @cached_property
    def _bytes(self) -> dict[str, int]:
        """For each map that CONV makes: the words that take the place of one word of a chunk."""
        return {layer.output: layer.y_vectors for layer in self.layers if isinstance(layer, ArrayLayer)}

    def width(self, tensor: str) -> int:
        return self.folds[tensor].columns if tensor in self.folds else self.tensors[tensor].width

    @cached_property
    def widest(self) -> int:
        """The columns of the widest map."""
        return max(self.width(name) for name in self.tensors)

    @cached_property
    def highest(self) -> int:
        """The rows of the highest map."""
        return max(tensor.height for tensor in self.tensors.values())

    @cached_property
    def beats(self) -> dict[Unit, int]:
        """The fewest beats of each unit for one image."""
        beats: dict[Unit, int] = {}
        for layer in self.layers:
            beats[layer.unit] = beats.get(layer.unit, 0) + layer.beats
        return beats
