"""Constraints on operators that move data."""

from __future__ import annotations

from compiler.frontend.constraints.base import constrains
from compiler.frontend.importer.layout import Layout
from compiler.frontend.model import Array

MOST_PIECES = 64


@constrains("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape_regular(layout: Layout | None) -> bool:
    """Each new dimension is a run of whole factors of the old ones."""
    return layout is not None


@constrains("Slice", "Pad")
def indices_constant(value: Array | None) -> bool:
    """Indices, sizes and pads are constants."""
    return value is not None


@constrains("Slice")
def forward(step: int) -> bool:
    """Steps are positive."""
    return step > 0


@constrains("Concat", "QLinearConcat")
def joins_tensors(parts: int) -> bool:
    """All parts are quantised, constants to int8 or uint8 with one scale."""
    return parts > 0


@constrains("Concat", "QLinearConcat")
def joined_axis(letter: str) -> bool:
    """Parts are joined along channels, height or width, not along the batch."""
    return letter in ("C", "H", "W")


@constrains("Pad")
def pad_representable(exact: bool) -> bool:
    """The padding value is one of the 256 quantised values, or the result is quantised next and to the same scale."""
    return exact


@constrains("Pad")
def pads_space_or_channels(letters: set[str]) -> bool:
    """Padding is added to height, width and channels, not to the batch."""
    return letters <= {"H", "W", "C"}


@constrains("DepthToSpace", "SpaceToDepth")
def four_dimensions(rank: int) -> bool:
    """The tensor has four dimensions, channels second."""
    return rank == 4


@constrains("Resize", "Upsample")
def scales_known() -> bool:
    """Sizes are known, height and width alone change, and the mode is nearest or linear."""
    return False


@constrains("Resize", "Upsample")
def sides_apart() -> bool:
    """What becomes of rows does not depend on columns, and no pixel of the result lies beyond the map."""
    return False


@constrains("Resize", "Upsample", "Pad")
def few_pieces(count: int) -> bool:
    """Rows, or columns, that are taken or repeated unevenly lie in at most 64 evenly rising stretches."""
    return count <= MOST_PIECES


@constrains("Resize", "Upsample")
def linear_regular() -> bool:
    """Linear: the factor is whole, and weighs the pixels around each result alike, in steps that int8 can tell apart."""
    return False


@constrains("Resize", "Upsample")
def linear_quantised_after() -> bool:
    """Linear: the result is float, and quantised next."""
    return False
