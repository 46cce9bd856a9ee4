"""Random products of two activations: attention between the pixels of maps, in heads of their channels."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray

from compiler.zoo.moments import Moments
from compiler.zoo.random_layers import AnyNetwork, Made, Maps, layer

MOST_TOKENS = 200


@layer("attention")
def _attention(net: AnyNetwork, maps: Maps) -> Made:
    """Attention with queries of one map, and keys and values of any map; a factor, a mask and a softmax are optional."""
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
    if rng.random() < 0.4:
        scores = net.op("Add", scores, None, _mask(rng, tokens))
    if rng.random() < 0.6:
        scores = net.op("Softmax", scores, result=Moments(1 / tokens, 1 / tokens**2), axis=-1)
    mixed = net.product(scores, net.transposed_to(keys, 0, 1, 3, 2))
    return net.reshaped(net.transposed_to(mixed, 0, 1, 3, 2), n, channels, rows, columns)


def _mask(rng: random.Random, tokens: int) -> NDArray[np.float32]:
    """A mask that is added to scores: small numbers, as for positions, or numbers far below all scores.

    These are for tokens that a token does not see, for tokens after the last that counts, or sometimes for whole rows.
    """
    low = rng.choice((-100.0, -1e4, -1e9))
    kind, seen = rng.choice(("causal", "padded", "rows", "positions")), rng.randrange(tokens)
    mask = np.zeros((tokens, tokens), np.float32)
    if kind == "causal":
        mask[np.triu_indices(tokens, 1)] = low
    elif kind == "padded":
        mask[:, seen + 1 :] = low
    elif kind == "rows":
        mask[seen] = low
    else:
        mask[:] = np.random.default_rng(seen).standard_normal((tokens, tokens))
    return mask
