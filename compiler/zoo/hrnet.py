"""HRNet (Wang et al., 2019) for classification: branches of several sizes side by side, fused again and again.

Changed: batch normalisation is folded into the convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto

from compiler.zoo.network import Network, Value
from compiler.zoo.resnet import basic_block


def hrnet(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, width: int = 32, first: tuple[int, int] = (4, 64),
    modules: Sequence[int] = (1, 4, 3), blocks: int = 4, name: str = "hrnet",
) -> ModelProto:  # fmt: skip
    """HRNet. ``first`` has the blocks of the first stage and their width.

    ``modules`` has the modules of the other stages, with ``blocks`` in each branch.
    """
    net = Network(name, seed)
    x = net.relu(net.conv(net.image(batch, size), 64, 3, 2))
    x = net.relu(net.conv(x, 64, 3, 2))
    for block in range(first[0]):
        with net.scope(f"stage1.{block}"):
            x = _bottleneck(net, x, first[1])
    branches = [x]
    for stage, count in enumerate(modules, start=2):
        with net.scope(f"transition{stage}"):
            branches = _transition(net, branches, [width << n for n in range(stage)])
        for module in range(count):
            with net.scope(f"stage{stage}.{module}"):
                branches = _module(net, branches, blocks)
    return net.model(logits=net.dense(net.global_average(_head(net, branches)), classes))


def _bottleneck(net: Network, x: Value, channels: int) -> Value:
    y = net.relu(net.conv(x, channels))
    y = net.relu(net.conv(y, channels, 3))
    y = net.conv(y, 4 * channels)
    shortcut = x if x.channels == 4 * channels else net.conv(x, 4 * channels)
    return net.relu(net.add(y, shortcut))


def _transition(net: Network, branches: Sequence[Value], widths: Sequence[int]) -> list[Value]:
    """The branches of the next stage. Existing branches keep their size; a new one has half that of the last."""
    found = []
    for number, width in enumerate(widths):
        if number < len(branches):
            same = branches[number].channels == width
            found.append(branches[number] if same else net.relu(net.conv(branches[number], width, 3)))
        else:
            found.append(net.relu(net.conv(branches[-1], width, 3, 2)))
    return found


def _module(net: Network, branches: Sequence[Value], blocks: int) -> list[Value]:
    made = list(branches)
    for number, x in enumerate(made):
        for block in range(blocks):
            with net.scope(f"branch{number}.{block}"):
                x = basic_block(net, x, x.channels)
        made[number] = x
    fused = []
    for target, own in enumerate(made):
        total: Value | None = None
        for source, x in enumerate(made):
            with net.scope(f"fuse{target}.{source}"):
                part = _resized(net, x, own, source - target)
            total = part if total is None else net.add(total, part)
        assert total is not None
        fused.append(net.relu(total))
    return fused


def _resized(net: Network, x: Value, target: Value, steps: int) -> Value:
    """A branch at another size: up by a point-wise convolution and nearest neighbours, down by convolutions at stride 2.

    The last of these convolutions has the new width.
    """
    if steps > 0:
        return net.upsample(net.conv(x, target.channels), 1 << steps)
    for step in range(-steps):
        last = step == -steps - 1
        x = net.conv(x, target.channels if last else x.channels, 3, 2)
        x = x if last else net.relu(x)
    return x


def _head(net: Network, branches: Sequence[Value]) -> Value:
    """The branches as one map: from the largest down, each is widened and added to the sum of those before."""
    total: Value | None = None
    for number, x in enumerate(branches):
        with net.scope(f"head{number}"):
            y = _bottleneck(net, x, 32 << number)
            total = y if total is None else net.add(y, net.relu(net.conv(total, y.channels, 3, 2)))
    assert total is not None
    return net.relu(net.conv(total, 2048))
