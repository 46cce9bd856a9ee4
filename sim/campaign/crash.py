"""Text for a fault of our own in one item of a campaign, which becomes the item's result."""

from __future__ import annotations

import traceback
from pathlib import Path


def crash(error: Exception) -> str:
    """What the error is and where it was raised, in one line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"crashed: {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
