"""The Python API: compile a model, run a program. ``tilewright.checking`` compares with onnxruntime."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from numpy.typing import NDArray

from compiler.driver import Compiled, Stages, check_choices, compile_graph
from compiler.frontend.edges import Edges
from compiler.frontend.idle import warn_of_empty
from compiler.frontend.model import Model
from compiler.frontend.pipeline import PLAIN, ImportedModel, import_model
from compiler.memory.least_order import ordering_of
from compiler.passes.pipeline import Watch
from compiler.programs.collection import seldom_collected
from compiler.programs.limit import bytes_of
from compiler.quantise.accuracy import Accuracy, accuracy
from compiler.quantise.arrays import read_arrays as read_arrays
from compiler.quantise.choices import USUAL, Choices
from compiler.schedule.document import Schedule
from compiler.schedule.reading import read_schedule
from compiler.search.database import open_database
from compiler.search.effort import effort_of
from compiler.search.progress import Progress
from isa.config import MachineConfig, load_config
from isa.errors import TilewrightError
from isa.instructions import Unit
from isa.program import Program
from sim.runtime.engine import CycleProgress, Measured, make_engine
from sim.runtime.run import Run, run_on_cpu
from tilewright.evaluators import measure_of
from tilewright.inputs import random_inputs as random_inputs
from tilewright.parameters import warn_of_parameters
from tilewright.profile.activity import runs
from tilewright.profile.macs import macs_of_nodes
from tilewright.progress import share_done

Array = NDArray[Any]
NAMES = {"rtl": "RTL", "functional": "functional"}


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
    keep_float: Sequence[str] = (),
    quantise_rest: bool = False,
    follow: str = USUAL,
    accuracy: float | None = None,
    top1: float | None = None,
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
) -> Compiled:
    """From ONNX to a program; ``.program`` of the result is what can be saved and run.

    ``scheme``, ``method``, ``keep_float``: how a float model is quantised, or with ``quantise_rest``
    the float nodes of one that is quantised in part (``compiler.quantise.choices``); ``accuracy`` in decibels, ``top1``: what
    layers stay in float for; ``follow``: how much of what
    cannot follow onnxruntime's kernels the CPU computes; ``edges``: what inputs and outputs are (``compiler.frontend.edges``).
    ``batch``: images at once; ``shapes``: of inputs by name. The model says both where they are left out.
    ``nodes``: the most that the model may have, those of its functions counted.
    ``cache``: costs of groups are kept in the user's cache directory, so that a second compilation searches faster.
    ``watch`` is shown the graph as it is imported, and after each pass (see ``tilewright.dump``).
    ``memory``: bytes of DRAM that feature maps may take, inputs and outputs included; ``"192K"`` is as good.
    ``schedule``: decisions, or the file that holds them; what they leave out is searched. ``.schedule`` of the result has all.
    ``effort``: ``"quick"`` times no programs, ``"full"`` weighs more groups and times more (``compiler/search/effort.py``).
    ``evaluator``: what says how long a group takes when groups are chosen (``tilewright.evaluators``).
    ``order``: how the order that needs the least DRAM is found (``compiler/memory/least_order.py``).
    """
    machine = load_config(config) if isinstance(config, str) else config
    check_choices(strategy, objective)
    effort_of(effort)
    ordering_of(order)
    measure = measure_of(evaluator, machine)
    limit = None if memory is None else bytes_of(memory)
    decided = read_schedule(Path(schedule)) if isinstance(schedule, Path | str) else schedule
    stages = Stages(progress)
    stages.begin("import")
    imported = imported_as(
        model, batch=batch, shapes=shapes, nodes=nodes, progress=progress, watch=watch, calibration=calibration, scheme=scheme,
        method=method, keep_float=keep_float, quantise_rest=quantise_rest, follow=follow, accuracy=accuracy, top1=top1,
        edges=edges,
    )  # fmt: skip
    database = open_database(machine) if cache else None
    compiled = compile_graph(
        imported, machine, strategy=strategy, objective=objective, groups=groups, stages=stages, database=database,
        memory=limit, schedule=decided, effort=effort, measure=measure, order=order,
    )  # fmt: skip
    warn_of_empty(compiled.imported)
    warn_of_parameters(compiled)
    return compiled


def imported_as(
    source: Path | str | onnx.ModelProto, *, batch: int | None = None, shapes: Mapping[str, tuple[int, ...]] | None = None,
    nodes: int | None = None, progress: Progress | None = None, watch: Watch | None = None,
    calibration: Mapping[str, Array] | None = None, scheme: str = "free", method: str = "measured",
    keep_float: Sequence[str] = (), quantise_rest: bool = False, follow: str = USUAL, accuracy: float | None = None,
    top1: float | None = None, edges: Edges = PLAIN,
) -> ImportedModel:  # fmt: skip
    """The first part of ``compile_model``, with its arguments; names that nothing goes by are refused before any work."""
    choices = Choices(scheme, method, tuple(keep_float), quantise_rest, follow, accuracy, top1)
    choices.check()
    edges.check()
    return import_model(
        source, batch=batch, shapes=shapes, nodes=nodes, progress=progress, watch=watch, calibration=calibration,
        choices=choices, edges=edges,
    )  # fmt: skip


@dataclass(frozen=True)
class Result:
    """Outputs of a run; what was measured, where the engine measures."""

    outputs: dict[str, Array]
    measured: Measured


def run_program(
    program: Program, inputs: Mapping[str, Array], engine: str = "functional", *, trace: bool = False,
    progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Run on ``functional``, ``rtl`` or ``cpu`` (onnxruntime on the quantised model)."""
    if engine == "cpu":
        return Result(run_on_cpu(program, inputs), Measured())
    told = None if progress is None else cycle_progress(program, engine, progress)
    run = Run(program, make_engine(engine, program.config, trace=trace, progress=told))
    return Result(run(inputs), run.measured)


