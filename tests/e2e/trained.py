"""The trained models and labelled pictures of a folder that lies beside the project; tests skip where it is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.tools import shared

Array = NDArray[Any]


def trained(name: str) -> Path:
    """The path of a trained model; skips the test where the folder is missing."""
    return shared("models", name)


def labelled(name: str) -> tuple[Array, Array]:
    """Images and labels of an NPZ file."""
    with np.load(trained(name)) as archive:
        return archive["images"], archive["labels"]
