"""RandWire (Xie et al., 2019), the small regime: three stages of randomly wired nodes, of 78, 156 and 312 channels.

Each node adds its inputs; ReLU, depthwise 3x3 and point-wise follow. Changed: the sum's learnt weights are folded into its
operands; the average over a stage's last nodes is a sum, whose scale the next stage's weights take; batch normalisation is
folded.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from onnx import ModelProto

from compiler.zoo.network import Network, Value


def randwire(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, channels: int = 78, wiring: int = 0,
    nodes: int = 32, degree: int = 4, p: float = 0.75,
) -> ModelProto:  # fmt: skip
    """RandWire. ``wiring`` is the seed of the first stage's graph; the other stages have the two seeds that follow."""
    net = Network("randwire", seed)
    x = net.conv(net.image(batch, size), channels // 2, 3, 2)
    x = net.conv(net.relu(x), channels, 3, 2)
    for stage in range(3):
        with net.scope(f"stage{stage}"):
            x = _stage(net, x, channels << stage, watts_strogatz(nodes, degree, p, wiring + stage))
    x = net.relu(net.conv(net.relu(x), 1280))
    return net.model(logits=net.dense(net.global_average(x), classes))


def watts_strogatz(nodes: int, degree: int, p: float, seed: int) -> list[set[int]]:
    """The neighbours of each node of a connected small-world graph; a seed gives the same graph as in NetworkX."""
    rng = random.Random(seed)
    while True:
        found = _rewired_ring(nodes, degree, p, rng)
        reached = {0}
        while (more := set().union(*(found[n] for n in reached)) - reached):
            reached |= more
        if len(reached) == nodes:
            return found


def _rewired_ring(nodes: int, degree: int, p: float, rng: random.Random) -> list[set[int]]:
    """A ring in which each node is linked to its nearest ones; then each edge moves elsewhere with probability ``p``."""
    found: list[set[int]] = [set() for _ in range(nodes)]
    edges = [(node, (node + distance) % nodes) for distance in range(1, degree // 2 + 1) for node in range(nodes)]
    for one, other in edges:
        found[one].add(other)
        found[other].add(one)
    for one, other in edges:
        if rng.random() < p:
            new = rng.choice(range(nodes))
            while new == one or new in found[one]:
                new = rng.choice(range(nodes))
                if len(found[one]) >= nodes - 1:
                    break
            else:
                found[one].remove(other)
                found[other].remove(one)
                found[one].add(new)
                found[new].add(one)
    return found


def _stage(net: Network, x: Value, channels: int, neighbours: Sequence[set[int]]) -> Value:
    """A stage. Nodes run from low to high numbers; those without a lower neighbour read the stage's input, at stride 2."""
    made: list[Value] = []
    for node, near in enumerate(neighbours):
        read = [made[other] for other in sorted(near) if other < node]
        value = net.relu(_sum(net, read) if read else x)
        made.append(net.conv(net.depthwise(value, 3, 1 if read else 2), channels))
    last = [made[node] for node, near in enumerate(neighbours) if all(other < node for other in near)]
    return _sum(net, last)


def _sum(net: Network, values: Sequence[Value]) -> Value:
    total = values[0]
    for value in values[1:]:
        total = net.add(total, value)
    return total
