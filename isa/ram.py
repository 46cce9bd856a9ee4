"""What the memories of a machine are made of."""

from __future__ import annotations

RAM_STYLES = ("auto", "block", "distributed", "ultra")
"""What synthesis chooses, block RAMs, LUTs, UltraRAMs."""
RAM_FIELDS = {
    "fm_ram": "the banks of the feature-map buffer",
    "weight_ram": "the weight buffer",
    "param_ram": "CONV's parameter buffer",
    "taps_ram": "the tap buffer",
    "pool_param_ram": "POOL's parameter buffer",
    "acc_ram": "accumulator entries",
    "queue_ram": "queues of instructions and of their words",
}
"""The fields of a configuration that choose, and for which memories."""


def ram_attributes(style: str) -> dict[str, str]:
    """The attribute of Verilog by which synthesis knows."""
    return {} if style == "auto" else {"ram_style": style}


LUT_WORDS = 64
"""Registered memories of more words are made of blocks unless the configuration says what of: a LUT holds 64 bits on Xilinx'
chips, and blocks that hold fewer words stand nearly empty."""


def made_of(style: str, words: int) -> str:
    """What synthesis is told of a memory with registered reads, so that every tool chooses alike."""
    if style not in ("", "auto"):
        return style
    return "distributed" if words <= LUT_WORDS else "block"
