"""Which bytes of a feature map an ONNX tensor's dimensions run over.

A map lies in memory as batch x height x width x channels. An ONNX dimension is a sequence of *atoms*,
outermost first; an atom is a stretch of one axis of the map: ``size`` steps of ``stride`` elements. So
NCHW, NHWC, flattened and split dimensions are all views of the same bytes, and Transpose and Reshape
change nothing but the layout:

    (1, 12, 5, 5) NCHW                      N | C | H | W
    reshaped to (1, 3, 4, 5, 5)             N | C4x3 | C1x4 | H | W      (channel = 4 c1 + c2)
    transposed by (0, 2, 1, 3, 4)           N | C1x4 | C4x3 | H | W
    reshaped to (1, 12, 5, 5)               N | C1x4 C4x3 | H | W        (a channel shuffle)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

Shape4 = tuple[int, int, int, int]
AXES = "NHWC"


@dataclass(frozen=True)
class Atom:
    axis: str
    stride: int
    size: int


Dim = tuple[Atom, ...]


@dataclass(frozen=True)
class Layout:
    """The atoms of each ONNX dimension; atoms of size 1 are left out."""

    dims: tuple[Dim, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(prod(a.size for a in dim) for dim in self.dims)

    def transposed(self, order: Sequence[int]) -> Layout:
        return Layout(tuple(self.dims[i] for i in order))

    def reshaped(self, shape: Sequence[int]) -> Layout | None:
        """The layout of the same elements in another ONNX shape; ``None`` if an atom cannot be cut so."""
        atoms = [atom for dim in self.dims for atom in dim]
        dims: list[Dim] = []
        for size in shape:
            dim: list[Atom] = []
            while size > 1:
                if not atoms:
                    return None
                atom = atoms.pop(0)
                if size % atom.size == 0:
                    dim.append(atom)
                    size //= atom.size
                elif atom.size % size == 0:
                    inner = atom.size // size
                    dim.append(Atom(atom.axis, atom.stride * inner, size))
                    atoms.insert(0, Atom(atom.axis, atom.stride, inner))
                    size = 1
                else:
                    return None
            dims.append(merged(dim))
        return None if atoms else Layout(tuple(dims))

    def flat(self) -> Dim:
        """All atoms, in the order of ONNX's elements."""
        return merged(atom for dim in self.dims for atom in dim)


def merged(atoms: Iterable[Atom]) -> Dim:
    """The atoms, with neighbours that run over one stretch joined."""
    out: list[Atom] = []
    for atom in atoms:
        if atom.size == 1:
            continue
        last = out[-1] if out else None
        if last and last.axis == atom.axis and last.stride == atom.stride * atom.size:
            out[-1] = Atom(atom.axis, atom.stride, last.size * atom.size)
        else:
            out.append(atom)
    return tuple(out)


def axis(letter: str, size: int) -> Dim:
    """A whole axis."""
    return merged([Atom(letter, 1, size)])


def plain(letters: str, shape: Sequence[int]) -> Layout:
    """The layout where ``letters`` name the axis of each ONNX dimension: "NCHW", "NC", ..."""
    return Layout(tuple(axis(letter, size) for letter, size in zip(letters, shape, strict=True)))


def map_shape(letters: str, shape: Sequence[int]) -> Shape4:
    """The shape of a map that holds an ONNX tensor of that plain layout."""
    sizes = dict(zip(letters, shape, strict=True))
    return sizes.get("N", 1), sizes.get("H", 1), sizes.get("W", 1), sizes.get("C", 1)


def memory_order(shape: Shape4) -> Dim:
    """All atoms of a map, in the order of its bytes."""
    return merged(Atom(letter, 1, size) for letter, size in zip(AXES, shape, strict=True))


def as_bytes(atoms: Iterable[Atom], shape: Shape4) -> Dim:
    """Atoms of any axes as stretches of the map's bytes."""
    weight = {"C": 1, "W": shape[3], "H": shape[3] * shape[2], "N": shape[3] * shape[2] * shape[1]}
    return merged(Atom("", weight[a.axis] * a.stride, a.size) for a in atoms)


def letters_for(rank: int) -> str | None:
    """The plain layout of operators whose channels come second, by rank."""
    return {1: "C", 2: "NC", 3: "NCW", 4: "NCHW"}.get(rank)


def last_letters_for(rank: int) -> str | None:
    """The plain layout of operators whose channels come last, by rank."""
    return {1: "C", 2: "NC", 3: "NWC", 4: "NHWC"}.get(rank)
