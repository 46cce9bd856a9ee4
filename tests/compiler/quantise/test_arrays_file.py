"""NPZ files of arrays whatever they are called."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from compiler.quantise.arrays import arrays_file, read_arrays


def test_names_that_numpy_takes_for_its_own_are_kept(tmp_path: Path) -> None:
    arrays = {name: np.full((2, 3), n, np.int8) for n, name in enumerate(("allow_pickle", "file", "args", "x.npy", "a/b:0"))}
    content = arrays_file(arrays)
    assert content == arrays_file(arrays)
    (tmp_path / "out.npz").write_bytes(content)
    for found in (read_arrays(tmp_path / "out.npz"), np.load(io.BytesIO(content))):
        assert set(found) == set(arrays)
        assert all(np.array_equal(found[name], value) for name, value in arrays.items())
