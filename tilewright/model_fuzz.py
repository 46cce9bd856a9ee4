"""Random models on random machines: compiled with a random strategy, run, and compared element by element with onnxruntime.

A case is everything that a seed draws. An error of a case is a sentence. The smallest case in which something is still wrong is
kept.
"""

from __future__ import annotations

import random
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from compiler.driver import Compiled
from compiler.frontend.documented import documented
from compiler.frontend.idle import NothingOnMachine
from compiler.quantise.choices import INEXACT
from compiler.quantise.statistics import CalibrationWarning
from compiler.xgraph.ops import Op
from compiler.zoo.long_tensors import with_long_tensors
from compiler.zoo.quantised import ACTIVATIONS, FORMS, WEIGHTS, quantised
from compiler.zoo.random_models import OLD, Recipe, build, random_recipe
from compiler.zoo.trained_like import FORMS as FORMS_LIKE
from compiler.zoo.trained_like import WEIGHTS as WEIGHTS_LIKE
from compiler.zoo.trained_like import trained_like
from isa.bounds import ConfigError
from isa.config import MachineConfig, preset
from isa.errors import TilewrightError
from sim.campaign.crash import crash
from sim.campaign.run import ALONE, How, campaign
from sim.campaign.work import Lost
from sim.random.configs import any_config
from sim.random.engines import rtl_machine
from sim.rtl.tools import MissingToolError
from sim.runtime.engine import Engine, FunctionalEngine, RtlEngine
from sim.runtime.run import Run, run_on_cpu
from tilewright.comparison import Array, Comparison, compare
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs
from tilewright.layers import compare_layers
from tilewright.parameters import ManyParameters
from tilewright.running import estimated_cycles

ENGINES = ("functional", "rtl")
SCHEMES = ("power_of_two", "free")
MORE = ("everything", "powers")
"""Marks of a form: all operators are quantised; all scales are powers of two (``compiler.zoo.quantised``)."""
LONG = "long"
"""The mark for activations of 16 bits: those of the layers of a float model, else any (``compiler.zoo.long_tensors``)."""
LONG_SHARE = 0.6
KINDS = ("refused:", "crashed:", "undocumented reason for the CPU:")
STRATEGIES = ("naive", "greedy", "dnnvm", "fuse-and-shrink", "optimus-online", "best", "efficient-s", "optimus")
ATTEMPTS = 60
"""The smaller cases that are tried for one failure."""


@dataclass(frozen=True)
class Case:
    seed: int
    recipe: Recipe
    form: tuple[str, ...]
    """A scheme for a float model, and perhaps the bits of its weights. Or the way in which onnxruntime's tool quantises it:
    activations, weights, form, and some of ``MORE``. Both may end with ``LONG``."""
    config: MachineConfig
    strategy: str
    traits: tuple[str, ...] = ()
    """The traits of trained models that it has (``compiler.zoo.trained_like``)."""

    def model(self) -> onnx.ModelProto:
        model = trained_like(build(self.recipe), self.traits, self.seed)
        if self.form[0] in SCHEMES:
            return model
        activations, weights, form, *more = self.form
        everything, powers = (name in more for name in MORE)
        made = quantised(model.SerializeToString(), activations, weights, form, everything=everything, powers=powers)
        return with_long_tensors(made, self.seed) if LONG in more else made

    def compiled(self) -> Compiled:
        scheme, *more = self.form if self.form[0] in SCHEMES else SCHEMES[:1]
        with warnings.catch_warnings():
            for category in (CalibrationWarning, NothingOnMachine, ManyParameters):
                warnings.simplefilter("ignore", category)
            return compile_model(
                self.model(), self.config, strategy=self.strategy, cache=False, scheme=scheme,
                weights="4" if "4" in more else "8", activations="16" if LONG in more else "8", follow=INEXACT,
            )  # fmt: skip

    def __str__(self) -> str:
        layers = ", ".join(layer.kind for layer in self.recipe.layers)
        form = ", ".join((" ".join(self.form), *self.traits))
        return f"{form}, {self.strategy}, {self.config.name}, {self.recipe.batch} x {self.recipe.size}: {layers}"


@dataclass
class ModelFuzzReport:
    models: int = 0
    operations: int = 0
    """The operations on the machine."""
    elements: int = 0
    inexact: int = 0
    """The models with an operation for which no constants are right in all cases, as the compiler says. If all that it reads is
    equal, it may differ by a step."""
    on_machine: dict[str, int] = field(default_factory=dict)
    """The nodes on the machine, by operator."""
    on_cpu: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.failures


