"""The parameter buffers of a machine: what a word of each holds, and how many words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isa.config import MachineConfig

REQUANT_WORD_BYTES = 8
"""Bytes of one channel's requantisation record: a bias and a scale (``isa/requantisation.py``)."""
EXP_WORD_BYTES = 9
"""Bytes of an exponential: 32 bits of denominator, and of numerator 40 (``isa/rows.py``)."""
NORM_RECORD_BYTES = 8
"""Bytes of one channel's factor and offset (``isa/rows.py``)."""


def word_bytes(config: MachineConfig) -> dict[str, int]:
    """Bytes that a word of each buffer holds, by the names of ``isa.instructions.Buffer``."""
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
    """Words of each buffer; 0 of those that are not built."""
    return {
        "WEIGHT": config.weight_depth,
        "PARAM": config.param_depth,
        "TAPS": config.taps_depth,
        "POOL_PARAM": config.pool_param_depth,
        "TABLE": config.tables,
        "EXP": 256 if config.build_rows else 0,
        "NORM": 2 * config.row_words if config.build_rows else 0,
    }
