"""Compares a program's outputs with onnxruntime's, and onnxruntime with itself as people run it, with every optimisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.driver import Compiled
from compiler.frontend.defined import INTEGERS, beside_definitions
from compiler.frontend.model import to_proto
from compiler.frontend.pipeline import ImportedModel
from compiler.search.progress import Progress
from isa.errors import TilewrightError
from sim.runtime.oracle import EXACT, FLOAT, INTEGER, ORACLES, WHOLE, traps
from sim.runtime.parts import loaded, run_session, session
from sim.runtime.run import run_on_cpu, whole_model
from tilewright.comparison import Comparison, compare
from tilewright.inputs import Array
from tilewright.layers import compare_layers
from tilewright.running import run_program

READINGS = {
    "integer": "onnxruntime's integer kernels",
    "float": "onnxruntime's float kernels between DequantizeLinear and QuantizeLinear",
}


@dataclass(frozen=True)
class Check:
    """The result of a check. ``optimised`` compares onnxruntime with every optimisation to its integer kernels; ``why`` gives
    the reason if they differ."""

    oracle: str
    tensors: tuple[Comparison, ...]
    optimised: tuple[Comparison, ...] = ()
    why: str = ""
    defined: tuple[Comparison, ...] = ()
    """The results of softmax and normalisation as integers define them, beside those of onnxruntime's float kernels on the same
    operands."""
    reading: str = INTEGER
    """The way in which onnxruntime read the model. It is float if its optimiser makes an invalid model."""

    @property
    def equal(self) -> bool:
        """Whether no element differs."""
        return not self.wrong()

    def __str__(self) -> str:
        return "\n".join(map(str, self.tensors))

    def wrong(self, tolerance: float = 0.0) -> list[Comparison]:
        return [row for row in self.tensors if not row.within(tolerance)]


def check(
    compiled: Compiled, inputs: Mapping[str, Array], engine: str = "functional", *, oracle: str = INTEGER,
    per_layer: bool = False, progress: Progress | None = None,
) -> Check:  # fmt: skip
    """Runs a compiled model and compares its outputs, or every tensor of the network."""
    if oracle not in ORACLES:
        raise TilewrightError(f"oracle {oracle!r}: unknown, expected one of {', '.join(ORACLES)}")
    program = compiled.program
    if progress is not None:
        progress(f"run on {engine}")
    expected = run_on_cpu(program, inputs, oracle)
    if per_layer:
        rows = compare_layers(compiled, inputs, engine, progress, oracle)
    else:
        rows = compare(run_program(program, inputs, engine, progress=progress).outputs, expected)
    reading = loaded(whole_model(program), kind=oracle)[1]
    defined = tuple(_beside_floats(compiled.imported, inputs))
    if oracle != INTEGER:
        return Check(oracle, tuple(rows), defined=defined, reading=reading)
    optimised = compare(run_on_cpu(program, inputs, WHOLE), expected)
    why = ""
    if any(row.differ for row in optimised):
        same = not any(row.differ for row in compare(run_on_cpu(program, inputs, EXACT), expected))
        why = "; ".join(traps(whole_model(program))) if same else "not by its int8 rules and saturating kernels alone"
    return Check(oracle, tuple(rows), tuple(optimised), why, defined, reading)


def _beside_floats(imported: ImportedModel, inputs: Mapping[str, Array]) -> list[Comparison]:
    if not imported.defined:
        return []
    assert imported.model is not None
    model = to_proto(beside_definitions(imported.model, imported.defined))
    names = [value.name for value in model.graph.output]
    floats = session(model.SerializeToString(), kind=FLOAT)
    found = dict(zip(names, run_session(floats, names, dict(inputs)), strict=True))
    ours = {name.removesuffix(INTEGERS): value for name, value in found.items() if name.endswith(INTEGERS)}
    return compare(ours, {name: found[name] for name in ours})
