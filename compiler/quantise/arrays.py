"""Arrays by name, in an NPZ file: inputs, calibration data, labels, outputs."""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isa.errors import TilewrightError

Array = NDArray[Any]
NUMBERS = "biuf"
"""Kinds of arrays that a model takes: flags, integers, floats."""


def read_arrays(path: str | Path) -> dict[str, Array]:
    """The arrays of an NPZ file."""
    try:
        with Path(path).open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise TilewrightError(f"{path}: one bare array, expected an NPZ file of named inputs")
            with archive:
                arrays = {name: archive[name] for name in archive.files}
    except (
        ValueError, EOFError, SyntaxError, tokenize.TokenError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        if "Object arrays" in str(error):
            raise TilewrightError(f"{path}: holds pickled objects, which are not read; save numbers alone") from None
        raise TilewrightError(f"{path}: not an NPZ file: {error}") from None
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise TilewrightError(f"{path}: {name} is no array; expected an NPZ file as numpy.savez writes it")
        if array.dtype.kind not in NUMBERS:
            raise TilewrightError(f"{path}: array {name} is of {array.dtype}; expected numbers or flags")
    return arrays


def arrays_file(arrays: Mapping[str, Array]) -> bytes:
    """The NPZ file of these arrays, whatever their names: some are words of ``numpy.savez``. Equal arrays give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, value in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(value), allow_pickle=False)
    return buffer.getvalue()
