"""Channel passes: a group computed channel range by channel range, each time over all rows.

With ``p`` passes a group moves, for each image, this many bytes if the parameters of a pass stay on chip:

    p * (maps that dense layers read) + (maps that channel-wise layers read) + outputs + parameters

The first term counts once if those maps stay on chip as well. Optimus' equation 3 has the other order of loops. It loads the
parameters once for each of ``s`` steps over the rows:

    inputs + outputs + s * parameters

Its equation 4 chooses the largest rows of a step, here the fewest steps, that the buffer holds. Passes cut the maps of each
step, too: a row of some channels of a wide map fits where a whole row does not.

A group may run in passes if every map that it makes is a channel-wise function of whole inputs. Dense convolutions then read
only maps from DRAM. Between them and the outputs lie pools, depthwise convolutions, element-wise operations and resizes. The
following are refused: a dense convolution that reads a map of the group, grouped convolutions other than depthwise, a map that
one layer reads in whole and another by channels, rows over channels, and maps that are joined on chip. Where maps lie in DRAM
does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compiler.layers.lower import fold_of, lower, lower_sampled
from compiler.planning.operations import Group
from compiler.xgraph.ops import Channels
from isa.config import MachineConfig


@dataclass(frozen=True)
class Cut:
    """The cut of a group by channels."""

    config: MachineConfig
    group: Group
    whole: tuple[str, ...]
    """Inputs of which every pass needs all channels."""
    units: Mapping[str, int]
    """For every other map, the number of its parts of whole words and whole output chunks."""

    @property
    def most(self) -> int:
        """The most passes in which every map still has a part."""
        return min(self.units.values())

    def counts(self) -> list[int]:
        """The numbers of passes worth trying: those that change the widest part of a map."""
        found = {-(-units // part) for units in set(self.units.values()) for part in range(1, units)}
        return sorted(count for count in found if 1 < count <= self.most)

    def channels(self, name: str, number: int, count: int) -> tuple[int, int]:
        """The channels of a map in pass ``number`` of ``count``."""
        unit = self.config.ic_p * self.config.words_per_chunk
        first, past = (self.units[name] * n // count * unit for n in (number, number + 1))
        return first, min(past, self.group.tensors[name].channels)

    def shape(self, number: int, count: int) -> tuple[int, ...]:
        """The channels of all maps in a pass. They are equal for passes that planning cannot tell apart."""
        return tuple(past - first for first, past in (self.channels(name, number, count) for name in self.units))

    def maps(self, number: int, count: int) -> Group:
        """The group with the maps of a pass. Its layers still compute all channels."""
        tensors = dict(self.group.tensors)
        first_channel = dict(self.group.first_channel)
        for name in self.units:
            first, past = self.channels(name, number, count)
            tensors[name] = replace(tensors[name], shape=(*tensors[name].shape[:3], past - first))
            first_channel[name] = first_channel.get(name, 0) + first
        return replace(self.group, tensors=tensors, first_channel=first_channel)

    def part(self, number: int, count: int) -> Group:
        """The group of a pass. The last pass has at least as many units of each map as any other."""
        group = self.maps(number, count)
        layers = []
        for layer in group.layers:
            op = layer.op.of_channels(*self.channels(layer.output, number, count))
            folded = fold_of(self.config, op, group.tensors) if op.inputs[0] in group.folds else None
            if folded is not None:
                layers.append(folded[1])
            else:
                lowered = lower_sampled if op.inputs[0] in group.sampled else lower
                layers.append(lowered(self.config, op, group.tensors))
        return replace(group, layers=tuple(layers))


def cut_of(config: MachineConfig, group: Group) -> Cut | None:
    """The cut of a group. None: the group can only run over all channels at once, for example if it joins maps on chip."""
    if group.joined:
        return None
    whole: set[str] = set()
    by_channel: set[str] = {layer.output for layer in group.layers}
    for layer in group.layers:
        if layer.op.reads_channels in (Channels.GROUP, Channels.WHOLE):
            return None
        (whole if layer.op.reads_channels is Channels.ALL else by_channel).update(layer.inputs)
    if whole & by_channel:
        return None
    unit = config.ic_p * config.words_per_chunk
    cut = Cut(
        config, group, tuple(name for name in group.inputs if name in whole),
        {name: -(-group.tensors[name].channels // unit) for name in group.tensors if name in by_channel},
    )  # fmt: skip
    return cut if cut.most > 1 else None
