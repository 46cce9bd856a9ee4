"""The causes that keep nodes on the CPU: the first cause of each node, and the cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.driver import Compiled
from compiler.frontend.causes import first_causes
from isa.program import Program
from tilewright.processors import Processor
from tilewright.profile.network import network_of
from tilewright.why import Why, why


@dataclass(frozen=True)
class Cause:
    """A reason, the nodes that it keeps on the CPU (the first one itself, the others because of that one), and their cost."""

    operator: str
    reason: str
    """The reason as the compiler gives it."""
    nodes: tuple[str, ...]
    macs: int
    ms: float | None
    """The milliseconds on the CPU, without the work to begin and end a part. None: the processor cannot run the nodes."""
    transfers: int
    """The tensors of these nodes that are copied from or to the machine's memory."""

    @property
    def why(self) -> Why:
        return why(self.reason)

    def __str__(self) -> str:
        others = len(self.nodes) - 1
        more = f", with {others} more node{'s' if others > 1 else ''} because of it" if others else ""
        takes = [] if self.ms is None else [f"{self.ms:.3f} ms"]
        products = [f"{self.macs:,} MACs"] if self.macs else []
        count = {0: "no transfer", 1: "a transfer", 2: "two transfers"}.get(self.transfers, f"{self.transfers} transfers")
        remedy = f" What helps: {self.why.remedy}." if self.why.remedy else ""
        nowhere = " The processor cannot run it." if self.ms is None else ""
        *first, last = *takes, *products, count
        costs = f"{', '.join(first)} and {last}" if first else last
        return f"{self.operator} {self.nodes[0]}: {self.why.so}. Costs {costs}{more}.{nowhere}{remedy}"


def causes(compiled: Compiled, processor: Processor) -> list[Cause]:
    """The causes, those that cost most first. Nodes that are on the CPU because of others count with those."""
    imported, network = compiled.imported, network_of(compiled.program)
    assert imported.model is not None
    members: dict[tuple[str, str], list[str]] = {}
    operators = {node.name: node.op_type for node in imported.model.nodes}
    for node, cause in first_causes(imported.model, imported.reasons).items():
        reason = imported.reasons[cause]
        found = members.setdefault((operators.get(cause, "part"), reason), [])
        found.insert(0 if node == cause else len(found), node)
    rows = [
        Cause(
            operator, reason, tuple(nodes), sum(network.macs.get(node, 0) for node in nodes),
            ms_of_nodes(compiled.program, nodes, processor), _transfers(compiled.program, nodes),
        )
        for (operator, reason), nodes in members.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-row.macs, -(row.ms or 0), -len(row.nodes)))


def ms_of_nodes(program: Program, names: Sequence[str], processor: Processor) -> float | None:
    """The milliseconds of these nodes. None: the processor has no onnxruntime, and these are more than conversions."""
    network, speed = network_of(program), processor.speed()
    nodes = [network.nodes[name] for name in names if name in network.nodes]
    converts = {"QuantizeLinear", "DequantizeLinear"}
    if not processor.onnxruntime and any(node.op_type not in converts for node in nodes):
        return None
    macs, moved = sum(network.macs.get(node.name, 0) for node in nodes), sum(network.moved(node) for node in nodes)
    return 1000 * (speed.seconds(len(nodes), macs, moved) - speed.seconds_per_part)


def _transfers(program: Program, names: Sequence[str]) -> int:
    network = network_of(program)
    nodes = [network.nodes[name] for name in names if name in network.nodes]
    return len({name for node in nodes for name in (*node.input, *node.output)} & {buffer.name for buffer in program.buffers})
