"""Latencies of the machine that its simulators share with its hardware."""

from __future__ import annotations

from isa.config import MachineConfig

OPERAND_LATENCY = 2
"""Cycles from the operands of a cascade's last DSP to the sum, without the sum's own register: operand, product."""
FAST_OPERAND_LATENCY = 3
"""The same at twice the clock, in cycles of that: operand, the operand whose turn it is, product."""
TREE_RADIX = 4
"""Operands that one register stage of a tree of adders adds."""


_REQUANTISE = 8
"""Register stages of a requantiser whose multipliers run on the machine's clock."""
_ACTIVATE = 4
"""Those of an activation, the table's own included."""


def requantise_latency(config: MachineConfig) -> int:
    """Cycles from a sum to its int16. At twice the clock the product's operands have a register of their own."""
    return _REQUANTISE + (config.array_clock > 1)


def leaky_latency(config: MachineConfig) -> int:
    """Cycles from an int16 to its product with ``alpha``: a register, or a multiplier at twice the clock."""
    return 1 if config.array_clock == 1 else 3


def activate_latency(config: MachineConfig) -> int:
    """Cycles from an int16 to its byte."""
    return _ACTIVATE - 1 + leaky_latency(config)


def post_latency(config: MachineConfig) -> int:
    """Cycles from a sum that is finished to its byte."""
    return requantise_latency(config) + activate_latency(config)


def array_latency(config: MachineConfig) -> int:
    """Cycles from the array's operands to its sums.

    Plain: operand register, product register, one for each stage of the tree over the lanes. Packed: operand and product
    register, one for each DSP of a cascade, and the stages of the tree over the cascades. With ``array_clock`` 2 the cascade
    takes half as long, between a register for the operands and one for its sums.
    """
    if not config.dsp_packing:
        return 2 + tree_stages(config.ic_p)
    tree = tree_stages(config.cascades)
    if config.array_clock == 1:
        return OPERAND_LATENCY + config.cascade_length + tree
    return 2 + (cascade_start(config) + FAST_OPERAND_LATENCY + config.cascade_length) // 2 + tree


def cascade_start(config: MachineConfig) -> int:
    """Cycles of twice the clock by which a cascade begins later, so that its first sum comes in the first half of a cycle."""
    return (FAST_OPERAND_LATENCY + config.cascade_length) % 2


def tree_stages(terms: int) -> int:
    """Register stages of a tree of adders over so many operands."""
    stages = 0
    while terms > 1:
        terms = -(-terms // TREE_RADIX)
        stages += 1
    return stages
