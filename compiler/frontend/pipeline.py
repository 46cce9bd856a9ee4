"""A model file to XGraph: read, quantise if it is float, import, divide between machine and CPU, simplify."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx

from compiler.frontend.captures import with_captures_spelt_out
from compiler.frontend.defined import with_definitions
from compiler.frontend.dynamic import as_float
from compiler.frontend.edges import Edges, float_inputs, prepared, typed
from compiler.frontend.errors import ModelError
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.fused_nodes import with_fused_nodes_spelt_out
from compiler.frontend.heads import with_parts_sliced_first
from compiler.frontend.importer.context import EIGHT_BITS, Context
from compiler.frontend.importer.rows import Defined
from compiler.frontend.importer.run import interpreted
from compiler.frontend.importer.values import Mapped
from compiler.frontend.in_the_way import IN_THE_WAY, in_the_way, products
from compiler.frontend.invalid import invalid_models_told
from compiler.frontend.leading import with_leading_ones_left_out
from compiler.frontend.loading import has_inner_graphs, survives
from compiler.frontend.long_kernels import with_long_kernels_in_rows
from compiler.frontend.long_layers import with_long_layers
from compiler.frontend.model import Model, to_proto
from compiler.frontend.narrow import with_wide_constants
from compiler.frontend.partition import partitioned, port, segments
from compiler.frontend.reader import Source, load, read
from compiler.frontend.transposes import with_fewer_transposes
from compiler.frontend.types import with_types
from compiler.passes.part_rows import whole_of
from compiler.passes.pipeline import Watch, optimised
from compiler.quantise.choices import EXACT, INEXACT, USUAL, Choices
from compiler.quantise.forms import HEAVY
from compiler.quantise.long_activations import with_long_activations
from compiler.quantise.opset import TARGET, modernised
from compiler.quantise.quantise import DEFAULT, CalibrationData, Quantised, is_float, quantise
from compiler.quantise.rest import with_rest_quantised
from compiler.quantise.statistics import Statistics
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Port

Progress = Callable[[str], None]
AS_ASKED = "kept on the CPU as asked"
FOR_ACCURACY = "kept in float for accuracy"
NOT_FOLLOWED = "not onnxruntime's result in all cases"
WOULD_ABORT = "onnxruntime aborts when it loads the model with its quantised parts"
MOST_DOUBTFUL = 8
"""An operation goes to the CPU if so many results of a run would differ from onnxruntime's, were all cases as frequent."""
PLAIN = Edges()


@dataclass(frozen=True, eq=False)
class ImportedModel:
    """A model ready for code generation, and the model that it must agree with.

    ``oracle`` is the model that onnxruntime runs (without optimisation). ``inputs`` and ``outputs`` are those of the model's
    inputs and outputs that the machine reads and makes itself; all others belong to CPU parts.
    """

    graph: XGraph
    oracle: onnx.ModelProto
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    tensor_names: Mapping[str, Port]
    """The tensor of the oracle, and its layout, for each map of the graph that is one."""
    reasons: Mapping[str, str]
    """The reason for each node on the CPU."""
    statistics: Mapping[str, Statistics]
    """The statistics of a float model's tensors, which can be used as calibration again."""
    float_model: Model | None = None
    quantised_model: Model | None = None
    """The quantised form of the float model, with the same inputs and outputs."""
    inexact: Mapping[str, str] = field(default_factory=dict)
    """How many cases differ, for each operation on the machine that cannot follow onnxruntime's kernel in all cases."""
    doubtful: Mapping[str, float] = field(default_factory=dict)
    """The results of one run of these operations that may differ, if all cases were equally frequent."""
    model: Model | None = None
    """The model that was imported: quantised, with types."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """The node of the model that each operation is made for."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The nodes that were kept off the machine because of its configuration, and why."""
    defined: tuple[Defined, ...] = ()
    """The nodes of ``model`` for which the oracle has integer definitions."""
    extras: Extras = NO_EXTRAS
    """The options of the machine that the model is imported for."""


