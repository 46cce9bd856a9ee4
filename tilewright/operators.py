"""Where an operator runs: on the machine, under conditions, or on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx

from compiler.frontend.support import Row
from isa.errors import TilewrightError
from isa.names import nearest

_FUSED = ("Attention", "EmbedLayerNormalization", "FastGelu", "FusedConv", "FusedMatMul", "MultiHeadAttention",
          "SkipLayerNormalization")  # fmt: skip
"""The operators of onnxruntime's own domain that exporters and optimisers write."""


@dataclass(frozen=True)
class OnCpu:
    """An operator that no unit computes."""

    operator: str
    why: str


def asked(rows: Sequence[Row], operators: Sequence[str]) -> tuple[list[Row], list[OnCpu]]:
    """The operators that are asked for, of the machine and of the CPU, or all of the machine if none is. Capitals do not
    count."""
    if not operators:
        return list(rows), []
    machine = {row.operator.lower() for row in rows}
    every = {schema.name.lower(): schema.name for schema in onnx.defs.get_all_schemas()}
    every |= {name.lower(): name for name in (*_FUSED, *(row.operator for row in rows))}
    for name in operators:
        if name.lower() not in every:
            hint = nearest(name, every.values()) or "; `tilewright ops` lists those that the machine knows"
            raise TilewrightError(f"operator {name!r}: unknown{hint}")
    wanted = {name.lower() for name in operators}
    hosted = [OnCpu(every[name], "no unit computes it") for name in sorted(wanted - machine)]
    return [row for row in rows if row.operator.lower() in wanted], hosted
