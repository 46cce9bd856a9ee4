"""Read data of the feature-map buffer, as lanes of CONV and POOL see them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from isa.config import MachineConfig


def show_words(ctx: Any, config: MachineConfig, ports: Iterable[Any], words: Iterable[int | None], rng: random.Random) -> None:
    """The words at their ports; None, of a lane that asked for nothing, is ``fill`` where ways fill, else anything."""
    asked = list(zip(ports, words, strict=True))
    fills = [ctx.get(port.fill) if config.ways.fill and word is None else 0 for port, word in asked]
    for (port, word), fill in zip(asked, fills, strict=True):
        if word is None:
            filled = sum(fill << 8 * lane for lane in range(config.ic_p))
            word = filled if config.ways.fill else rng.getrandbits(8 * config.ic_p)
        ctx.set(port.data, word)
