"""Random small networks: any layers in any order, maps of odd sizes that meet again, several inputs and outputs.

A recipe has all that is drawn, so that a smaller recipe is still a network: a layer draws its own numbers, and takes its inputs
from the maps that exist.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from onnx import ModelProto

from compiler.zoo import random_functions, random_moves, random_products, random_rows, random_windows
from compiler.zoo.network import OPSET, Value
from compiler.zoo.random_layers import ALSO_OLD, LEAST_OPSET, MAKERS, AnyNetwork, Layer, Maps

FAMILIES = (random_functions, random_moves, random_products, random_rows, random_windows)
"""The modules whose import declares the layers."""
MOST_LAYERS = 9
OLD, YOUNG = 9, 24
"""The operator sets of some networks: the oldest, which has layers of its own, and one that has all functions."""
LONG = 0.15
"""The share of networks whose maps have many rows, or rows so long that they may be tiled in columns."""


@dataclass(frozen=True)
class Recipe:
    batch: int
    channels: int
    size: tuple[int, int]
    inputs: int
    layers: tuple[Layer, ...]
    opset: int = OPSET


def kinds_of(opset: int) -> list[str]:
    """The layers that networks of this operator set have."""
    if opset == OLD:
        return [kind for kind in MAKERS if kind in ALSO_OLD or kind == "Upsample"]
    return [kind for kind in MAKERS if LEAST_OPSET.get(kind, 0) <= opset and kind != "Upsample"]


def random_recipe(seed: int) -> Recipe:
    """A random recipe. The first layer goes through all kinds, seed after seed, so that none is left to chance."""
    rng = random.Random(f"model {seed}")
    kinds = [*MAKERS]
    first = kinds[seed % len(kinds)]
    opset = OLD if first == "Upsample" else YOUNG if first in LEAST_OPSET else rng.choice((OPSET, OPSET, OPSET, YOUNG))
    sides = [rng.randint(3, 20), rng.randint(3, 20)]
    if rng.random() < LONG:
        sides[rng.choice((0, 1, 1))] = rng.randint(60, 400)
    others = [rng.choice(kinds_of(opset)) for _ in range(rng.randint(0, MOST_LAYERS - 1))]
    layers = tuple(Layer(kind, rng.getrandbits(32)) for kind in (first, *others))
    batch, channels, inputs = rng.choice((1, 1, 1, 2, 3)), rng.randint(1, 20), rng.choice((1, 1, 1, 2))
    return Recipe(batch, channels, (sides[0], sides[1]), inputs, layers, opset)


def build(recipe: Recipe) -> ModelProto:
    """The network of a recipe. A result that no layer reads is an output; an input that no layer reads meets a ReLU."""
    net = AnyNetwork("random", 0, recipe.opset)
    inputs = tuple(net.image(recipe.batch, recipe.size, recipe.channels, f"x{n}") for n in range(recipe.inputs))
    values, read = inputs, set[str]()
    for number, layer in enumerate(recipe.layers):
        maps = Maps(random.Random(layer.seed), values, set())
        with net.scope(f"layer{number}"):
            made = MAKERS[layer.kind](net, maps)
        if made is not None:
            read |= maps.read
            values += (made,) if isinstance(made, Value) else made
    values += tuple(net.relu(x) for x in inputs if x.name not in read)
    read |= {x.name for x in inputs}
    return net.model(**{f"y{n}": v for n, v in enumerate(value for value in values if value.name not in read)})
