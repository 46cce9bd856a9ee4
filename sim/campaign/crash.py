"""A fault of ours in one item of a campaign, told as its result."""

from __future__ import annotations

import traceback
from pathlib import Path


def crash(error: Exception) -> str:
    """What it is and where, in a line."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"crashed: {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
