"""The boards that block designs are written for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isa.chips import CHIPS
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.estimate import beyond_chip
from isa.names import nearest


@dataclass(frozen=True)
class Board:
    """A board with a Zynq-7000 or a Zynq UltraScale+."""

    name: str
    chip: str
    """The chip's name in configurations (``isa.chips``)."""
    part: str
    """The part's name in Vivado."""
    board: str
    """The pattern of the names of its board files, of which the newest is taken."""

    @property
    def family(self) -> str:
        """The family of its chip, which decides its processing system: ``xc7`` or ``xcup``."""
        return CHIPS[self.chip].family


BOARDS = (
    Board("zcu102", "XCZU9EG", "xczu9eg-ffvb1156-2-e", "xilinx.com:zcu102:*"),
    Board("kv260", "XCK26", "xck26-sfvc784-2LV-c", "xilinx.com:kv260_som:*"),
    Board("zcu104", "XCZU7EV", "xczu7ev-ffvc1156-2-e", "xilinx.com:zcu104:*"),
    Board("ultra96", "XCZU3EG", "xczu3eg-sbva484-1-i", "avnet.com:ultra96v2:*"),
    Board("pynq-z2", "XC7Z020", "xc7z020clg400-1", "tul.com.tw:pynq-z2:*"),
    Board("arty-z7-20", "XC7Z020", "xc7z020clg400-1", "digilentinc.com:arty-z7-20:*"),
    Board("arty-z7-10", "XC7Z010", "xc7z010clg400-1", "digilentinc.com:arty-z7-10:*"),
)
DEFAULT_BOARDS = tuple(board for board in BOARDS if board.name in ("zcu102", "kv260"))
"""The boards of a package for a chip that no board has."""


def boards_for(config: MachineConfig) -> tuple[Board, ...]:
    """The boards with the chip that the configuration is for, or the default ones if there are none."""
    return tuple(board for board in BOARDS if board.chip == config.chip) or DEFAULT_BOARDS


def board_named(name: str, config: MachineConfig) -> Board:
    """The board of that name. Raises an error if there is none, or if the configuration is not for its chip."""
    found = next((board for board in BOARDS if board.name == name), None)
    if found is None:
        known = [board.name for board in BOARDS]
        raise TilewrightError(f"board {name!r}: unknown{nearest(name, known)}; known are {', '.join(known)}")
    if config.chip != found.chip:
        meant = f"for {config.chip}" if config.chip else "for no chip"
        raise TilewrightError(
            f"board {name}: its chip is {found.chip}, configuration {config.name} is {meant}; give one that names {found.chip}"
        )
    return found


def too_small(config: MachineConfig, boards: Sequence[Board], cores: int = 1) -> Iterator[str]:
    """A sentence for each board whose chip is too small for ``cores`` machines by the estimate of sizes."""
    for board in boards:
        there = dataclasses.replace(config, chip=board.chip, chip_cores=cores)
        if beyond := beyond_chip(there):
            yield f"board {board.name}: {beyond}"
