"""Current networks as PyTorch exports them, weights untrained: ``python -m bench.exports [--naive] [--dynamo] [network ...]``.

For each: products of its convolutions and dense layers, the share of them on the machine (products of two activations are
left out), machine segments, nodes on the CPU, copies, output elements of the functional simulator that differ from
onnxruntime's, cycles and utilisation by the cycle model on ``base``, and processor seconds of import and of everything
behind it. ``--naive``: one operation per group. ``--dynamo``: in the form of the newer exporter. Rows go into
docs/results/networks.md.
"""
from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import onnx

from bench.command import command
from bench.network_table import put_row
from bench.networks import differing, imported, known, utilisation
from compiler.driver import Compiled, compile_graph
from compiler.frontend.pipeline import ImportedModel
from compiler.planning.grouping import machine_ops
from compiler.xgraph.ops import Cpu
from compiler.zoo.exports import DYNAMO, TORCHSCRIPT, exports
from isa.config import MachineConfig, preset
from isa.program import MachineStep
from tilewright.profile.macs import WEIGHTS
from tilewright.running import estimated_cycles

TITLE = "As PyTorch exports them"
COLUMNS = (
    "network", "form", "groups", "MACs", "on the machine", "segments", "nodes on the CPU", "operations", "copies", "differ",
    "of", "cycles", "utilisation", "import s", "compile s",
)  # fmt: skip


def macs_of(model: ImportedModel) -> tuple[int, int]:
    """The products of a constant and an activation: all, and those on the machine."""
    assert model.model is not None
    source, total, kept = model.model, 0, 0
    hosted = {name for op in model.graph.ops if isinstance(op, Cpu) for name in op.reasons}
    for node in source.nodes:
        weights = source.shape(node.inputs[WEIGHTS[node.op_type]]) if node.op_type in WEIGHTS else None
        out, inner = source.shape(node.output), source.shape(node.input(0))
        if weights is None or out is None or inner is None or node.inputs[WEIGHTS[node.op_type]] not in _fixed(model):
            continue
        if "Conv" in node.op_type:
            count = math.prod(inner if node.op_type == "ConvTranspose" else out) * math.prod(weights[1:])
        else:
            count = math.prod(out) * inner[-1]
        total += count
        kept += count * (node.name not in hosted)
    return total, kept


def _fixed(model: ImportedModel) -> set[str]:
    """The names of constants, and of what DequantizeLinear and Transpose make of them."""
    assert model.model is not None
    known = set(model.model.constants)
    for node in model.model.nodes:
        if node.op_type in ("DequantizeLinear", "Transpose") and node.inputs[0] in known:
            known.add(node.output)
    return known


def segments_of(compiled: Compiled) -> int:
    """The stretches of the program between CPU parts."""
    return sum(isinstance(step, MachineStep) for step in compiled.program.steps)


def measured(build: Callable[[], onnx.ModelProto], config: MachineConfig, strategy: str) -> list[str]:
    """The cells of one network's row, after its name, form and groups."""
    source = build()
    since = time.process_time()
    model = imported(source)
    between = time.process_time()
    found = compile_graph(model, config, strategy=strategy)
    until = time.process_time()
    total, kept = macs_of(found.imported)
    operations = machine_ops(found.imported.graph)
    hosted = sum(len(op.reasons) for op in found.imported.graph.ops if isinstance(op, Cpu))
    copies = sum("/copy" in op.name for op in operations)
    differ, elements, _ = differing(found.program)
    cycles = estimated_cycles(found.program)
    return [
        f"{total:,}", f"{kept / total:.1%}", str(segments_of(found)), str(hosted), str(len(operations)), str(copies),
        str(differ), str(elements), str(cycles), f"{utilisation(found, cycles):.3f}", f"{between - since:.1f}",
        f"{until - between:.1f}",
    ]  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = command("exports", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--naive", action="store_true", help="one operation per group")
    parser.add_argument("--dynamo", action="store_true", help="as the newer exporter writes them")
    chosen = parser.parse_args(arguments)
    form, strategy = DYNAMO if chosen.dynamo else TORCHSCRIPT, "naive" if chosen.naive else "best"
    builders = exports(form)
    names = known(chosen.networks, builders, parser) or [*builders]
    print(" | ".join(COLUMNS))
    for name in names:
        row = [name, form, strategy, *measured(builders[name], preset("base"), strategy)]
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 3)


if __name__ == "__main__":
    main(sys.argv[1:])