def import_model(
    source: Source,
    *,
    calibration: CalibrationData = None,
    choices: Choices = DEFAULT,
    edges: Edges = PLAIN,
    batch: int | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    nodes: int | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    extras: Extras = NO_EXTRAS,
) -> ImportedModel:
    """Imports a model.

    ``calibration`` and ``choices`` concern what is float in the model. ``batch`` replaces a free first dimension. ``nodes`` is
    the greatest number of nodes that the model may have (``compiler/frontend/structure.py``). ``edges`` says how inputs and
    outputs differ from those of the model. ``watch`` is shown the graph as it is imported, and after each pass. ``extras`` are
    those of the machine, and all that an import knows of it.
    """
    # A pipe can be read only once. A file need not be held, for it can be loaded again.
    if not isinstance(source, bytes) and not (isinstance(source, str | Path) and Path(source).is_file()):
        source = load(source, shapes)
    with invalid_models_told(source):
        model = read(source, batch=batch, shapes=shapes, nodes=nodes, samples=_samples(calibration))
        return _import(model, calibration, choices, edges, progress or (lambda _: None), watch, extras)


def _samples(calibration: CalibrationData) -> dict[str, tuple[int, ...]]:
    """The shapes of calibration arrays."""
    arrays = calibration if isinstance(calibration, Mapping) else {}
    return {name: value.shape for name, value in arrays.items() if isinstance(value, np.ndarray)}


def _import(
    model: Model, calibration: CalibrationData, choices: Choices, edges: Edges, report: Progress, watch: Watch | None,
    extras: Extras,
) -> ImportedModel:  # fmt: skip
    report(f"read {len(model.nodes)} nodes")
    statistics: Mapping[str, Statistics] = {}
    float_model = None
    quantised_model = None
    told: dict[str, str] = {}
    # Random noise gives no scales for a model that finds them in its data.
    model = model if calibration is None else as_float(model)
    if is_float(model):
        model = with_fused_nodes_spelt_out(_recent(prepared(model, edges, float_inputs(model))), extras)
        model = with_long_kernels_in_rows(with_leading_ones_left_out(with_parts_sliced_first(model)))
        model = with_fewer_transposes(model)
        done = quantise(model, calibration, choices, report, edges.forms(model), extras)
        float_model, quantised_model, statistics = done.float_model, done.model, done.statistics
        if choices.activations == "16":
            quantised_model = with_long_activations(quantised_model, choices.only)
        told |= {**dict.fromkeys(done.kept, FOR_ACCURACY), **dict.fromkeys(done.asked, AS_ASKED)}
        model = typed(quantised_model, edges)
        # The quantised form of the float model has its types already.
        model = model if model is quantised_model else with_types(model)
    else:
        model = with_wide_constants(model)
        if edges.raw:
            raise ModelError(f"model {model.name}: is quantised, mean and scale ask for a float model; leave them out")
        kept = choices.kept(model)
        told |= dict.fromkeys(kept, AS_ASKED)
        rest = _with_rest(model, told, calibration, choices, report, extras) if choices.rest else None
        if rest is not None:
            float_model, quantised_model, statistics = rest.float_model, rest.model, rest.statistics
            model = quantised_model
        model = with_types(prepared(typed(model, edges), edges, float_inputs(model)))
    if extras.long:
        model, kept_whole = with_long_layers(model, extras.long, told)
        told |= kept_whole
    found = replace(
        _imported(model, told, extras, watch), statistics=statistics, float_model=float_model,
        quantised_model=quantised_model,
    )  # fmt: skip
    if has_inner_graphs(model.nodes) and not all(survives(part) for part in _for_the_host(found)):
        found = _on_the_host(float_model or model)
    for names in in_the_way(found.model or model, found.reasons):
        other = without(found, dict.fromkeys(names, IN_THE_WAY))
        found = other if products(other.graph) > products(found.graph) else found
    while unfollowed := _unfollowed(found, choices.follow):
        found = without(found, {found.origins[name]: f"{NOT_FOLLOWED}: {found.inexact[name]}" for name in unfollowed})
    _warn_of_idle([name for name, reason in told.items() if reason == AS_ASKED and name not in found.reasons])
    report(f"imported {len(found.graph.ops)} operations")
    return found


def _recent(model: Model) -> Model:
    """The model in an operator set that has the quantised forms."""
    return model if model.opsets.get("", 0) >= TARGET else with_types(modernised(model))


