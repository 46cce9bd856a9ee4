"""What a compilation tells about its result: the machine's part, the host's part, and why there is one."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import onnx

from compiler.driver import Compiled
from compiler.frontend.causes import first_causes
from compiler.frontend.pipeline import FOR_ACCURACY
from compiler.xgraph.ops import Cpu
from isa.program import MachineStep
from tilewright.api import array_macs, estimated_cycles
from tilewright.host_speed import HostSpeed, host_speed
from tilewright.noise import noise_of, noise_text
from tilewright.profile.activity import activities, modelled
from tilewright.profile.dataflow import dataflow
from tilewright.profile.macs import macs_of_nodes
from tilewright.profile.shapes import model_of, shapes_of
from tilewright.report.layers import LayerRow, layer_rows

FLOAT_BYTES = 4
LEFT_OUT = "groups left out by caps"


@dataclass(frozen=True)
class Cause:
    """A reason, the nodes that it keeps on the CPU (the first of them itself, the others because of it), and their products."""

    reason: str
    nodes: tuple[str, ...]
    macs: int

    def __str__(self) -> str:
        count = f"{len(self.nodes)} node{'s' if len(self.nodes) > 1 else ''}"
        return f"{count}, {self.macs:,} MACs ({self.nodes[0]}): {self.reason}"


def causes(compiled: Compiled) -> list[Cause]:
    """What costs most first; nodes that are on the CPU because of others count as theirs."""
    imported = compiled.imported
    assert imported.model is not None
    macs = macs_of_nodes(compiled.program)
    members: dict[str, list[str]] = {}
    for node, cause in first_causes(imported.model, imported.reasons).items():
        reason = imported.reasons[cause]
        members.setdefault(reason, []).insert(0 if node == cause else len(members.get(reason, ())), node)
    rows = [Cause(reason, tuple(nodes), sum(macs.get(node, 0) for node in nodes)) for reason, nodes in members.items()]
    return sorted(rows, key=lambda row: (-row.macs, -len(row.nodes)))


def host_seconds(compiled: Compiled, speed: HostSpeed) -> tuple[float, float]:
    """Of the parts on the CPU, and of the copies between the host's tensors and the machine's buffers, by what they move."""
    program = compiled.program
    model = model_of(program)
    parts = [step for step in compiled.steps if isinstance(step, Cpu)]
    if model is None:
        return 0.0, 0.0
    macs = macs_of_nodes(program)
    by_name = {node.name: node for node in model.graph.node}
    nodes = {part.name: [by_name[name] for name in part.reasons if name in by_name] for part in parts}
    asked = (name for found in nodes.values() for node in found for name in (*node.input, *node.output) if name)
    shapes = shapes_of(program, model, asked) if parts else {}
    sizes = {name: math.prod(shape) * FLOAT_BYTES for name, shape in shapes.items()}
    computing = sum(
        speed.seconds(len(found), sum(macs.get(node.name, 0) for node in found), sum(_moved(node, sizes) for node in found))
        for found in nodes.values()
    )
    return computing, sum(buffer.nbytes for buffer in program.buffers) / speed.copied_bytes_per_second


def kept_in_float(compiled: Compiled, speed: HostSpeed) -> str:
    """Nodes that the accuracy asked for keeps on the CPU, and what they take there; empty: none."""
    model = model_of(compiled.program)
    names = [name for name, reason in compiled.imported.reasons.items() if reason == FOR_ACCURACY]
    if model is None or not names:
        return ""
    macs, nodes = macs_of_nodes(compiled.program), [node for node in model.graph.node if node.name in names]
    shapes = shapes_of(compiled.program, model, (name for node in nodes for name in (*node.input, *node.output) if name))
    sizes = {name: math.prod(shape) * FLOAT_BYTES for name, shape in shapes.items()}
    seconds = speed.seconds(len(nodes), sum(macs.get(name, 0) for name in names), sum(_moved(node, sizes) for node in nodes))
    return f"{', '.join(names)}: about {1000 * seconds:.3f} ms on the CPU"


def _moved(node: onnx.NodeProto, sizes: Mapping[str, int]) -> int:
    return sum(sizes.get(name, 0) for name in (*node.input, *node.output))


def facts(compiled: Compiled, speed: HostSpeed | None = None) -> dict[str, Any]:
    """Times are estimates: the machine's by the cycle model, the host's by ``host_speed``, one after the other."""
    program, plans = compiled.program, compiled.plans
    config = program.config
    cycles = estimated_cycles(program)
    macs = array_macs(compiled)
    of_nodes = macs_of_nodes(program)
    on_cpu = sum(of_nodes.get(name, 0) for name in compiled.imported.reasons)
    speed = speed or host_speed()
    computing, copying = host_seconds(compiled, speed)
    machine_ms = cycles / config.clock_mhz / 1000
    return {
        "operations on machine": sum(len(plan.group.layers) for plan in plans),
        "groups": len(plans),
        **({LEFT_OUT: str(left)} if (left := compiled.left_out) else {}),
        "machine segments": sum(isinstance(step, MachineStep) for step in program.run_order),
        "nodes on CPU": sum(len(step.reasons) for step in compiled.steps if isinstance(step, Cpu)),
        **({"kept in float": kept} if (kept := kept_in_float(compiled, speed)) else {}),
        "operations with inexact cases": len(compiled.imported.inexact),
        "MACs": macs + on_cpu,
        "MACs on machine": macs,
        "MACs on CPU": on_cpu,
        "instructions": len(program.debug),
        "instruction bytes": 4 * len(program.words),
        "parameter bytes": len(program.const),
        "DRAM bytes": sum(plan.cost.dram_bytes for plan in plans),
        "DRAM for feature maps": program.work_bytes + program.input_bytes + program.output_bytes,
        **({"inputs and outputs": "in WORK: a run destroys its input"} if compiled.sharing.host else {}),
        "on-chip words used": min(max((plan.words for plan in plans), default=0), config.fm_words),
        "estimated cycles": cycles,
        "estimated utilisation": round(macs / (cycles * config.macs_per_cycle), 4) if cycles else 0.0,
        "estimated ms": round(machine_ms, 3),
        "estimated ms on CPU": round(1000 * computing, 3),
        "estimated ms of copies": round(1000 * copying, 3),
        "estimated ms in all": round(machine_ms + 1000 * (computing + copying), 3),
        "seconds": {name: round(value, 3) for name, value in compiled.seconds.items()},
    }


def layers_of(compiled: Compiled) -> list[LayerRow]:
    """By the cycle model."""
    program = compiled.program
    items = activities(program, modelled(program))
    return layer_rows(items, dataflow(program.config, items), macs_of_nodes(program))


def details(compiled: Compiled) -> dict[str, Any]:
    """What ``--verbose`` adds, for scripts."""
    return {
        "plans": [
            {"group": plan.group.name, "passes": plan.over_channels, "tiles": plan.count // plan.over_channels,
             "steps": plan.steps, "cycles": plan.cost.cycles,
             "DRAM bytes": plan.cost.dram_bytes, "operations": [layer.op.name for layer in plan.group.layers]}
            for plan in compiled.plans
        ],
        "left out by caps": asdict(compiled.left_out),
        "inexact": dict(compiled.imported.inexact),
        "causes": [{"reason": row.reason, "nodes": list(row.nodes), "MACs": row.macs} for row in causes(compiled)],
        "on the CPU": dict(compiled.imported.reasons),
        "layers": layer_table(compiled),
    }  # fmt: skip


def layer_table(compiled: Compiled) -> list[dict[str, Any]]:
    """A row for each layer on the machine and each node on the CPU, with the same columns."""
    program = compiled.program
    peak, noise, macs = program.config.macs_per_cycle, noise_of(program), macs_of_nodes(program)
    rows = [
        {"layer": row.name, "where": row.unit.name, "group": row.group, "cycles": row.cycles, "MACs": row.macs,
         "utilisation": round(row.utilisation(peak), 4), "DRAM bytes read": row.read, "DRAM bytes written": row.written,
         "signal to noise": noise_text(noise[row.name]) if row.name in noise else "", "reason": ""}
        for row in layers_of(compiled)
    ]  # fmt: skip
    blank = dict.fromkeys(("group", "cycles", "utilisation", "DRAM bytes read", "DRAM bytes written", "signal to noise"), "")
    return rows + [
        {"layer": name, "where": "CPU", **blank, "MACs": macs.get(name, 0), "reason": reason}
        for name, reason in compiled.imported.reasons.items()
    ]


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """With a line of column names."""
    columns = (
        "layer", "where", "group", "cycles", "MACs", "utilisation", "DRAM bytes read", "DRAM bytes written", "signal to noise",
        "reason",
    )  # fmt: skip
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
