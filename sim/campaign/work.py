"""The work that a campaign does for each item, and what stands for an item without a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isa.errors import TilewrightError

Work = Callable[[Any], Any]
"""A function from an item to its result. It belongs to a module, so that other processes find it. Both can be pickled, and the
result is what JSON holds."""
ATTEMPTS = 3
"""The workers that one item may kill."""


class CampaignError(TilewrightError):
    """Raised for a campaign that cannot run as it is asked to."""


@dataclass(frozen=True)
class Lost:
    """Stands for the result of an item for which no worker came back with one."""

    reason: str
    late: bool = False
    """Whether the item took more than its time, and nothing else is known to be wrong with it."""
