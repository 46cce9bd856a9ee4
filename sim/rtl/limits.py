"""Benches on the limits of DRAM regions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import Buffer, Region
from sim.rtl.scenario import Scenario, whole

MEMORY_BYTES = 1 << 16
BASES = {Region.CONST: 0, Region.WORK: 0x4000, Region.INPUT: 0x8000, Region.OUTPUT: 0xC000}
PIXELS = 8


def moves(config: MachineConfig) -> Iterator[tuple[str, Op, int]]:
    """Yields moves of every kind, and the bytes of their region that they need."""
    size = config.ic_p
    row = {"pixels": PIXELS, "run": size, "step": size, "rows": 1, "offset": 17}
    apart = {**row, "step": size + 3}
    load, save = {"region": Region.INPUT, "d_xs": 1, "d_ys": PIXELS}, {"region": Region.OUTPUT, "s_xs": 1, "s_ys": PIXELS}
    length = PIXELS * size
    stride = length + 5
    yield "rows", Op("LOAD", {**load, **row, "rows": 3, "row_stride": stride, "valid": length}), 17 + 2 * stride + length
    backwards = {**row, "offset": 99, "rows": 3, "row_stride": (1 << 32) - 33}
    yield "rows backwards", Op("LOAD", {**load, **backwards, "valid": length}), 99 + length
    yield "gathered", Op("LOAD", {**load, **apart, "valid": 1}), 17 + (PIXELS - 1) * (size + 3) + size
    yield "surplus bytes", Op("LOAD", {**load, **row, "valid": length + 40}), 17 + length + 40
    offset = 2 * config.axi_bytes
    words = {"buffer": Buffer.WEIGHT, "count": 3, "region": Region.WORK, "offset": offset}
    yield "parameters", Op("LOADP", words), offset + 3 * config.buffer_dram_bytes("WEIGHT")
    if config.build_products:
        made = {"pixels": PIXELS, "run": size, "step": size, "offset": 17, "region": Region.WORK, "turned": 1}
        yield "weights of a map", Op("LOADW", {**made, "valid": length}), 17 + length
        yield "weights gathered", Op("LOADW", {**made, "step": size + 3, "valid": 1}), 17 + (PIXELS - 1) * (size + 3) + size
    yield "saved", Op("SAVE", {**save, **row}), 17 + length
    yield "saved apart", Op("SAVE", {**save, **apart}), 17 + (PIXELS - 1) * (size + 3) + size


def region_limits(config: MachineConfig) -> Iterator[Scenario]:
    """Every kind of move fits a region of exactly its size, and is refused by one that has a byte less."""
    kinds = list(moves(config))
    for first in range(0, len(kinds), 4):
        scenario = Scenario(config, np.random.default_rng(3).integers(0, 256, MEMORY_BYTES, np.uint8), BASES)
        for _, op, size in kinds[first : first + 4]:
            region = Region(op["region"])
            scenario.start(whole(config, op), limits={region: size})
            scenario.start(whole(config, op), limits={region: size - 1})
        fill = Op("LOAD", {"rows": 1, "pixels": 2, "run": 1, "step": 1})
        scenario.start(whole(config, fill), limits=dict.fromkeys(Region, 0))
        yield scenario
