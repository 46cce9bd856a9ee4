"""Whole transformers on machines with ROW and LOADW: ``python -m bench.transformers [NETWORK ...] [--config base]``.

Weights are random. The functional simulator's outputs are compared with onnxruntime's, cycles are the cycle model's. Rows go
into docs/results/cycles.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from onnx import ModelProto

from bench.command import command
from bench.network_table import CYCLES, put_row
from compiler.xgraph.ops import Cpu
from compiler.zoo.macs import multiply_accumulates
from compiler.zoo.vit import vit
from isa.config import preset
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs
from tilewright.running import estimated_cycles

TITLE = "Transformers"
NETWORKS: dict[str, Callable[..., ModelProto]] = {"deit_tiny": partial(vit, token=True), "vit_tiny": vit}
COLUMNS = (
    "network", "configuration", "parts on the CPU", "outputs", "differ", "MACs", "bound", "cycles", "utilisation",
)  # fmt: skip


def main() -> None:
    parser = command("transformers", __doc__)
    parser.add_argument("networks", nargs="*", default=[*NETWORKS])
    parser.add_argument("--config", nargs="+", default=["base"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(" | ".join(COLUMNS))
    for network in arguments.networks:
        model = NETWORKS[network]()
        macs = multiply_accumulates(model)
        for name in arguments.config:
            machine = replace(preset(name), build_rows=True, build_products=True)
            compiled = compile_model(model, machine, cache=False)
            cycles, bound = estimated_cycles(compiled.program), macs / machine.macs_per_cycle
            rows = check(compiled, random_inputs(compiled.program)).tensors
            row = [
                network, name, str(sum(isinstance(op, Cpu) for op in compiled.imported.graph.ops)),
                str(sum(each.elements for each in rows)), str(sum(each.differ for each in rows)), f"{macs:,}",
                f"{bound:,.0f}", f"{cycles:,}", f"{bound / cycles:.3f}",
            ]  # fmt: skip
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 2, CYCLES)


if __name__ == "__main__":
    main()
