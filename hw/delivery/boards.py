"""The boards that block designs are written for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from isa.config import MachineConfig
from isa.estimate import beyond_chip


@dataclass(frozen=True)
class Board:
    """A board with a Zynq UltraScale+."""

    name: str
    chip: str
    """As configurations name it (``isa.chips``)."""
    part: str
    """As Vivado names it."""
    board: str
    """Pattern of the names of its board files, the newest of which is taken."""


BOARDS = (
    Board("zcu102", "XCZU9EG", "xczu9eg-ffvb1156-2-e", "xilinx.com:zcu102:*"),
    Board("kv260", "XCK26", "xck26-sfvc784-2LV-c", "xilinx.com:kv260_som:*"),
)


def too_small(config: MachineConfig) -> Iterator[str]:
    """A sentence for each board whose chip lacks something, from the estimate of sizes."""
    for board in BOARDS:
        there = dataclasses.replace(config, chip=board.chip, chip_cores=1)
        if beyond := beyond_chip(there):
            yield f"board {board.name}: {beyond}"
