"""Whole transformers on machines with ROW and LOADW: ``python -m bench.transformers [NETWORK ...] [--config base] [--rtl]``.

Weights are random. The functional simulator's outputs are compared with onnxruntime's, cycles are the cycle model's; with
``--rtl`` the Verilog runs, too, and its whole memory is compared with the functional simulator's. Rows go into
docs/results/cycles.md.
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
from isa.program import Program
from sim.runtime.engine import FunctionalEngine, RtlEngine
from sim.runtime.run import Run
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs
from tilewright.running import estimated_cycles

TITLE = "Transformers"
NETWORKS: dict[str, Callable[..., ModelProto]] = {"deit_tiny": partial(vit, token=True), "vit_tiny": vit}
COLUMNS = (
    "network", "configuration", "parts on the CPU", "outputs", "differ", "MACs", "bound", "cycles", "utilisation",
    "RTL: bytes that differ", "RTL: cycles",
)  # fmt: skip


def on_rtl(program: Program) -> list[str]:
    """Bytes of memory that differ, and cycles."""
    inputs, engine = random_inputs(program), RtlEngine(program.config)
    functional, rtl = Run(program, FunctionalEngine(program.config)), Run(program, engine)
    functional(inputs)
    rtl(inputs)
    differ = int((functional.image.memory != rtl.image.memory).sum())
    return [str(differ), f"{rtl.measured.counted_cycles:,}"]


def main() -> None:
    parser = command("transformers", __doc__)
    parser.add_argument("networks", nargs="*", default=[*NETWORKS])
    parser.add_argument("--config", nargs="+", default=["base"])
    parser.add_argument("--rtl", action="store_true", help="run the Verilog, too")
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
                *(on_rtl(compiled.program) if arguments.rtl else ["", ""]),
            ]  # fmt: skip
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 2, CYCLES)


if __name__ == "__main__":
    main()
