"""Makes the variables that a TFLite model keeps from run to run inputs and outputs; the user hands the new values back.

A streaming model reads the last pixels of its layers from variables, and assigns new ones. A graph of its own (CALL_ONCE)
writes the first values, as a rule zeros; here they are the first input.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.errors import ModelError
from compiler.frontend.tflite.file import Graph, Operator

NEXT = "/next"
"""The ending that makes a variable's name that of its new value."""


def with_state(graph: Graph, where: str) -> Graph:
    """The graph with inputs and outputs for its variables; the graph itself, if it has none."""
    if all(operator.kind not in ("VAR_HANDLE", "CALL_ONCE") for operator in graph.operators):
        return graph
    try:
        return _Walk(graph, where).run()
    except (LookupError, UnicodeDecodeError):  # a handle that nobody made, or an operator without tensors
        raise ModelError(f"{where}: its variables are read or assigned by no handle; convert or download it again") from None


class _Walk:
    """Visits the operators in the order in which they run."""

    def __init__(self, graph: Graph, where: str) -> None:
        self.graph, self.where = graph, where
        self.tensors = list(graph.tensors)
        self.names: dict[int, str] = {}
        """The names of variables, by the tensor that is their handle."""
        self.held: dict[str, int] = {}
        """The tensor that each variable holds."""
        self.same: dict[int, int] = {}
        """The tensor that a variable holds, for each tensor that is read from a variable after its first use."""
        self.inputs: list[int] = []
        self.assigned: dict[str, int] = {}

    def run(self) -> Graph:
        left = [operator for operator in map(self._renamed, self.graph.operators) if not self._of_state(operator)]
        outputs = [self.same.get(n, n) for n in self.graph.outputs]
        for name, number in self.assigned.items():
            if number in (*outputs, *self.inputs, *self.graph.inputs):
                raise ModelError(
                    f"{self.where}: variable {name} gets a value that is an input or an output, too; convert the model so that "
                    "it computes a value of its own"
                )
            self.tensors[number] = replace(self.tensors[number], name=f"{name}{NEXT}")
        return Graph(
            tuple(self.tensors), tuple(left), (*self.graph.inputs, *self.inputs), (*outputs, *self.assigned.values())
        )

    def _renamed(self, operator: Operator) -> Operator:
        return replace(operator, inputs=tuple(self.same.get(n, n) for n in operator.inputs))

    def _of_state(self, operator: Operator) -> bool:
        """Whether the operator is about a variable, and computes nothing."""
        if operator.kind == "VAR_HANDLE":
            number = operator.outputs[0]
            self.names[number] = operator.option("SharedName", b"").decode() or self.tensors[number].name
        elif operator.kind == "READ_VARIABLE":
            name, made = self.names[operator.inputs[0]], operator.outputs[0]
            if name in self.held:
                self.same[made] = self.held[name]
            else:
                self.held[name] = made
                self.inputs.append(made)
                self.tensors[made] = replace(self.tensors[made], name=name)
        elif operator.kind == "ASSIGN_VARIABLE":
            name = self.names[operator.inputs[0]]
            self.held[name] = self.assigned[name] = operator.inputs[1]
        return operator.kind in ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")
