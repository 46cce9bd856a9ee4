"""Random products of two activations: attention between the pixels of maps, in heads of their channels."""

from __future__ import annotations

from compiler.zoo.moments import Moments
from compiler.zoo.random_layers import AnyNetwork, Made, Maps, layer

MOST_TOKENS = 200


@layer("attention")
def _attention(net: AnyNetwork, maps: Maps) -> Made:
    """Queries of one map, keys and values of another one, or of itself; with a factor, and with a softmax, or without."""
    x, rng = maps.one(), maps.rng
    y = maps.like(x) or x
    n, channels, rows, columns = x.shape
    tokens = rows * columns
    if tokens > MOST_TOKENS:
        return None
    heads = rng.choice([count for count in (1, 2, 3, 4) if channels % count == 0])
    size = channels // heads
    queries = net.transposed_to(net.reshaped(x, n, heads, size, tokens), 0, 1, 3, 2)
    keys = net.reshaped(y, n, heads, size, tokens)
    scores = net.product(queries, keys)
    if rng.random() < 0.5:
        scores = net.scaled(scores, rng.choice((0.5, 0.25, 0.3, 4.0)), rng.choice(("Mul", "Div")))
    if rng.random() < 0.6:
        scores = net.op("Softmax", scores, result=Moments(1 / tokens, 1 / tokens**2), axis=-1)
    mixed = net.product(scores, net.transposed_to(keys, 0, 1, 3, 2))
    return net.reshaped(net.transposed_to(mixed, 0, 1, 3, 2), n, channels, rows, columns)
