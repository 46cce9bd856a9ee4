"""The last steps of requantisation as instruction fields."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.schedule.instruction import Access, Space
from compiler.xgraph.ops import Finish
from isa.instructions import Activation, Buffer


def activation_of(finish: Finish) -> Activation:
    """What an instruction does behind requantisation; a table has LEAKY in it."""
    if finish.table is not None:
        return Activation.TABLE
    return Activation.NONE if finish.alpha is None else Activation.LEAKY


def post_values(finish: Finish, at: Mapping[Buffer, int]) -> tuple[dict[str, int], list[Access]]:
    """Fields, and the table that is read, if any; ``at`` says in which slot it lies."""
    values = {"zp": finish.zero_point, "lo": finish.lo, "hi": finish.hi, "act": int(activation_of(finish))}
    if finish.table is not None:
        slot = at[Buffer.TABLE]
        return values | {"table": slot}, [Access(Space.TABLE, slot, 1)]
    if finish.alpha is not None:
        values |= {"alpha": finish.alpha}
    return values, []