def random_case(seed: int, config: MachineConfig | None = None) -> Case:
    """The case that a seed draws. ``config``: the machine; a random one if it is None."""
    rng = random.Random(f"case {seed}")
    recipe = random_recipe(seed)
    form: tuple[str, ...] = (rng.choice(SCHEMES),)
    if form == ("free",) and seed % 2:
        form = ("free", "4")
    # onnxruntime's tool asks for a newer operator set than the oldest.
    if recipe.opset > OLD and rng.random() < 0.6:
        form = (rng.choice([*ACTIVATIONS]), rng.choice([*WEIGHTS]), rng.choice([*FORMS]))
        form += tuple(name for name in MORE if rng.random() < 0.5)
    machine = config or any_config(seed)
    if machine.act16 and "QOperator" not in form and random.Random(f"long {seed}").random() < LONG_SHARE:
        form += (LONG,)
    strategy = rng.choice(STRATEGIES)
    known = [*WEIGHTS_LIKE, *(FORMS_LIKE if form[0] in SCHEMES else ())]
    traits = tuple(rng.sample(known, rng.choice((0, 0, 1, 2))))
    return Case(seed, recipe, form, machine, strategy, traits)


def run_model_fuzz(
    seed: int, count: int, engine: str = "functional", *, config: MachineConfig | None = None, machines: int | None = None,
    directory: Path | str = "fuzz-failures", keep_going: bool = False, report: Callable[[str], None] = print,
    progress: Callable[[int], None] | None = None, how: How = ALONE,
) -> ModelFuzzReport:  # fmt: skip
    """Runs the cases with seeds ``seed .. seed + count - 1``. The first that is wrong ends the run unless ``keep_going``.

    ``config``: the machine of all. ``machines``: so many random machines, those of ``sim.random.fuzz.run_machines``, each with
    ``count`` cases, in place of another machine for each case. A simulator is then built once for many cases. With ``rtl`` the
    same program also runs on the generated Verilog, and the whole memory is compared byte by byte.
    """
    if engine not in ENGINES:
        raise TilewrightError(f"engine {engine!r}: models do not run on it; known are {', '.join(ENGINES)}")
    result = ModelFuzzReport()
    start = time.monotonic()
    used = [config] if machines is None else [any_config(seed + n) for n in range(machines)]
    items = [(seed + number, used[number // count], engine) for number in range(len(used) * count)]
    of = {
        "models": [machine.hash if machine else "random" for machine in used], "seed": seed, "engine": engine,
        **({} if machines is None else {"count": count}),
    }  # fmt: skip
    with campaign(measured, items, how, of, kind=_machine) as results:
        for (number, machine, _), found in zip(items, results, strict=True):
            wrong = found.reason if isinstance(found, Lost) else found.pop("wrong")
            result.models += 1
            for name, value in ({} if isinstance(found, Lost) else found).items():
                before = getattr(result, name)
                setattr(result, name, dict(Counter(before) + Counter(value)) if isinstance(value, dict) else before + value)
            if wrong is not None:
                line = f"seed {number}: {wrong}"
                if not isinstance(found, Lost):
                    line += _shrunk_and_kept(random_case(number, machine), engine, wrong, directory)
                result.failures.append(line)
                report(line)
                if not keep_going:
                    break
            if progress is not None:
                progress(result.models)
    result.seconds = time.monotonic() - start
    return result


def _machine(item: tuple[int, MachineConfig | None, str]) -> int | None:
    """The machine that models share, or None if each has its own."""
    return None if item[1] is None else item[1].hash


def measured(item: tuple[int, MachineConfig | None, str]) -> dict[str, Any]:
    """The contribution of one case to the report, and what is wrong with it."""
    number, config, engine = item
    count = ModelFuzzReport()
    wrong = wrong_with(random_case(number, config), engine, count)
    nodes = {"on_machine": count.on_machine, "on_cpu": count.on_cpu}
    return {"wrong": wrong, "operations": count.operations, "elements": count.elements, "inexact": count.inexact, **nodes}


def _shrunk_and_kept(case: Case, engine: str, wrong: str, directory: Path | str) -> str:
    smallest = shrunk(case, engine)
    path = Path(directory) / f"model-{case.seed}"
    save_case(smallest, path, wrong_with(smallest, engine) or wrong)
    return f"; smallest model: {len(smallest.recipe.layers)} layers in {path}"


def wrong_with(case: Case, engine: str, count: ModelFuzzReport | None = None) -> str | None:
    """What is wrong with a case. None: it compiles, comes to its end, and every element is right. ``count``: a report that
    counts on the way."""
    try:
        compiled = case.compiled()
        program = compiled.program
        inputs = random_inputs(program)
        functional = Run(program, FunctionalEngine(program.config))
        rows = compare(functional(inputs), run_on_cpu(program, inputs))
        estimated_cycles(program)
        inexact = bool(compiled.imported.inexact)
        if count is not None:
            count.operations += len(compiled.imported.graph.ops)
            count.elements += sum(row.elements for row in rows)
            count.inexact += inexact
            _count_nodes(compiled, count)
        unknown = next((f"{n}: {reason}" for n, reason in compiled.imported.reasons.items() if not documented(reason)), None)
        if unknown is not None:
            return f"undocumented reason for the CPU: {unknown}"
        differing = next((row for row in rows if row.differ), None)
        if differing is not None:
            differing = unexplained(compiled, inputs) if inexact else differing
        if differing is not None:
            return str(differing)
        if engine == "functional":
            return None
        return _apart(functional, RtlEngine(program.config, stalls_seed=case.seed, machine=rtl_machine(program.config)))
    except MissingToolError:
        raise
    except TilewrightError as error:
        return f"refused: {error}"
    except Exception as error:
        return crash(error)


def _count_nodes(compiled: Compiled, count: ModelFuzzReport) -> None:
    model = compiled.imported.model
    for node in model.nodes if model is not None else ():
        side = count.on_cpu if node.name in compiled.imported.reasons else count.on_machine
        side[node.op_type] = side.get(node.op_type, 0) + 1


def unexplained(compiled: Compiled, inputs: Mapping[str, Array]) -> Comparison | None:
    """The first map that differs although all that it is made from is equal.

    A map of an operation that the compiler tells as inexact may differ by one step, or by what its table makes of one.
    """
    imported = compiled.imported
    rows = {row.tensor: row for row in compare_layers(compiled, inputs, "functional")}
    doubtful: set[str] = set()
    for op in imported.graph.ops:
        before, told = not doubtful.isdisjoint(op.inputs), op.name in imported.inexact
        for name in op.outputs:
            port = imported.tensor_names.get(name)
            row = None if port is None else rows.get(port.onnx)
            if row is not None and row.differ and not before and not (told and row.greatest <= _a_step_of(op)):
                return row
            # A map that is no tensor of the model, such as a phase of another map, is not compared.
            if (before or told) if row is None else row.differ:
                doubtful.add(name)
    return None


def _a_step_of(op: Op) -> int:
    """The difference between the results of an operation for two neighbouring values before its table, or 1 without a table."""
    finish = getattr(op, "finish", None)
    if finish is None or finish.table is None:
        return 1
    return max(1, int(np.abs(np.diff(np.roll(finish.table, 128).astype(np.int64))).max()))


def _apart(functional: Run, engine: Engine) -> str | None:
    """Compares the memory that both engines leave; returns what differs, or None."""
    other = Run(functional.program, engine)
    other(random_inputs(functional.program))
    bytes_apart = int((functional.image.memory != other.image.memory).sum())
    return f"{bytes_apart} bytes of memory differ between functional simulator and RTL" if bytes_apart else None


def shrunk(case: Case, engine: str, attempts: int = ATTEMPTS) -> Case:
    """A smaller case that is wrong in the same way: with fewer layers, a smaller map, and a machine closer to ``nano``."""
    kind = _kind(wrong_with(case, engine))
    left = attempts
    while True:
        for smaller in _smaller(case):
            if left == 0:
                return case
            left -= 1
            if _kind(wrong_with(smaller, engine)) == kind:
                case = smaller
                break
        else:
            return case


def _kind(wrong: str | None) -> str:
    """The kind of what is wrong, without its numbers, so that a refusal does not become a wrong result on the way."""
    return "" if wrong is None else wrong.partition(":")[0] if wrong.startswith(KINDS) else "differs"


def _smaller(case: Case) -> Iterator[Case]:
    recipe = case.recipe
    for number in range(len(case.traits)):
        yield replace(case, traits=case.traits[:number] + case.traits[number + 1 :])
    for number in reversed(range(len(recipe.layers))):
        yield replace(case, recipe=replace(recipe, layers=recipe.layers[:number] + recipe.layers[number + 1 :]))
    if recipe.batch > 1:
        yield replace(case, recipe=replace(recipe, batch=1))
    if recipe.inputs > 1:
        yield replace(case, recipe=replace(recipe, inputs=1))
    for axis in (0, 1):
        half = tuple(max(1, side // 2) if number == axis else side for number, side in enumerate(recipe.size))
        if half != recipe.size:
            yield replace(case, recipe=replace(recipe, size=(half[0], half[1])))
    if case.strategy != "naive":
        yield replace(case, strategy="naive")
    nano = preset("nano")
    for name in (f.name for f in fields(nano) if f.name not in ("name", "chip")):
        if getattr(case.config, name) != getattr(nano, name):
            try:
                yield replace(case, config=replace(case.config, **{name: getattr(nano, name)}))
            except ConfigError:
                continue


def save_case(case: Case, path: Path, detail: str) -> None:
    """Keeps how to see it again, the configuration, and the model if it can be made at all."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.toml").write_text(case.config.to_toml())
    known = {"4": "--weights 4", LONG: "--activations 16"}
    options = [f"--scheme {case.form[0]}", *(known[name] for name in case.form[1:])] if case.form[0] in SCHEMES else []
    scheme = "".join(f" {option}" for option in options)
    again = f"tilewright check model.onnx --config config.toml --strategy {case.strategy}{scheme}"
    (path / "case.txt").write_text(f"{detail}\n\nseed {case.seed}: {case}\n{again}\n")
    with suppress(ArithmeticError, ValueError):  # That it cannot be made is then what is wrong.
        onnx.save(case.model(), path / "model.onnx")
