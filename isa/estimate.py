"""Estimates how large a machine will be from its configuration alone, by a formula whose coefficients are fitted to synthesised
machines.

Every kind of resource is a sum of parts that grow with one number of the configuration each, and of the sizes of options
(``isa/options_size.py``). The coefficients, with what was measured and the formula's error for a machine that it has not seen,
come from ``python -m bench.size_model --fit``.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from isa.blocks import blocks
from isa.chips import chip_of, memory_of
from isa.config import MachineConfig
from isa.latency import pool_by_turns
from isa.options_size import options_size

COEFFICIENTS = Path(__file__).with_name("size_coefficients.json")
BLOCK_BITS = 36 * 1024
SHIFT_LANE = 0.69
"""The LUTs of a finishing lane that only shifts and its activation, as a share of those of a whole lane."""


@dataclass(frozen=True)
class Estimate:
    """The estimate of one kind of resource."""

    kind: str
    number: float
    error: float
    """The greatest relative error that was met when each machine was left out in turn."""


def parts(config: MachineConfig) -> dict[str, float]:
    """The numbers that sizes grow with."""
    pool_lanes = config.ic_p * _pool_taps(config) if config.build_pool else 0
    pool_finish = config.pool_finish if config.build_pool else 0
    conv_finish = config.conv_finish * (SHIFT_LANE if config.conv_shifts else 1)
    finish = max(conv_finish, pool_finish) if config.shares_finish else conv_finish + pool_finish
    return {
        "machine": 1,
        "products": _products(config),
        "multipliers": _multipliers(config),
        "sums": 0 if config.dsp_adders else config.oc_p * config.px_p,
        "sums in blocks": config.oc_p * config.px_p if config.acc_ram == "block" else 0,
        "finishing lanes": finish,
        "pool": config.build_pool,
        "pool lanes": pool_lanes * config.px_p,
        "misc": config.build_misc,
        "misc lanes": config.misc_lanes if config.build_misc else 0,
        "crossbar bytes": config.fm_banks * config.ic_p * config.px_p,
        "bus bytes": config.axi_bytes,
        "buffer blocks": _block_bytes(config) * 8 / BLOCK_BITS,
    }


def _products(config: MachineConfig) -> float:
    """The multipliers of the array."""
    products = config.macs_per_cycle - config.joined_outputs * config.ic_p * config.px_p
    return products / (2 if config.dsp_packing else 1) / config.array_clock


def _multipliers(config: MachineConfig) -> float:
    """All multipliers: array, zero-point of the weights, POOL's taps, finishing lanes (a wide product), MISC, adders."""
    found = _products(config) + (config.px_p if config.dsp_packing else 1)
    by_turns = config.array_clock > 1
    wide, narrow = (1, 0.5) if by_turns else (2, 1)
    lanes = [max(config.conv_finish, config.pool_finish) if config.shares_finish else config.conv_finish]
    if config.build_pool:
        shared = config.dsp_packing and not pool_by_turns(config)
        found += config.ic_p * _pool_taps(config) * (-(-config.px_p // 2) if shared else config.px_p)
        lanes += [] if config.shares_finish else [config.pool_finish]
    found += wide * sum(lanes)
    found -= wide * config.conv_finish if config.conv_shifts else 0
    if config.dsp_adders:
        found += config.oc_p * config.px_p + config.conv_finish + sum(lanes)
    return found + (config.misc_lanes + ceil(narrow * config.misc_lanes) if config.build_misc else 0)


def _pool_taps(config: MachineConfig) -> int:
    """The taps that POOL multiplies side by side."""
    return 1 if pool_by_turns(config) else config.pool_taps


def _block_bytes(config: MachineConfig) -> int:
    """The bytes on chip that are not in UltraRAMs, without those of ROW."""
    weights = config.weight_depth * config.buffer_word_bytes("WEIGHT")
    of_rows = sum(config.buffer_word_bytes(name) * config.buffer_depth(name) for name in ("EXP", "NORM"))
    return config.on_chip_bytes - of_rows - (weights if config.weight_ram == "ultra" else 0)


@functools.cache
def coefficients() -> dict[str, Any]:
    """The coefficients of the parts, and the error, by family and kind of resource."""
    found: dict[str, Any] = json.loads(COEFFICIENTS.read_text(encoding="utf-8"))
    return found


def estimate(config: MachineConfig, family: str) -> list[Estimate]:
    """The estimate of every kind of resource. UltraRAMs are counted. It is empty for a family that was never measured."""
    have, more = parts(config), options_size(config, family)
    chip = chip_of(config.chip)
    ultra = sum(each.number for each in blocks(config) if each.kind == "URAM")
    fitted_kinds = coefficients().get(family, {}).get("kinds", {})
    found = [
        Estimate(kind, more[kind] + sum(weight * have[part] for part, weight in fitted["weights"].items()), fitted["error"])
        for kind, fitted in fitted_kinds.items()
    ]
    return [*found, Estimate("URAM", ultra, 0.0)] if found and ultra and chip and chip.family == family else found


def beyond_chip(config: MachineConfig) -> str:
    """A sentence about the resources that the chip of a configuration probably lacks; empty if it names none or all is well."""
    chip = chip_of(config.chip)
    if chip is None:
        return ""
    cores = f"{config.chip_cores} x " if config.chip_cores > 1 else ""
    lacking = [
        f"{cores}{found.number:,.0f} {found.kind} (within {found.error:.0%}) of {chip.capacity.get(found.kind, 0):,}"
        for found in estimate(config, chip.family)
        if found.number * config.chip_cores > chip.capacity.get(found.kind, 0)
    ]
    if not lacking:
        return ""
    return f"{config.name} is probably beyond its chip {chip.name}: {', '.join(lacking)}; see tilewright size"


def beyond_memory(config: MachineConfig) -> str:
    """A sentence about what the DRAM of a configuration's chip cannot give; empty if it is not known or all is well."""
    memory = memory_of(config.chip)
    if memory is None:
        return ""
    if config.axi_port_bits > memory.bits:
        return (
            f"{config.name} has a port of {config.axi_port_bits} bits, {config.chip} ports of {memory.bits} to its DRAM: "
            f"what is wider waits; see axi_ports"
        )
    asked = config.axi_bytes * config.clock_mhz * config.chip_cores / 1000
    if asked <= memory.gigabytes:
        return ""
    return (
        f"{config.name} can take {asked:.1f} GB/s of DRAM (axi_data_bits, clock_mhz, chip_cores), {config.chip} has "
        f"{memory.gigabytes} at most: it will wait more than estimated"
    )
