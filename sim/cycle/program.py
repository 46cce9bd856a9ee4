"""A program as the cycle model needs it: the unit, length, dependences and cost of every instruction."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.codec import Op
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.faults import TOKEN_MAX
from isa.instructions import BY_NAME, BY_OPCODE, HEADER, Unit
from isa.table import Instruction
from sim.cycle.costs import COSTS, Cost

Ints = npt.NDArray[np.int64]


class CycleError(TilewrightError):
    """Raised for a program that would not run to its end."""


@dataclass(frozen=True, slots=True)
class Program:
    """The columns of a program. Each has an entry for every instruction in program order, START and END included."""

    units: list[int | None]
    pcs: list[int]
    lengths: list[int]
    givers: list[tuple[int, ...]]
    """The instructions whose tokens each instruction takes."""
    room: list[tuple[int, ...]]
    """The instructions that must have taken their tokens before it gives its own: ``TOKEN_MAX`` may be on the way."""
    costs: list[Cost | None]
    words: int


def from_words(config: MachineConfig, words: Sequence[int]) -> Program:
    """Decodes a binary: headers one by one, then the fields of all instructions of a kind at once."""
    memory = np.array(words, np.int64)
    units = (1 << len(Unit)) - 1
    shifts = {}
    lsb = 0
    for field in HEADER:
        shifts[field.name] = lsb
        lsb += field.bits
    pcs: list[int] = []
    kinds: dict[int, list[int]] = {}
    waits: list[int] = []
    signals: list[int] = []
    rows: list[Instruction] = []
    flat = memory.tolist()
    pc = 0
    while True:
        if pc >= len(flat):
            raise CycleError(f"program of {len(flat)} words: it has no END; append one")
        header = flat[pc]
        row = BY_OPCODE.get(header & 15)
        if row is None:
            raise CycleError(f"instruction word {pc}: opcode {header & 15} is unknown; the program is damaged")
        kinds.setdefault(row.opcode, []).append(len(rows))
        rows.append(row)
        pcs.append(pc)
        waits.append(header >> shifts["wait"] & units)
        signals.append(header >> shifts["signal"] & units)
        pc += row.length
        if row.name == "END":
            break
    if pc > len(flat):
        raise CycleError(f"program of {len(flat)} words: it ends within an instruction")
    costs: list[Cost | None] = [None] * len(rows)
    places = np.array(pcs)
    for opcode, indices in kinds.items():
        row = BY_OPCODE[opcode]
        if row.name in COSTS:
            at = places[indices]
            body = [memory[at + n] for n in range(row.length)]
            fields = {p.field.name: _field(body[p.word], p.lsb, p.field.bits, p.field.signed) for p in row.placed}
            for index, cost in zip(indices, COSTS[row.name](config, fields), strict=True):
                if not 0 <= cost.cycles <= MOST_CYCLES:
                    raise CycleError(
                        f"instruction word {pcs[index]}: {row.name} asks for more than {MOST_CYCLES} cycles, the most of an "
                        f"instruction here; the program is damaged"
                    )
                costs[index] = cost
    return _program(rows, pcs, waits, signals, costs, len(flat))


MOST_CYCLES = 1 << 40
"""The most cycles of an instruction, an hour at 300 MHz. Sums over a program stay within 64 bits."""


Costs = dict[tuple[str | int, ...], Cost]
"""The costs of instructions of one machine, by their names, and the names and values of their fields."""
MOST_COSTS = 1 << 16
"""The most costs that are kept, some 50 MB: more than the different instructions of the programs of one compilation."""


def from_ops(config: MachineConfig, ops: Sequence[Op], known: Costs | None = None) -> Program:
    """The program of decoded instructions, to which START and END are added.

    ``known``: costs from before, to which new ones are added. Programs that are timed together have most instructions in
    common, at other addresses in DRAM. Of an address costs depend only on the lane within a beat.
    """
    everything = [Op("START"), *ops, Op("END")]
    rows = [BY_NAME[op.name] for op in everything]
    pcs = np.cumsum([0, *(row.length for row in rows)]).tolist()
    known = {} if known is None else known
    if len(known) > MOST_COSTS:
        known.clear()
    keys = [_cost_key(config, op) for op in everything]
    missing: dict[str, dict[tuple[str | int, ...], Op]] = {}
    for op, key in zip(everything, keys, strict=True):
        if key not in known and op.name in COSTS:
            missing.setdefault(op.name, {})[key] = op
    for name, new in missing.items():
        values = [op.values for op in new.values()]
        fields = {field: np.array([v.get(field, 0) for v in values], np.int64) for field in BY_NAME[name].fields}
        known.update(zip(new, COSTS[name](config, fields), strict=True))
    costs = [known.get(key) for key in keys]
    waits = [_MASKS[op.wait] for op in everything]
    signals = [_MASKS[op.signal] for op in everything]
    return _program(rows, pcs[:-1], waits, signals, costs, pcs[-1])


def _cost_key(config: MachineConfig, op: Op) -> tuple[str | int, ...]:
    """A key that is equal for instructions of the same cost, wherever in DRAM they read and write."""
    values = op.values
    if "offset" in values:
        values = {**values, "offset": values["offset"] % config.axi_bytes}
    return (op.name, *values, *values.values())


def _field(word: Ints, lsb: int, bits: int, signed: bool) -> Ints:
    value: Ints = word >> lsb & ((1 << bits) - 1)
    return value - ((value >> (bits - 1)) << bits) if signed else value


_MEMBERS: Mapping[int, tuple[int, ...]] = {
    mask: tuple(unit for unit in range(len(Unit)) if mask >> unit & 1) for mask in range(1 << len(Unit))
}
"""The units of each mask."""
_MASKS = {frozenset(Unit(unit) for unit in units): mask for mask, units in _MEMBERS.items()}


def _program(
    rows: Sequence[Instruction], pcs: list[int], waits: list[int], signals: list[int], costs: list[Cost | None], words: int
) -> Program:
    """Matches tokens: in a sequential program the n-th token taken is the n-th given, between every two units."""
    tokens: list[list[deque[int]]] = [[deque() for _ in Unit] for _ in Unit]
    takers: list[list[list[int]]] = [[[] for _ in Unit] for _ in Unit]
    given = [[0] * len(Unit) for _ in Unit]
    givers: list[tuple[int, ...]] = []
    room: list[tuple[int, ...]] = []
    units: list[int | None] = [None if row.unit is None else int(row.unit) for row in rows]
    for index, (unit, wait, signal) in enumerate(zip(units, waits, signals, strict=True)):
        if unit is None:
            givers.append(())
            room.append(())
            continue
        taken = []
        for giver in _MEMBERS[wait]:
            if not tokens[giver][unit]:
                raise CycleError(
                    f"{rows[index].name} at word {pcs[index]} waits for a token from {Unit(giver).name} that no instruction "
                    "before it gives; the program is not sequential"
                )
            taken.append(tokens[giver][unit].popleft())
            takers[giver][unit].append(index)
        givers.append(tuple(taken))
        before = []
        for taker in _MEMBERS[signal]:
            if len(tokens[unit][taker]) == TOKEN_MAX:
                raise CycleError(
                    f"{rows[index].name} at word {pcs[index]} gives one token more to {Unit(taker).name} than the "
                    f"{TOKEN_MAX} that may be on the way; the program is not sequential"
                )
            tokens[unit][taker].append(index)
            if given[unit][taker] >= TOKEN_MAX:
                before.append(takers[unit][taker][given[unit][taker] - TOKEN_MAX])
            given[unit][taker] += 1
        room.append(tuple(before))
    return Program(units, pcs, [row.length for row in rows], givers, room, costs, words)
