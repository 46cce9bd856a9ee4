"""Transformers and hybrids on machines with ROW and LOADW: ``python -m bench.transformers [NETWORK ...] [--rtl]``.

``--row-words`` makes the row buffer longer than the preset's, which a network of rows of more than 1 024 elements takes.
Weights are random. The share of MACs *on the machine* counts products of two activations, too. The functional simulator's
outputs are compared with onnxruntime's, cycles are the cycle model's, a compilation's seconds are the processor's; with
``--rtl`` the Verilog runs, too, and its whole memory is compared with the functional simulator's. Rows go into
docs/results/cycles.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from onnx import ModelProto

from bench.command import command
from bench.network_table import CYCLES, put_row
from compiler.frontend.partition import segments
from compiler.xgraph.ops import Cpu
from compiler.zoo.bert import bert, mobilebert
from compiler.zoo.cascaded import cascaded
from compiler.zoo.conformer import conformer
from compiler.zoo.convnext import convnext
from compiler.zoo.efficientvit import efficientvit
from compiler.zoo.levit import levit
from compiler.zoo.macs import by_node
from compiler.zoo.mobilevit import mobilevit
from compiler.zoo.swin import swin
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
NETWORKS: dict[str, Callable[..., ModelProto]] = {
    "bert_tiny": bert, "conformer_s": conformer, "convnext_tiny": convnext, "deit_tiny": partial(vit, token=True),
    "efficientvit_b0": efficientvit, "efficientvit_m0": cascaded, "levit_128s": levit, "mobilebert": mobilebert,
    "mobilevit_s": mobilevit, "swin_tiny": swin, "vit_tiny": vit,
}  # fmt: skip
COLUMNS = (
    "network", "configuration", "MACs", "on the machine", "segments", "parts on the CPU", "outputs", "differ", "bound",
    "cycles", "utilisation", "compile s", "RTL: bytes that differ", "RTL: cycles",
)  # fmt: skip


def on_rtl(program: Program) -> list[str]:
    """The bytes of memory that differ, and the cycles."""
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
    parser.add_argument("--row-words", type=int, help="length of the row buffer, in words")
    parser.add_argument("--rtl", action="store_true", help="run the Verilog, too")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(" | ".join(COLUMNS))
    for network in arguments.networks:
        model = NETWORKS[network]()
        macs = by_node(model)
        for name in arguments.config:
            machine = replace(preset(name), build_rows=True, build_products=True)
            if arguments.row_words:
                machine = replace(machine, row_words=arguments.row_words)
                name = f"{name}, row_words {arguments.row_words}"
            since = time.process_time()
            compiled = compile_model(model, machine, cache=False)
            until = time.process_time()
            cycles, bound = estimated_cycles(compiled.program), sum(macs.values()) / machine.macs_per_cycle
            on_cpu = sum(count for node, count in macs.items() if node in compiled.imported.reasons)
            rows, graph = check(compiled, random_inputs(compiled.program)).tensors, compiled.imported.graph
            row = [
                network, name, f"{sum(macs.values()):,}", f"{1 - on_cpu / sum(macs.values()):.1%}", str(segments(graph)),
                str(sum(isinstance(op, Cpu) for op in graph.ops)), str(sum(each.elements for each in rows)),
                str(sum(each.differ for each in rows)), f"{bound:,.0f}", f"{cycles:,}", f"{bound / cycles:.3f}",
                f"{until - since:.0f}", *(on_rtl(compiled.program) if arguments.rtl else ["", ""]),
            ]  # fmt: skip
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 2, CYCLES)


if __name__ == "__main__":
    main()