def _warn_of_idle(asked: Sequence[str]) -> None:
    """Warns of nodes that are asked to stay on the CPU but that nothing reads."""
    if asked:
        more = f" (and {len(asked) - 1} more)" if len(asked) > 1 else ""
        warnings.warn(
            f"keep in float: {asked[0]!r}{more} is kept without effect, nothing reads what it makes; leave it out", stacklevel=3
        )


def _with_rest(
    model: Model, told: Mapping[str, str], calibration: CalibrationData, choices: Choices, report: Progress, extras: Extras
) -> Quantised | None:
    """The model with its float rest quantised, if that makes no more segments of the machine.

    All of the rest is tried first, then its layers alone; None if both make more. If the user keeps nodes on the CPU, these
    make segments anyway, and all of the rest is quantised.
    """
    typed_model = with_types(model)
    alone = _imported(typed_model, told, extras)
    most = max(segments(alone.graph), 1)
    rest = [node for node in typed_model.nodes if node.name in alone.reasons and node.name not in told]
    for nodes in (rest, [node for node in rest if node.op_type in HEAVY]):
        done = with_rest_quantised(typed_model, {node.name for node in nodes}, calibration, choices, report, extras)
        if told or segments(_imported(done.model, told, extras).graph) <= most:
            return done
    report(f"left the rest in float: quantised, it would make more than {most} segments")
    return None


def _for_the_host(found: ImportedModel) -> Iterator[bytes]:
    """All models that onnxruntime is to load: the CPU parts, and the whole model."""
    yield from (op.model for op in found.graph.ops if isinstance(op, Cpu))
    yield found.oracle.SerializeToString()


def _on_the_host(model: Model) -> ImportedModel:
    """The model as it came, in one CPU part."""
    found = _imported(model, dict.fromkeys((node.name for node in model.nodes), WOULD_ABORT))
    if not all(survives(part) for part in _for_the_host(found)):
        raise ModelError(f"model {model.name}: onnxruntime aborts when it loads it; export it without control flow")
    return found


def _unfollowed(found: ImportedModel, follow: str) -> list[str]:
    """The operations that go to the CPU because they cannot follow onnxruntime's kernels."""
    least = {EXACT: 0.0, USUAL: MOST_DOUBTFUL, INEXACT: math.inf}[follow]
    return [name for name in found.inexact if found.doubtful[name] >= least]


def without(found: ImportedModel, refused: Mapping[str, str]) -> ImportedModel:
    """The model imported again with more nodes on the CPU; ``refused`` has the reason by name."""
    assert found.model is not None
    again = _imported(found.model, {**found.refused, **refused}, found.extras)
    return replace(
        again, statistics=found.statistics, float_model=found.float_model, quantised_model=found.quantised_model
    )


def _imported(
    model: Model, refused: Mapping[str, str], extras: Extras = NO_EXTRAS, watch: Watch | None = None
) -> ImportedModel:
    model = with_captures_spelt_out(model)
    ctx = interpreted(model, refused, extras)
    graph, inputs, outputs = partitioned(ctx)
    graph = optimised(graph, watch)
    reasons = {name: reason for op in graph.ops for name, reason in getattr(op, "reasons", {}).items()}
    machine = {op.name for op in graph.ops}
    inexact = {name: cases for name, cases in ctx.inexact.items() if name in machine}
    sizes = Counter[str]()
    for op in graph.ops:
        size = math.prod(graph.tensors[op.output].shape) if op.outputs else 0
        for name in {op.name, whole_of(op.name)}:
            sizes[name] += size
    doubtful = {name: ctx.shares.get(name, 0.0) * sizes[name] for name in inexact}
    defined = tuple(each for name, each in ctx.defined.items() if name in machine)
    return ImportedModel(
        graph, to_proto(with_definitions(model, defined)), inputs, outputs, _named(ctx, graph), reasons, {}, inexact=inexact,
        doubtful=doubtful, model=model, origins=ctx.origins, refused=refused, defined=defined, extras=extras,
    )  # fmt: skip


def _named(ctx: Context, graph: XGraph) -> dict[str, Port]:
    found: dict[str, Port] = {}
    for name, value in ctx.values.items():
        if not isinstance(value, Mapped) or value.tensor not in graph.tensors or ctx.model.elem(name) not in EIGHT_BITS:
            continue
        if value.tensor not in found or value.tensor == name:
            found[value.tensor] = port(ctx, name, value)
    return found
