"""The legality rules of the instruction table as logic. This is the hardware's version of ``isa.codec.broken_rule``.

An instruction is legal if both functions say so. ``fields`` holds the value of each of the row's fields. Both are pure logic
over them, without state.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from types import SimpleNamespace
from typing import Any

from amaranth import Const

from isa.config import MachineConfig
from isa.table import Instruction


def values_legal(row: Instruction, fields: Mapping[str, Any]) -> Any:
    """One bit: the row's counts are not zero, and its enumerations have a name."""
    checks = [Const(1, 1)]
    for name, f in row.fields.items():
        if f.nonzero:
            checks.append(fields[name].any())
        if f.enum is not None:
            named = {int(member) for member in f.enum}
            if len(named) < 1 << f.bits:
                checks.append(fields[name].matches(*sorted(named)))
    return reduce(and_, checks)


def rules_hold(row: Instruction, fields: Mapping[str, Any], config: MachineConfig) -> Any:
    """One bit: every rule of the row holds. These rules compare numbers, so the bit comes later than that of
    ``values_legal``."""
    names = SimpleNamespace(**fields)
    checks = [rule.holds(names, config) for rule in row.rules]
    return reduce(and_, (check.bool() if hasattr(check, "bool") else Const(int(check), 1) for check in checks), Const(1, 1))
