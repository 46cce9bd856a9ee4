"""From a model to a program: the stages of the compiler in one call, and what commands ask of their result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from compiler.driver import Compiled, Stages, check_choices, compile_graph
from compiler.frontend.edges import Edges
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.idle import warn_of_empty
from compiler.frontend.int4_weights import with_int4_weights
from compiler.frontend.model import Model
from compiler.frontend.pipeline import PLAIN, ImportedModel, import_model
from compiler.memory.least_order import ordering_of
from compiler.passes.pipeline import Watch
from compiler.programs.collection import seldom_collected
from compiler.programs.limit import bytes_of
from compiler.quantise.accuracy import Accuracy, accuracy
from compiler.quantise.choices import USUAL, Choices, decibels_of
from compiler.schedule.document import Schedule
from compiler.schedule.reading import read_schedule
from compiler.search.database import open_database
from compiler.search.effort import effort_of
from compiler.search.progress import Progress
from isa.config import MachineConfig, load_config
from isa.cores import check_count
from isa.errors import TilewrightError
from tilewright.evaluators import measure_of
from tilewright.inputs import Array
from tilewright.parameters import warn_of_parameters


@seldom_collected()
def compile_model(
    model: Path | str | onnx.ModelProto,
    config: MachineConfig | str = "base",
    *,
    strategy: str = "best",
    objective: str = "cycles",
    groups: Sequence[Sequence[str]] | None = None,
    calibration: Mapping[str, Array] | None = None,
    scheme: str = "free",
    method: str = "measured",
    keep_float: Sequence[str] | str = (),
    quantise_rest: bool = False,
    follow: str = USUAL,
    accuracy: float | str | None = None,
    top1: float | None = None,
    weights: int | str = "8",
    activations: int | str = "8",
    only: Sequence[str] | str = (),
    edges: Edges = PLAIN,
    batch: int | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    nodes: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    watch: Watch | None = None,
    memory: int | str | None = None,
    schedule: Schedule | Path | str | None = None,
    effort: str = "normal",
    evaluator: str = "analytic",
    order: str = "least",
    cores: int = 1,
) -> Compiled:
    """Compiles a model; ``.program`` of the result is what can be saved and run.

    What runs together:

    - ``strategy`` chooses the groups (``tilewright compile --strategy`` lists the names), and ``objective`` says by what:
      ``"cycles"``, ``"dram"``, ``"energy"`` or ``"memory"``. ``groups`` gives them by hand, as lists of names of operations.
    - ``effort``: ``"quick"`` times no programs, ``"full"`` weighs more groups and times more (``compiler/search/effort.py``).
    - ``evaluator`` says how long a group takes when groups are chosen (``tilewright.evaluators``).
    - ``schedule``: decisions, or the file that holds them. The compiler searches what they leave out. ``.schedule`` of the
      result holds all decisions.
    - ``memory``: the bytes of DRAM that feature maps may take, inputs and outputs included; ``"192K"`` is as good.
    - ``order`` says how the order of groups that needs the least DRAM is found (``compiler/memory/least_order.py``).
    - ``cores``: machines of one chip that share each image, so that one image takes less time.

    How a float model is quantised (``compiler.quantise.choices``):

    - ``scheme``, ``method`` and ``keep_float`` are those of ``--scheme``, ``--calibration-method`` and ``--keep-float``.
    - ``accuracy`` (decibels: ``30`` or ``"30dB"``) and ``top1``: as many layers stay in float as that takes.
    - ``weights``: their bits: 8, 4 or ``"auto"`` (``compiler.quantise.bits``).
    - ``activations``: the bits of what layers and averages read and make, 8 or 16; ``only``: which layers have 16, by name or
      pattern.
    - ``quantise_rest`` quantises the float nodes of a model that is quantised in part.
    - ``follow``: which operations that cannot follow onnxruntime's kernels the CPU computes: ``"exact"``: all, ``"usual"``:
      those that would differ in every run, ``"inexact"``: none.
    - ``edges``: types, scale and layout of inputs and outputs (``tw.Edges``).

    The model, and the work itself:

    - ``batch``: images at once; ``shapes``: the shapes of inputs by name. Without them the model's count.
    - ``nodes``: the most nodes that the model may have, those of its functions counted.
    - ``cache`` keeps the costs of groups in the user's cache directory, so that a second compilation searches faster.
    - ``progress`` is told what is being done. ``watch`` is shown the graph as it is imported, and after each pass
      (``tilewright.dump``).
    """
    machine = load_config(config) if isinstance(config, str) else config
    check_choices(strategy, objective)
    effort_of(effort)
    ordering_of(order)
    check_count(cores)
    if batch is not None and batch < 1:
        raise TilewrightError(f"batch {batch}: images are too few; give 1 or more")
    measure = measure_of(evaluator, machine)
    limit = None if memory is None else bytes_of(memory)
    decided = read_schedule(Path(schedule)) if isinstance(schedule, Path | str) else schedule
    stages = Stages(progress)
    stages.begin("import")
    imported = imported_as(
        model, batch=batch, shapes=shapes, nodes=nodes, progress=progress, watch=watch, calibration=calibration, scheme=scheme,
        method=method, keep_float=keep_float, quantise_rest=quantise_rest, follow=follow, accuracy=accuracy, top1=top1,
        weights=weights, activations=activations, only=only, edges=edges, extras=Extras.of(machine),
    )  # fmt: skip
    database = open_database(machine) if cache else None
    compiled = compile_graph(
        imported, machine, strategy=strategy, objective=objective, groups=groups, stages=stages, database=database,
        memory=limit, schedule=decided, effort=effort, measure=measure, order=order, cores=cores,
    )  # fmt: skip
    warn_of_empty(compiled.imported)
    warn_of_parameters(compiled)
    return compiled


def imported_as(
    source: Path | str | onnx.ModelProto, *, batch: int | None = None, shapes: Mapping[str, tuple[int, ...]] | None = None,
    nodes: int | None = None, progress: Progress | None = None, watch: Watch | None = None,
    calibration: Mapping[str, Array] | None = None, scheme: str = "free", method: str = "measured",
    keep_float: Sequence[str] | str = (), quantise_rest: bool = False, follow: str = USUAL,
    accuracy: float | str | None = None, top1: float | None = None, weights: int | str = "8", activations: int | str = "8",
    only: Sequence[str] | str = (),
    edges: Edges = PLAIN, extras: Extras = NO_EXTRAS,
) -> ImportedModel:  # fmt: skip
    """The first part of ``compile_model``, with its arguments; names that nothing goes by are refused before any work.

    ``extras``: of the machine.
    """
    choices = Choices(
        scheme, method, _names(keep_float), quantise_rest, follow, None if accuracy is None else decibels_of(accuracy), top1,
        str(weights), str(activations), _names(only),
    )  # fmt: skip
    choices.check()
    edges.check()
    return import_model(
        source, batch=batch, shapes=shapes, nodes=nodes, progress=progress, watch=watch, calibration=calibration,
        choices=choices, edges=edges, extras=extras,
    )  # fmt: skip


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    """The names. One name counts as a list of one."""
    return (given,) if isinstance(given, str) else tuple(given)


def validated(compiled: Compiled, labelled: Mapping[str, Array]) -> Accuracy:
    """The top-1 accuracy of the float model and of its quantised model, in onnxruntime. ``labelled`` holds inputs and
    ``labels``."""
    model, quantised = float_and_quantised(compiled)
    data = {name: value for name, value in labelled.items() if name != "labels"}
    labels = labelled.get("labels")
    if labels is None:
        raise TilewrightError(f"validation: no array 'labels' beside {', '.join(labelled)}; expected the class of each input")
    if any(len(value) != len(labels) for value in data.values()):
        sizes = ", ".join(f"{len(value)} of {name}" for name, value in data.items())
        raise TilewrightError(f"validation: {len(labels)} labels for {sizes}; expected one label for each input")
    return accuracy(model, quantised, data, labels)


def float_and_quantised(compiled: Compiled) -> tuple[Model, Model]:
    """The float model, and the quantised model that was made of it."""
    model, quantised = compiled.imported.float_model, compiled.imported.quantised_model
    if model is None or quantised is None:
        raise TilewrightError("validation: the model comes quantised, expected a float model; leave --validate out")
    return model, quantised


def quantised_onnx(compiled: Compiled) -> onnx.ModelProto:
    """The computation of the program as a model that onnxruntime runs. If it is compiled again, it gives the same program."""
    return with_int4_weights(compiled.imported.oracle)


def read_groups(path: Path) -> list[list[str]]:
    """The groups of a JSON file: a list of lists of operation names."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise TilewrightError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, list) or not all(isinstance(g, list) and all(isinstance(n, str) for n in g) for g in value):
        raise TilewrightError(f'{path}: expected a list of lists of operation names, as [["conv1", "pool1"]]')
    return value
