"""The trained models and labelled pictures of a folder that lies beside the project; tests skip where it is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

Array = NDArray[Any]
ROOT = Path(__file__).parents[2]


def shared_folder() -> Path | None:
    """``shared/models`` beside the project, or beside one of the folders that it lies in."""
    return next((p / "shared" / "models" for p in ROOT.parents if (p / "shared" / "models").is_dir()), None)


def trained(name: str) -> Path:
    """The path of a trained model; skips the test where it is not."""
    folder = shared_folder()
    if folder is None or not (folder / name).exists():
        pytest.skip(f"{name} is missing: expected in ../shared/models")
    return folder / name


def labelled(name: str) -> tuple[Array, Array]:
    """Images and labels of an NPZ file."""
    with np.load(trained(name)) as archive:
        return archive["images"], archive["labels"]
