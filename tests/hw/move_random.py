"""Random legal moves over a small memory."""

from __future__ import annotations

import random

from isa.capabilities import built_buffers
from isa.codec import Op, broken_rule
from isa.config import MachineConfig
from isa.instructions import Buffer


def random_load(chance: random.Random, config: MachineConfig) -> Op:
    """Dense rows, overlapping windows or pixels apart; with and without lead, fill and surplus bytes."""
    shape = chance.choice(["dense", "dense", "window", "apart"])
    rows, pixels = chance.randint(1, 4), chance.randint(1, 9)
    run = chance.choice([chance.randint(1, 3 * config.ic_p), config.ic_p, 2 * config.ic_p])
    step = run
    if shape == "window":
        run = min(run, config.window_bytes)
        step = chance.randrange(run)
    elif shape == "apart":
        step = run + chance.randint(1, 40)
    total = (pixels - 1) * step + run
    lead = 0 if shape == "apart" else chance.choice([0, 0, chance.randint(1, min(total + 5, 60))])
    exact = max(0, total - lead)
    vectors = -(-run // config.ic_p)
    op = Op("LOAD", {
        "offset": chance.randint(0, 500), "region": chance.randrange(2), "flip": chance.randrange(2),
        "rows": rows, "pixels": pixels, "fill": chance.randint(-128, 127),
        "row_stride": chance.choice([total, chance.randint(0, 1500), 4096]), "step": step, "run": run,
        "lead": lead, "valid": chance.choice([0, exact, exact, chance.randint(1, total + 40)]),
        "d_addr": chance.randint(0, 1000), "d_xs": vectors, "d_cs": 1, "d_ys": vectors * pixels + chance.randint(0, 3),
    })  # fmt: skip
    assert broken_rule(op, config) is None
    return op


def random_loadp(chance: random.Random, config: MachineConfig) -> Op:
    buffer = chance.choice(built_buffers(config))
    depth = config.buffer_depth(buffer.name)
    count = min(chance.randint(1, 4), depth)
    return Op("LOADP", {
        "offset": config.axi_bytes * chance.randint(0, 50), "region": chance.randrange(3),
        "buffer": buffer, "dst": chance.randint(0, depth - count), "count": count,
        "int4": int(buffer is Buffer.WEIGHT and chance.random() < 0.5),
    })  # fmt: skip


def random_saves(chance: random.Random, config: MachineConfig, count: int) -> list[Op]:
    """Saves that write different bytes, dense or with pixels and rows apart."""
    ops = []
    at = 0
    for _ in range(count):
        rows, pixels = chance.randint(1, 4), chance.randint(1, 9)
        run = chance.choice([chance.randint(1, 3 * config.ic_p), config.ic_p, 2 * config.ic_p])
        step = run + chance.choice([0, 0, chance.randint(1, 40)])
        row_stride = (pixels - 1) * step + run + chance.choice([0, chance.randint(0, 100)])
        ops.append(Op("SAVE", {
            "offset": at + chance.randint(0, 60), "flip": chance.randrange(2), "rows": rows, "pixels": pixels,
            "row_stride": row_stride, "step": step, "run": run, "s_addr": chance.randint(0, 1000),
            "s_xs": chance.randint(0, 5), "s_cs": chance.randint(0, 9), "s_ys": chance.randint(0, 30),
        }))  # fmt: skip
        at += 60 + row_stride * rows
    return ops
