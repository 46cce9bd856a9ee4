"""Tells where each input lane works in the array's cascades, and so in which cycle."""

from __future__ import annotations

from collections.abc import Sequence

from isa.config import MachineConfig
from isa.latency import cascade_start


class Skew:
    """The places of input lanes in cascades of at most ``PACKED_TERMS`` DSPs. Neighbouring lanes work at the same position of
    neighbouring cascades.

    ::

        16 lanes:   position        0    1    2   ...   7
                    cascade 0      x0   x2   x4   ...  x14
                    cascade 1      x1   x3   x5   ...  x15

    All cascades end at the last position. Where lanes do not fill them, the first cascades begin one position later. A lane at
    position ``n`` works ``n`` cycles of its clock after the first. Weight words hold the weights of an input lane together
    (byte ``i * oc_p + o``), so a column of the weight memory, one AXI beat wide, belongs to few positions. It is read as late
    as the first of them needs it, and a register or two delay the bytes of the others.

    At twice the clock the delays are half as long: every second position works from the second half of a cycle to the first of
    the next (``late``). Without ``dsp_packing`` there is no cascade, and nothing is skewed.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self._missing = config.cascade_length * config.cascades - config.ic_p

    def position(self, lane: int) -> int:
        return (lane + self._missing) // self.config.cascades

    def delay(self, lane: int) -> int:
        """The whole cycles by which the lane works later than the first lanes could."""
        return self._start(lane) // self.config.array_clock

    def late(self, lane: int) -> bool:
        """True if the lane works half a cycle later still."""
        return self._start(lane) % self.config.array_clock > 0

    def _start(self, lane: int) -> int:
        return self.position(lane) + (cascade_start(self.config) if self.config.array_clock > 1 else 0)

    def lanes(self, cascade: int) -> Sequence[int]:
        """The input lanes of a cascade, in the order of its DSPs."""
        return [i for i in range(self.config.ic_p) if (i + self._missing) % self.config.cascades == cascade]

    @property
    def columns(self) -> tuple[int, ...]:
        """The cycles by which each column of the weight memory is read later than the first."""
        c = self.config
        firsts = range(0, c.ic_p * c.oc_p, c.axi_bytes)
        return tuple(self.delay(byte // c.oc_p) for byte in firsts)

    def left_over(self, lane: int, output: int) -> int:
        """The cycles by which the weight must still be delayed when it comes out of the memory."""
        return self.delay(lane) - self.columns[(lane * self.config.oc_p + output) // self.config.axi_bytes]
