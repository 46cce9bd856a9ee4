"""The instruction fields of the last steps of requantisation."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.instructions.pending import Access, Space
from compiler.xgraph.ops import Finish
from isa.instructions import Activation, Buffer


def post_values(finish: Finish, at: Mapping[Buffer, int]) -> tuple[dict[str, int], list[Access]]:
    """The fields, and the access to the table if there is one. ``at`` has the slot of the table."""
    values = {"zp": finish.zero_point, "lo": finish.lo, "hi": finish.hi}
    if finish.table is None:
        return values | {"act": int(Activation.NONE)}, []
    slot = at[Buffer.TABLE]
    return values | {"act": int(Activation.TABLE), "table": slot}, [Access(Space.TABLE, slot, 1)]
