"""The parameter buffers of a machine: the bytes of a word of each, and the number of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isa.config import MachineConfig

REQUANT_WORD_BYTES = 8
"""The bytes of one channel's requantisation record: a bias and a scale (``isa/requantisation.py``)."""
EXP_WORD_BYTES = 9
"""The bytes of an exponential: 32 bits of denominator, and 40 of numerator (``isa/rows.py``)."""
NORM_RECORD_BYTES = 8
"""The bytes of one channel's factor and offset (``isa/rows.py``)."""


def word_bytes(config: MachineConfig) -> dict[str, int]:
    """The bytes of a word of each buffer, by the names of ``isa.instructions.Buffer``."""
    return {
        "WEIGHT": config.ic_p * config.oc_p,
        "PARAM": config.oc_p * REQUANT_WORD_BYTES,
        "TAPS": config.ic_p,
        "POOL_PARAM": config.ic_p * REQUANT_WORD_BYTES,
        "TABLE": 256,
        "EXP": EXP_WORD_BYTES,
        "NORM": config.ic_p * NORM_RECORD_BYTES,
    }


def depths(config: MachineConfig) -> dict[str, int]:
    """The words of each buffer; 0 for those that are not built."""
    return {
        "WEIGHT": config.weight_depth,
        "PARAM": config.param_depth,
        "TAPS": config.taps_depth,
        "POOL_PARAM": config.pool_param_depth,
        "TABLE": config.tables,
        "EXP": 256 if config.build_rows else 0,
        "NORM": 2 * config.row_words if config.build_rows else 0,
    }
