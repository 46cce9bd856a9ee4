"""The legality rules of the instruction table as logic: the hardware's ``isa.codec.broken_rule``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from types import SimpleNamespace
from typing import Any

from amaranth import Const

from isa.config import MachineConfig
from isa.table import Instruction


def fields_legal(row: Instruction, fields: Mapping[str, Any], config: MachineConfig) -> Any:
    """One bit: counts are not zero, enumerations have a name, and every rule of the row holds.

    ``fields`` holds the value of each of the row's fields. Pure logic over them, no state.
    """
    checks: list[Any] = []
    names = SimpleNamespace(**fields)
    for name, f in row.fields.items():
        if f.nonzero:
            checks.append(fields[name].any())
        if f.enum is not None:
            named = {int(member) for member in f.enum}
            if len(named) < 1 << f.bits:
                checks.append(fields[name].matches(*sorted(named)))
    for rule in row.rules:
        checks.append(rule.holds(names, config))
    return reduce(and_, (check.bool() if hasattr(check, "bool") else Const(int(check), 1) for check in checks), Const(1, 1))
