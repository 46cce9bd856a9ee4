"""What an emitted program asks DRAM for, field by field."""

from __future__ import annotations

from compiler.emit.program import Emitted
from isa.codec import decode
from isa.config import MachineConfig
from isa.instructions import Buffer


def moved(config: MachineConfig, emitted: Emitted) -> int:
    total, at = 0, 0
    while at < len(emitted.words):
        op, at = decode(emitted.words, at)
        if op.name == "LOADP":
            total += op["count"] * config.buffer_dram_bytes(Buffer(op["buffer"]).name)
        elif op.name == "LOADW":
            total += op["pixels"] * op["run"]
        elif op.name == "LOAD":
            total += op["rows"] * (op["pixels"] * op["run"] if op["step"] > op["run"] else op["valid"])
        elif op.name == "SAVE":
            total += op["rows"] * op["pixels"] * op["run"]
    return total
