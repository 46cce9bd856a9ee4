"""Latencies of the machine that its simulators share with its hardware."""

from __future__ import annotations

from isa.config import MachineConfig

OPERAND_LATENCY = 2
"""The cycles from the operands of a cascade's last DSP to the sum, without the sum's own register: operand, product."""
FAST_OPERAND_LATENCY = 3
"""``OPERAND_LATENCY`` of DSPs at twice the clock, in cycles of that clock: operand, the operand whose turn it is, product."""
TREE_RADIX = 4
"""The operands that one register stage of a tree of adders adds."""


BANK_LATENCY = 3
"""The cycles from the grant of a feature-map read to its data: bank's address, bank, bank's output register."""
MISC_ROUNDING = 4
"""The register stages from an exact sum of MISC to a whole number."""
MISC_FINISH = 4
"""The register stages from that whole number to its byte: sum, lower bound, upper bound, table."""
_REQUANTISE = 8
"""The register stages of a requantiser whose multipliers run on the machine's clock."""
RECORD_CYCLES = 2
"""The cycles of LOADW from one record to the next (``hw/move/product_records.py``)."""
_PRODUCT_SETTLE = 5
"""The cycles from the last step of LOADW's weights, or of its sums, to its last record, without the tree of adders."""
SHIFT = 6
"""The register stages of a requantiser whose scales are powers of two."""
ACTIVATE = 3
"""The cycles from an int16 to its byte, the table's own included."""


def requantise_latency(config: MachineConfig) -> int:
    """The cycles from a sum to its int16. At twice the clock the product's operands have a register of their own."""
    return _REQUANTISE + (config.array_clock > 1)


def product_latency(config: MachineConfig) -> int:
    """The cycles from two registers to the product of their numbers. At twice the clock a multiplier serves two lanes."""
    return 1 if config.array_clock == 1 else 3


def post_latency(config: MachineConfig) -> int:
    """The cycles from a finished sum to its byte."""
    return requantise_latency(config) + ACTIVATE


def conv_post_latency(config: MachineConfig) -> int:
    """The cycles from a finished sum of CONV to its byte. CONV's lanes may only shift."""
    return SHIFT + ACTIVATE if config.conv_shifts else post_latency(config)


def pool_by_turns(config: MachineConfig) -> bool:
    """Whether a DSP multiplies both taps of a step, one after the other, and keeps the sum of one pixel's channel."""
    return config.array_clock > 1 and config.pool_taps == 2


def pool_latency(config: MachineConfig) -> int:
    """The cycles from a tap at POOL to the sums.

    Plain: bytes, operands, products, the sum of a step's products if there are several, sums. Packed: bytes, operand and
    product register, one for each DSP of a cascade over the taps, sums. By turns: bytes, bytes and taps, products, sums.
    """
    if pool_by_turns(config):
        return 4
    if not config.dsp_packing:
        return 4 + (config.pool_taps > 1)
    return 2 + OPERAND_LATENCY + config.pool_taps


def misc_factors(config: MachineConfig) -> int:
    """The cycles from a slice of MISC to the first factors of its lanes: by way of ``x y``, or of a tree of two lanes a
    stage."""
    return max(4, 2 + (config.misc_lanes - 1).bit_length())


def misc_latency(config: MachineConfig) -> int:
    """The cycles from a slice of MISC to its bytes: factors, products, sum, constant, rounding, finish."""
    return misc_factors(config) + product_latency(config) + 2 + MISC_ROUNDING + MISC_FINISH


def misc_room(config: MachineConfig) -> int:
    """The words that may be between the first slice of MISC and its write port. They are so many that no word waits for the
    room of another: beside arithmetic and finish they cover slice, word, two of the queue, what is given back, room and
    beginning."""
    return -(-(misc_latency(config) + 7 + config.misc_parts - 1) // config.misc_parts) + 1


def array_latency(config: MachineConfig) -> int:
    """The cycles from the array's operands to its sums.

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


def raster_rounds(lanes: int) -> int:
    """The cycles that a raster takes to double its multiples of a step until it has as many as ``lanes``. It begins with the
    step and twice the step."""
    return max(0, (lanes - 1).bit_length() - 1)


def cascade_start(config: MachineConfig) -> int:
    """The cycles of twice the clock by which a cascade begins later, so that its first sum comes in the first half of a
    cycle."""
    return (FAST_OPERAND_LATENCY + config.cascade_length) % 2


def tree_stages(terms: int) -> int:
    """The register stages of a tree of adders over ``terms`` operands."""
    stages = 0
    while terms > 1:
        terms = -(-terms // TREE_RADIX)
        stages += 1
    return stages


def product_settle(config: MachineConfig) -> int:
    """The cycles from the last step of LOADW to the end of its last record."""
    return _PRODUCT_SETTLE + tree_stages(config.ic_p)


def conv_drain(config: MachineConfig, result_bytes: int = 1) -> int:
    """The least cycles from one of CONV's reductions to the next, in which its results are finished and written."""
    return config.px_p // config.conv_ports * max(config.conv_parts, config.words_per_chunk * result_bytes)
