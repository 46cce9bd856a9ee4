"""Random legal configurations, small ones more often, so that compilers and machines are tried beyond the presets."""

from __future__ import annotations

import random
from typing import Any

from isa.bounds import BOUNDS, ConfigError
from isa.checks import MAX_ROW, divisors
from isa.chips import CHIPS
from isa.config import REQUANT, MachineConfig, config_from_dict
from isa.ram import RAM_FIELDS, RAM_STYLES

LEAST_LANES, MOST_LANES = 5, 24
NARROW = 0.25
"""The share of machines that have fewer lanes than ``LEAST_LANES``, down to one."""
_FREE = ("axi_addr_bits", "axi_read_ahead", "dram_latency", "axi_prot", "axi_cache", "axi_qos", "clock_mhz")
"""The numbers that may be anything within their bounds."""
TWO_PORTS = 0.3
"""The share of wide enough buses that have two ports."""


def random_config(seed: int) -> MachineConfig:
    """A configuration with any lane counts, buffers up to those of a small board, every bus, with or without POOL, MISC and
    ROW."""
    rng = random.Random(seed)
    while True:
        try:
            drawn = _drawn(rng, f"random{seed}")
            drawn |= _rows(drawn) | _products(drawn) | _act16(drawn)
            return config_from_dict(drawn, origin=f"seed {seed}")
        except ConfigError:
            continue  # finishing lanes, phases and packing ask something of each other


def any_config(seed: int) -> MachineConfig:
    """A configuration that is random in every field: also very few lanes, all of AXI, what memories are made of, and the
    chip."""
    rng = random.Random(f"every field {seed}")
    while True:
        drawn = _drawn(rng, f"random{seed}") | _of_no_size(rng)
        if rng.random() < NARROW:
            ic_p, oc_p, px_p = rng.randint(1, LEAST_LANES), rng.randint(1, LEAST_LANES), rng.choice((1, 1, 2, 3, 5, 8))
            drawn |= {
                "ic_p": ic_p, "oc_p": oc_p, "px_p": px_p, "conv_finish": rng.choice(divisors(px_p * oc_p)),
                "pool_finish": rng.choice(divisors(ic_p)), "misc_lanes": rng.choice(divisors(ic_p)),
            }  # fmt: skip
        drawn |= _rows(drawn) | _products(drawn) | _act16(drawn)
        try:
            return config_from_dict(drawn, origin=f"seed {seed}")
        except ConfigError:
            continue


def _of_no_size(rng: random.Random) -> dict[str, Any]:
    bounded = {name: rng.randint(bound.low, bound.high) for name, bound in BOUNDS.items() if name in _FREE}
    return {
        **bounded, **{field: rng.choice(RAM_STYLES) for field in RAM_FIELDS}, "chip": rng.choice(["", *CHIPS]),
        "chip_cores": rng.randint(1, 2),
    }  # fmt: skip


def _drawn(rng: random.Random, name: str) -> dict[str, Any]:
    ic_p, oc_p, px_p = rng.randint(LEAST_LANES, MOST_LANES), rng.randint(LEAST_LANES, MOST_LANES), rng.choice((1, 1, 2, 3, 4))
    drawn: dict[str, Any] = {
        "base": "nano", "name": name, "ic_p": ic_p, "oc_p": oc_p, "px_p": px_p,
        "conv_finish": rng.choice(divisors(px_p * oc_p)), "pool_finish": rng.choice(divisors(ic_p)),
        "pool_taps": rng.randint(1, 4), "misc_lanes": rng.choice(divisors(ic_p)),
        "fm_banks": rng.choice((1, 2, 4, 6, 8, 12, 16)), "fm_depth": 1 << rng.randint(6, 11),
        "weight_depth": _between(rng, 64, 2048), "param_depth": _between(rng, 2, 512), "taps_depth": _between(rng, 2, 1024),
        "pool_param_depth": _between(rng, 2, 512), "acc_depth": _between(rng, 2, 1024), "tables": rng.randint(1, 4),
        "window_bytes": _between(rng, 16, 256), "axi_data_bits": 32 << rng.randint(0, 4), "axi_reads": _between(rng, 1, 64),
        "axi_burst_beats": 1 << rng.randint(0, 8), "queue_words": _between(rng, 32, 256),
        "build_pool": rng.random() < 0.75, "build_misc": rng.random() < 0.75, "dsp_packing": rng.random() < 0.5,
    }  # fmt: skip
    by_turns = drawn["dsp_packing"] and oc_p % (4 if px_p % 2 else 2) == 0
    drawn |= {"array_clock": rng.randint(1, 2) if by_turns else 1}
    drawn |= {"shared_finish": rng.random() < 0.5, "narrow_pairs": rng.choice((0, 0, 1, 32))}
    drawn |= {"requant": rng.choice(REQUANT), "dsp_adders": rng.random() < 0.5}
    two = drawn["axi_data_bits"] >= 64 and drawn["axi_burst_beats"] >= 2 and random.Random(f"ports {name}").random() < TWO_PORTS
    return drawn | {"axi_ports": 1 + two}


def _rows(drawn: dict[str, Any]) -> dict[str, Any]:
    """The fields of ROW. They are drawn apart, so that machines without ROW stay as they were."""
    rng, lanes = random.Random(f"rows {drawn['name']}"), drawn["ic_p"]
    built, words = rng.random() < 0.3, _between(rng, 1, min(256, MAX_ROW // lanes))
    return {"build_rows": built, "row_lanes": rng.choice(divisors(lanes)), "row_words": words}


def _products(drawn: dict[str, Any]) -> dict[str, Any]:
    """The field of LOADW, drawn apart as well, for machines that can have it."""
    divides = drawn["ic_p"] % drawn["oc_p"] == 0
    return {"build_products": divides and random.Random(f"products {drawn['name']}").random() < 0.5}


def _act16(drawn: dict[str, Any]) -> dict[str, Any]:
    """The field of 16-bit activations, drawn apart as well, for machines whose finishing lanes multiply."""
    multiplies = drawn["requant"] != "shift"
    return {"act16": multiplies and random.Random(f"act16 {drawn['name']}").random() < 0.3}


def _between(rng: random.Random, low: int, high: int) -> int:
    """A random number between two, small ones as often as large ones."""
    return min(high, int(low * (high / low) ** rng.random()))
