"""Feature maps, which operations read and make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantisation:
    """Real value = scale * (stored int8 - zero_point)."""

    scale: float
    zero_point: int


@dataclass(frozen=True)
class Tensor:
    """An int8 feature map, batch x height x width x channels.

    With ``flip`` the tensor is uint8 outside of the machine: its top bit is toggled on the way in and out. On chip and in this
    graph it is int8 throughout, and its zero-point is 128 lower.
    """

    name: str
    shape: tuple[int, int, int, int]
    quantisation: Quantisation
    flip: bool = False

    @property
    def batch(self) -> int:
        return self.shape[0]

    @property
    def height(self) -> int:
        return self.shape[1]

    @property
    def width(self) -> int:
        return self.shape[2]

    @property
    def channels(self) -> int:
        return self.shape[3]

    @property
    def pixel_bytes(self) -> int:
        """The bytes of a pixel; an element takes one."""
        return self.channels

    @property
    def row_bytes(self) -> int:
        return self.width * self.pixel_bytes

    @property
    def bytes(self) -> int:
        return self.batch * self.height * self.row_bytes
