"""NASNet-A (Zoph et al., 2017): hundreds of nodes with many branches, the hard case for search over partitions.

Kept: both cells with all their branches and kernels, the two inputs of a cell (the last two cells' outputs, adjusted
in size and channels), the two reduction cells of the stem, the repetitions and the widths; so MACs and parameters too.
Changed: batch normalisation is folded into the convolutions; the 1x1 average at stride 2 of the size adjustment is the
stride of the 1x1 convolution after it; pooling at stride 2 is padded as TensorFlow's SAME; no auxiliary classifier,
no drop path.
"""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network, Value


def nasnet_a(
    batch: int = 1,
    size: int = 224,
    seed: int = 0,
    classes: int = 1000,
    cells: int = 4,
    filters: int = 44,
    stem: int = 32,
    skip_reduction: bool = False,
) -> ModelProto:
    """NASNet-A (4 @ 1056), "mobile", by default; ``networks`` has NASNet-A (6 @ 4032), "large", too.

    ``cells`` normal cells stand between two reductions, ``filters`` wide at first (of 24 parts of the last map). With
    ``skip_reduction`` the cell after a reduction sees the input before it again, as the large network does.
    """
    net = Network("nasnet_a", seed)
    x = net.conv(net.image(batch, size), stem, 3, 2, (0, 0, 0, 0))
    before = x
    for number, divisor in enumerate((4, 2)):
        with net.scope(f"stem{number}"):
            x, before = _reduction_cell(net, x, before, filters // divisor), x
    for stage in range(3):
        if stage > 0:
            with net.scope(f"reduction{stage}"):
                reduced = _reduction_cell(net, x, before, filters << stage)
                x, before = reduced, before if skip_reduction else x
        for cell in range(cells):
            with net.scope(f"cell{stage}.{cell}"):
                x, before = _normal_cell(net, x, before, filters << stage), x
    return net.model(logits=net.dense(net.global_average(net.relu(x)), classes))


def _normal_cell(net: Network, x: Value, before: Value, filters: int) -> Value:
    p = _adjusted(net, before, x, filters)
    h = net.conv(net.relu(x), filters)
    return net.concat(
        [
            p,
            net.add(_separable(net, h, filters, 5), _separable(net, p, filters, 3)),
            net.add(_separable(net, p, filters, 5), _separable(net, p, filters, 3)),
            net.add(net.average_pool(h, 3, 1, "same"), p),
            net.add(net.average_pool(p, 3, 1, "same"), net.average_pool(p, 3, 1, "same")),
            net.add(_separable(net, h, filters, 3), h),
        ]
    )


def _reduction_cell(net: Network, x: Value, before: Value, filters: int) -> Value:
    p = _adjusted(net, before, x, filters)
    h = net.conv(net.relu(x), filters)
    first = net.add(_separable(net, h, filters, 5, 2), _separable(net, p, filters, 7, 2))
    second = net.add(net.max_pool(h, 3, 2, "same"), _separable(net, p, filters, 7, 2))
    third = net.add(net.average_pool(h, 3, 2, "same"), _separable(net, p, filters, 5, 2))
    fourth = net.add(net.average_pool(first, 3, 1, "same"), second)
    fifth = net.add(_separable(net, first, filters, 3), net.max_pool(h, 3, 2, "same"))
    return net.concat([second, third, fourth, fifth])


def _separable(net: Network, x: Value, filters: int, kernel: int, stride: int = 1) -> Value:
    """ReLU, a depthwise and a point-wise convolution, twice; the first depthwise one has the stride."""
    for step in (stride, 1):
        x = net.conv(net.depthwise(net.relu(x), kernel, step, "same"), filters)
    return x


def _adjusted(net: Network, before: Value, x: Value, filters: int) -> Value:
    """``before`` with the size of ``x`` and ``filters`` channels.

    Halving the size takes every other pixel twice, the second time from the odd rows and columns.
    """
    if before.size != x.size:
        relu = net.relu(before)
        odd = net.crop_first(relu)
        last_row, last_column = (length % 2 for length in before.size)
        return net.concat(
            [
                net.conv(relu, filters // 2, 1, 2),
                net.conv(odd, filters - filters // 2, 1, 2, (0, 0, last_row, last_column)),
            ]
        )
    if before.channels != filters:
        return net.conv(net.relu(before), filters)
    return before
