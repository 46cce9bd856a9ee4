"""Networks of cells that were found by search: DARTS (Liu et al., 2018), AmoebaNet-A (Real et al., 2018), NASNet-A for CIFAR.

Kept: the cells (both operations of each node and what they read), the repetitions and the widths. Changed: batch
normalisation is folded into the convolutions; no auxiliary classifier, no drop path.
"""

from __future__ import annotations

from dataclasses import dataclass

from onnx import ModelProto

from compiler.zoo.network import Network, Value

Edge = tuple[str, int]
"""An operation, and the state that it reads: 0 and 1 are the last two cells' results, then come the nodes."""


@dataclass(frozen=True)
class Cell:
    """Nodes that add the results of two edges each. The cell's result joins those in ``joined``."""

    nodes: tuple[tuple[Edge, Edge], ...]
    joined: tuple[int, ...]


DARTS = (
    Cell((
        (("separable3", 0), ("separable3", 1)), (("separable3", 0), ("separable3", 1)),
        (("separable3", 1), ("skip", 0)), (("skip", 0), ("dilated3", 2)),
    ), (2, 3, 4, 5)),
    Cell((
        (("max", 0), ("max", 1)), (("skip", 2), ("max", 1)), (("max", 0), ("skip", 2)), (("skip", 2), ("max", 1)),
    ), (2, 3, 4, 5)),
)  # fmt: skip
AMOEBANET_A = (
    Cell((
        (("average", 0), ("max", 1)), (("separable3", 0), ("separable5", 2)), (("separable3", 0), ("average", 3)),
        (("separable3", 1), ("skip", 1)), (("skip", 0), ("average", 1)),
    ), (4, 5, 6)),
    Cell((
        (("average", 0), ("separable3", 1)), (("max", 0), ("separable7", 2)), (("separable7", 0), ("average", 1)),
        (("max", 0), ("max", 1)), (("row7column7", 0), ("separable3", 5)),
    ), (3, 4, 6)),
)  # fmt: skip
NASNET_A = (
    Cell((
        (("separable5", 1), ("separable3", 0)), (("separable5", 0), ("separable3", 0)), (("average", 1), ("skip", 0)),
        (("average", 0), ("average", 0)), (("separable3", 1), ("skip", 1)),
    ), (0, 2, 3, 4, 5, 6)),
    Cell((
        (("separable5", 1), ("separable7", 0)), (("max", 1), ("separable7", 0)), (("average", 1), ("separable5", 0)),
        (("skip", 3), ("average", 2)), (("separable3", 2), ("max", 1)),
    ), (3, 4, 5, 6)),
)  # fmt: skip
"""NASNet's normal cell and reduction cell."""


def cells_cifar(
    name: str, cells: tuple[Cell, Cell], filters: int, repeats: int, stem: int,
    batch: int = 1, size: int = 32, seed: int = 0, classes: int = 10,
) -> ModelProto:  # fmt: skip
    """Three stages of ``repeats`` normal cells. A reduction cell between two halves the size and doubles the width."""
    net = Network(name, seed)
    x = before = net.conv(net.image(batch, size), stem, 3)
    return _stages(net, cells, x, before, filters, (repeats, repeats, repeats), classes)


def cells_imagenet(
    name: str, cells: tuple[Cell, Cell], filters: int, repeats: int, stem: int,
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000,
) -> ModelProto:  # fmt: skip
    """NASNet's form: a convolution and two reduction cells come first, with a quarter and half of the width."""
    net = Network(name, seed)
    x = before = net.conv(net.image(batch, size), stem, 3, 2)
    for number, divisor in enumerate((4, 2)):
        with net.scope(f"stem{number}"):
            x, before = _cell(net, cells[1], x, before, filters // divisor, 2), x
    return _stages(net, cells, x, before, filters, (repeats, repeats, repeats), classes)


def darts_cifar(
    batch: int = 1, size: int = 32, seed: int = 0, classes: int = 10, filters: int = 36, layers: int = 20
) -> ModelProto:
    net = Network("darts_cifar", seed)
    x = before = net.conv(net.image(batch, size), 3 * filters, 3)
    return _stages(net, DARTS, x, before, filters, _thirds(layers), classes)


def darts_imagenet(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, filters: int = 48, layers: int = 14
) -> ModelProto:
    """DARTS for ImageNet. Three convolutions at stride 2 come first; the first cell reads the last two maps."""
    net = Network("darts_imagenet", seed)
    x = net.relu(net.conv(net.image(batch, size), filters // 2, 3, 2))
    before = net.conv(x, filters, 3, 2)
    x = net.conv(net.relu(before), filters, 3, 2)
    return _stages(net, DARTS, x, before, filters, _thirds(layers), classes)


def _thirds(layers: int) -> tuple[int, int, int]:
    """The number of normal cells in each stage, of ``layers`` cells with reductions after one and two thirds."""
    first, second = layers // 3, 2 * layers // 3
    return first, second - first - 1, layers - second - 1


def _stages(
    net: Network, cells: tuple[Cell, Cell], x: Value, before: Value, filters: int, repeats: tuple[int, ...], classes: int
) -> ModelProto:
    for stage, count in enumerate(repeats):
        if stage > 0:
            with net.scope(f"reduction{stage}"):
                x, before = _cell(net, cells[1], x, before, filters << stage, 2), x
        for number in range(count):
            with net.scope(f"cell{stage}.{number}"):
                x, before = _cell(net, cells[0], x, before, filters << stage, 1), x
    return net.model(logits=net.dense(net.global_average(x), classes))


def _cell(net: Network, cell: Cell, x: Value, before: Value, filters: int, stride: int) -> Value:
    """A cell. Both inputs first get ``filters`` channels, and the size of the nearer one."""
    states = [_adjusted(net, before, x, filters), net.conv(net.relu(x), filters)]
    for edges in cell.nodes:
        one, other = (_edge(net, kind, states[place], stride if place < 2 else 1) for kind, place in edges)
        states.append(net.add(one, other))
    return net.concat([states[place] for place in cell.joined])


def _edge(net: Network, kind: str, x: Value, stride: int) -> Value:
    if kind == "skip":
        return x if stride == 1 else _halved(net, x, x.channels)
    if kind == "max":
        return net.max_pool(x, 3, stride, "centred")
    if kind == "average":
        return net.average_pool(x, 3, stride, "centred")
    if kind == "dilated3":
        return net.conv(net.depthwise(net.relu(x), 3, stride, dilation=2), x.channels)
    if kind == "row7column7":
        return net.conv(net.conv(net.relu(x), x.channels, (1, 7), stride), x.channels, (7, 1))
    kernel = int(kind.removeprefix("separable"))
    for step in (stride, 1):
        x = net.conv(net.depthwise(net.relu(x), kernel, step), x.channels)
    return x


def _adjusted(net: Network, before: Value, x: Value, filters: int) -> Value:
    return _halved(net, before, filters) if before.size != x.size else net.conv(net.relu(before), filters)


def _halved(net: Network, x: Value, filters: int) -> Value:
    """A map of half the size: every other pixel is taken twice, the second time from the odd rows and columns."""
    relu = net.relu(x)
    pads = (0, 0, x.size[0] % 2, x.size[1] % 2)
    odd = net.conv(net.crop_first(relu), filters - filters // 2, 1, 2, pads)
    return net.concat([net.conv(relu, filters // 2, 1, 2), odd])
