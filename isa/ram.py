"""The kinds of memory that a machine is made of."""

from __future__ import annotations

RAM_STYLES = ("auto", "block", "distributed", "ultra")
"""The styles of memories: what synthesis chooses, block RAMs, LUTs, UltraRAMs."""
RAM_FIELDS = {
    "fm_ram": "the banks of the feature-map buffer",
    "weight_ram": "the weight buffer",
    "param_ram": "CONV's parameter buffer",
    "taps_ram": "the tap buffer",
    "pool_param_ram": "POOL's parameter buffer",
    "acc_ram": "accumulator entries",
    "queue_ram": "queues of instructions and of their words",
}
"""The fields of a configuration that choose a style, and the memories that each is for."""


def ram_attributes(style: str) -> dict[str, str]:
    """The attribute of Verilog that tells synthesis the style."""
    return {} if style == "auto" else {"ram_style": style}


LUT_WORDS = 64
"""The most words of a registered memory that is made of LUTs, unless the configuration says otherwise. A LUT holds 64 bits on
Xilinx' chips, and blocks with fewer words stand nearly empty."""


def made_of(style: str, words: int) -> str:
    """The style that synthesis is told for a memory with registered reads, so that every tool chooses alike."""
    if style not in ("", "auto"):
        return style
    return "distributed" if words <= LUT_WORDS else "block"
