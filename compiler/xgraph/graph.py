"""The graph: tensors by name, operations in topological order, and the checks that keep it sound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from compiler.xgraph.ops import Op
from compiler.xgraph.tensor import Tensor
from isa.errors import TilewrightError


class GraphError(TilewrightError):
    """A graph that contradicts itself."""


@dataclass(frozen=True, eq=False)
class XGraph:
    """An immutable graph; passes return a new one."""

    name: str
    tensors: Mapping[str, Tensor]
    ops: tuple[Op, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    _producers: dict[str, Op] = field(init=False, repr=False, default_factory=dict)
    _consumers: dict[str, list[Op]] = field(init=False, repr=False, default_factory=dict)

    def producer(self, tensor: str) -> Op | None:
        return self._producers.get(tensor)

    def consumers(self, tensor: str) -> tuple[Op, ...]:
        return tuple(self._consumers.get(tensor, ()))

    def predecessors(self, op: Op) -> Iterator[Op]:
        for tensor in op.inputs:
            producer = self.producer(tensor)
            if producer is not None:
                yield producer

    def __post_init__(self) -> None:
        producers, consumers = self._producers, self._consumers
        for op in self.ops:
            for tensor in dict.fromkeys(op.inputs):
                if tensor not in self.tensors:
                    raise GraphError(f"graph {self.name}: operation {op.name} reads unknown tensor {tensor}")
                if tensor not in producers and tensor not in self.inputs:
                    raise GraphError(f"graph {self.name}: operation {op.name} reads {tensor} before it is made")
                consumers.setdefault(tensor, []).append(op)
            for tensor in op.outputs:
                if tensor not in self.tensors:
                    raise GraphError(f"graph {self.name}: operation {op.name} makes unknown tensor {tensor}")
                if tensor in producers or tensor in self.inputs:
                    raise GraphError(f"graph {self.name}: tensor {tensor} is made twice")
                producers[tensor] = op
        for tensor in self.outputs:
            if tensor not in producers and tensor not in self.inputs:
                raise GraphError(f"graph {self.name}: output {tensor} is never made")

    def with_ops(self, ops: Iterable[Op], tensors: Mapping[str, Tensor] | None = None) -> XGraph:
        """The same graph with other operations; tensors that nothing names any more are dropped."""
        ops = tuple(ops)
        table = dict(self.tensors if tensors is None else tensors)
        used = {t for op in ops for t in (*op.inputs, *op.outputs)} | set(self.inputs) | set(self.outputs)
        return replace(self, ops=ops, tensors={k: v for k, v in table.items() if k in used})


def topological(ops: Iterable[Op], inputs: Iterable[str]) -> tuple[Op, ...]:
    """The operations ordered so that each comes behind the makers of its operands; otherwise their order stays."""
    remaining = list(ops)
    ready = set(inputs)
    ordered: list[Op] = []
    while remaining:
        later = []
        for op in remaining:
            if all(t in ready for t in op.inputs):
                ordered.append(op)
                ready.update(op.outputs)
            else:
                later.append(op)
        if len(later) == len(remaining):
            raise GraphError(f"operations form a cycle or read what nobody makes: {', '.join(op.name for op in later[:5])}")
        remaining = later
    return tuple(ordered)
