"""Random programs with one illegal instruction, to test where and why the machine stops."""

from __future__ import annotations

import random
from dataclasses import replace

from isa.codec import Op, encode
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import HEADER
from sim.random.engines import Outcome, functional
from sim.random.program import RandomProgram, assemble, random_program

ADDRESS_FAULTS = frozenset((Fault.FM_ADDRESS, Fault.BUFFER_ADDRESS, Fault.READ_ERROR, Fault.WRITE_ERROR))
"""The faults of bounds. One instruction may break several bounds, and the machine decides which it meets first."""
ATTEMPTS = 200


def faulty_program(config: MachineConfig, seed: int, *, size: int = 6) -> RandomProgram:
    """A random program, one instruction after the other, in which one is made illegal, or reads or writes out of bounds."""
    rng = random.Random(f"faulty {seed}")
    base = random_program(config, seed, size=size)
    serial = assemble(config, seed, base.ops, base.memory, base.bases, "serial")
    for _ in range(ATTEMPTS):
        number = rng.randrange(len(serial.ops))
        words = _words(serial, number, _spoiled(rng, config, serial.ops[number]))
        program = replace(serial, words=words)
        if functional(program).fault is not None:
            return program
    raise AssertionError(f"seed {seed}: no spoiled program stops")


def stops_alike(expected: Outcome, actual: Outcome) -> bool:
    """Whether the same instruction is to blame, for the same reason."""
    if expected.fault is None or actual.fault is None or expected.fault[1] != actual.fault[1]:
        return False
    codes = {expected.fault[0], actual.fault[0]}
    return len(codes) == 1 or codes <= ADDRESS_FAULTS


def _spoiled(rng: random.Random, config: MachineConfig, op: Op) -> list[int]:
    """The words of the instruction with one thing wrong, or at least different."""
    kind = rng.choice(("address", "address", "zero", "bit"))
    fields = op.row.fields
    if kind == "address":
        limits = {
            "w_addr": config.weight_depth, "p_addr": config.param_depth, "t_addr": config.taps_depth,
            "dst": config.weight_depth, "offset": 1 << 16,
        }  # fmt: skip
        if op.name == "ROW":
            limits["p_addr"] = config.buffer_depth("NORM")
        name = rng.choice([name for name in fields if name.endswith("addr") or name in limits])
        limit = limits.get(name, config.fm_words) if name != "a_addr" or op.name in ("MISC", "ROW") else config.acc_depth
        step = config.axi_bytes if name == "offset" else 1
        return encode(replace(op, values={**op.values, name: limit - step * rng.randint(0, 8)}))
    if kind == "zero":
        counts = [name for name, f in fields.items() if f.nonzero]
        return encode(replace(op, values={**op.values, rng.choice(counts): 0}))
    words = encode(op)
    reserved = [(n, b) for n in range(1, op.row.length) for b in range(32) if op.row.reserved_mask(n) >> b & 1]
    header, tokens = (sum(f.bits for f in HEADER[:count]) for count in (2, 4))
    number, bit = rng.choice([*reserved, *((0, b) for b in range(header)), *((0, b) for b in range(tokens, 32))])
    words[number] ^= 1 << bit
    return words


def _words(program: RandomProgram, number: int, spoiled: list[int]) -> tuple[int, ...]:
    start = len(encode(Op("START"))) + sum(op.row.length for op in program.ops[:number])
    return (*program.words[:start], *spoiled, *program.words[start + program.ops[number].row.length :])
