"""The places of the maps of a group in DRAM, whole and as each of its passes has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.layers.views import View
from compiler.planning.operations import Group


@dataclass(frozen=True)
class Homes:
    """The places in DRAM from which maps are loaded, and all those to which they are saved."""

    load: Mapping[str, View]
    save: Mapping[str, Sequence[View]]
    stored: Mapping[str, View] = field(default_factory=dict)
    """The maps that serve as parameters. All passes have them whole."""

    def of(self, group: Group) -> Homes:
        """The places for a group that holds only some channels, or pixels, of its maps."""

        def part(name: str, view: View) -> View:
            tensor = group.tensors[name]
            if group.stacked:
                view = view.stacked(tensor.height)
            if group.row_pixels:
                view = view.in_rows(group.row_pixels)
            if name in group.sampled:
                view = view.sampled(*group.sampled[name], tensor.height, tensor.width)
            if name in group.first_row:
                view = view.rows_from(group.first_row[name], tensor.height)
            if name in group.first_channel:
                view = view.channels_from(group.first_channel[name], tensor.channels)
            if name in group.first_column:
                view = view.columns_from(group.first_column[name], tensor.width)
            return view

        return Homes(
            {name: part(name, view) for name, view in self.load.items()},
            {name: [part(name, view) for view in views] for name, views in self.save.items()},
            self.stored,
        )  # fmt: skip
