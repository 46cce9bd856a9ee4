"""Read data of the feature-map buffer, as lanes of CONV and POOL see them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from isa.config import MachineConfig


def show_words(ctx: Any, config: MachineConfig, ports: Iterable[Any], words: Iterable[int | None], rng: random.Random) -> None:
    """The words at their ports; anything for None, a lane that asked for nothing; ``fill`` for padding."""
    for port, word in zip(ports, words, strict=True):
        if hasattr(port, "padding") and ctx.get(port.padding):
            word = int.from_bytes(bytes([ctx.get(port.fill)]) * config.ic_p, "little")
        ctx.set(port.data, rng.getrandbits(8 * config.ic_p) if word is None else word)