def cycle_progress(program: Program, engine: str, progress: Progress) -> CycleProgress:
    """Turns what an engine tells into a line: how far, how fast, how long still.

    The RTL tells cycles (the cycle model knows how many there will be), the functional simulator words of the program.
    """
    since = time.perf_counter()
    total = 0
    if engine == "rtl":
        progress("RTL simulation; the first one of a machine builds its simulator, which takes a minute or two")

    def told(done: int) -> None:
        nonlocal total
        total = total or (estimated_cycles(program) if engine == "rtl" else len(program.words))
        seconds = time.perf_counter() - since
        speed = f"{done / seconds:.0f} cycles/s" if engine == "rtl" else ""
        progress(share_done(f"{NAMES[engine]} simulation", done, total, seconds, speed))

    return told


def estimated_cycles(program: Program) -> int:
    """Of all machine steps, by the cycle model."""
    return sum(result.cycles for _, result in runs(program))


def array_macs(compiled: Compiled) -> int:
    """Products of the model's convolutions and dense layers on the machine; those that only the compiler added count not."""
    macs, origins = macs_of_nodes(compiled.program), compiled.imported.origins
    layers = (layer.op.name for plan in compiled.plans for layer in plan.group.layers)
    return sum(macs.get(name, 0) for name in {origins.get(name, name) for name in layers})


def validated(compiled: Compiled, labelled: Mapping[str, Array]) -> Accuracy:
    """Top-1 of the float model and of what was made of it, in onnxruntime; ``labelled`` holds inputs and ``labels``."""
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
    """The float model, and what was made of it."""
    model, quantised = compiled.imported.float_model, compiled.imported.quantised_model
    if model is None or quantised is None:
        raise TilewrightError("validation: the model comes quantised, expected a float model; leave --validate out")
    return model, quantised


def quantised_onnx(compiled: Compiled) -> onnx.ModelProto:
    """What the program computes, as a model that onnxruntime runs; compiled again, it gives the same program."""
    return compiled.imported.oracle


def read_groups(path: Path) -> list[list[str]]:
    """Groups from a JSON file: a list of lists of operation names."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise TilewrightError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, list) or not all(isinstance(g, list) and all(isinstance(n, str) for n in g) for g in value):
        raise TilewrightError(f'{path}: expected a list of lists of operation names, as [["conv1", "pool1"]]')
    return value


def stalls(measured: Measured) -> dict[str, dict[str, int]]:
    """Counters by unit and cause, as printed."""
    return {
        unit.name: {counter.name: value for counter, value in counters.items()}
        for unit, counters in measured.counters.items()
        if isinstance(unit, Unit)
    }
