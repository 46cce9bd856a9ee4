"""What a campaign does to each item, and what stands for an item that came to nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isa.errors import TilewrightError

Work = Callable[[Any], Any]
"""From an item to its result: a function of a module, so that other processes find it; both can be pickled, and the result is
what JSON holds."""
ATTEMPTS = 3
"""Workers that may die of one item."""


class CampaignError(TilewrightError):
    """A campaign that cannot run as it is asked to."""


@dataclass(frozen=True)
class Lost:
    """In place of a result: nobody came back with one."""

    reason: str
    late: bool = False
    """It took more than its time, and nothing else is known to be wrong with it."""
