"""Graphs in files: the text of each, and beside the texts one NPZ file of the constants that they name."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from compiler.quantise.arrays import read_arrays
from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.parser import parse_graph
from compiler.xgraph.printer import Constant, Printed
from compiler.xgraph.verify import verify

CONSTANTS = "constants.npz"
"""The file of constants in the folder of the texts; equal constants are stored once."""


def constants_file(constants: Mapping[str, Constant]) -> bytes:
    """A file of constants by their digests. Serialised models are stored as arrays of their bytes."""
    made = io.BytesIO()
    arrays = {name: np.array(bytearray(c), np.uint8) if isinstance(c, bytes) else c for name, c in constants.items()}
    np.savez(made, allow_pickle=False, **arrays)
    return made.getvalue()


def read_graph(path: Path | str) -> XGraph:
    """A graph that ``tilewright compile --dump`` wrote, verified."""
    path = Path(path)
    beside = path.parent / CONSTANTS
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise GraphError(f"{path} cannot be read: {error.strerror}; expected a graph that compile --dump wrote") from None
    except UnicodeDecodeError:
        raise GraphError(f"{path}: not text; expected a graph that compile --dump wrote") from None
    there = beside.is_file()
    origin = str(beside) if there else f"{beside}, which is missing"
    graph = parse_graph(Printed(text, read_arrays(beside) if there else {}), str(path), origin)
    try:
        return verify(graph)
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None
