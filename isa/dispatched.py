"""A program as the dispatcher takes it apart: instruction by instruction, until one at which the machine stops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from isa.capabilities import built_instructions, built_units
from isa.codec import Op, broken_rule, decode, tokens_of
from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from isa.instructions import BY_OPCODE, HEADER, Unit


def instructions(program: Sequence[int] | bytes, config: MachineConfig) -> Iterator[tuple[Op, int]]:
    """Yields each instruction of a program and its word offset, from START to END, as the dispatcher does. Raises
    ``MachineFault`` where it stops."""
    words = np.frombuffer(program, dtype="<u4").tolist() if isinstance(program, bytes) else program
    built, known = built_units(config), {row.opcode for row in built_instructions(config)}
    pc = 0
    while True:
        row = BY_OPCODE.get(words[pc] & ((1 << HEADER[0].bits) - 1)) if pc < len(words) else None
        if row is not None and isinstance(row.unit, Unit) and row.unit not in built:
            raise MachineFault(Fault.ILLEGAL_OPCODE, pc, f"{row.name}: this machine has no {row.unit.name} unit")
        if row is not None and row.opcode not in known:
            raise MachineFault(Fault.ILLEGAL_OPCODE, pc, f"{row.name}: this machine is built without build_products")
        if row is not None and (absent := tokens_of(words[pc]) - set(built)):
            names = ", ".join(unit.name for unit in sorted(absent))
            detail = f"{row.name}: tokens of {names}, which this machine does not have"
            raise MachineFault(Fault.ILLEGAL_FIELD, pc, detail)
        op, following = decode(words, pc)
        if pc == 0 and op.name != "START":
            raise MachineFault(Fault.CONFIG_MISMATCH, pc, f"the program begins with {op.name}, expected START")
        if op.name == "START" and op["config"] != config.hash:
            detail = f"the program is for configuration {op['config']:#010x}, this machine is {config.hash:#010x}"
            raise MachineFault(Fault.CONFIG_MISMATCH, pc, detail)
        yield op, pc
        if op.name == "END":
            return
        pc = following


def check_rules(op: Op, pc: int, config: MachineConfig) -> None:
    """Raises ``MachineFault`` if the instruction reaches its unit and is illegal there."""
    broken = broken_rule(op, config)
    if broken is not None:
        raise MachineFault(Fault.ILLEGAL_FIELD, pc, f"{op.name}: {broken}")


def following(program: Sequence[int] | bytes, config: MachineConfig, pc: int) -> Iterator[tuple[Op, int]]:
    """The units' instructions after the one at ``pc``."""
    return ((op, at) for op, at in instructions(program, config) if at > pc and op.row.unit is not None)


def check_program(program: Sequence[int] | bytes, config: MachineConfig) -> None:
    """Raises ``MachineFault`` if this machine does not take some instruction. Addresses are not checked."""
    for op, pc in instructions(program, config):
        if op.row.unit is not None:
            check_rules(op, pc, config)
