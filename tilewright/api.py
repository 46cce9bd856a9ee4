"""``tw.compile`` and ``tw.load``, and what they return: a program that can be saved, run, checked, explained and reported.

The command line is made of these; ``tilewright`` exports what is public here.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from compiler import driver
from compiler.frontend.edges import Edges
from compiler.frontend.pipeline import PLAIN
from compiler.search.effort import effort_of
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.program import HostTensor, Program
from isa.program_file import load_program, program_bytes
from tilewright.calibration import Calibration, arrays_of, float_shapes
from tilewright.checking import Check, check
from tilewright.compiling import compile_model, quantised_onnx
from tilewright.configuration import Config, machine_of
from tilewright.explain.explained import Explanation, explained
from tilewright.explain.source import of_program
from tilewright.exporting import ExampleInputs, exported
from tilewright.inputs import Array, random_inputs
from tilewright.measure import timing_of
from tilewright.options import write_files
from tilewright.processors import Processor, processor_of
from tilewright.profile.activity import Timing, modelled
from tilewright.profile.timeline import TRACE_FILE, timeline
from tilewright.profile.whole import WholeTime, whole_time
from tilewright.report.page import PAGE_FILE, page
from tilewright.running import run_program
from tilewright.summary import Summary, summary


class OfProgram:
    """The functions of a program, compiled just now or loaded from a file."""

    program: Program
    cpu: str | None
    """The processor whose times the parts on the CPU take. None: that of the configuration's chip."""

    @property
    def config(self) -> Config:
        return Config(self.program.config)

    @property
    def inputs(self) -> tuple[HostTensor, ...]:
        """The name, shape and type of each input."""
        return self.program.inputs

    @property
    def outputs(self) -> tuple[HostTensor, ...]:
        return self.program.outputs

    @property
    def processor(self) -> Processor:
        return processor_of(self.cpu, self.program.config)

    @property
    def time(self) -> WholeTime:
        """The time end to end: machine by the cycle model, parts on the CPU, transfers."""
        return self._whole(modelled(self.program))

    def save(self, path: str | Path) -> Path:
        """Writes the program file, which ``load``, ``Session`` and the drivers read."""
        write_files([(Path(path), program_bytes(self.program))])
        return Path(path)

    def run(self, inputs: Mapping[str, Array] | Array, engine: str = "functional") -> dict[str, Array]:
        """Runs the program; returns the outputs by name. ``engine``: functional, rtl, cpu (onnxruntime). To run often, or on a
        board: ``Session``."""
        return run_program(self.program, self._named(inputs), engine).outputs

    def report(self, folder: str | Path, *, engine: str = "cycle", title: str = "program") -> list[Path]:
        """Writes ``report.html`` and ``trace.json`` (for Perfetto); returns the files. ``engine``: cycle, or rtl."""
        timing = timing_of(self.program, engine, None, quiet=True)
        whole = self._whole(timing)
        files = {
            PAGE_FILE: page(self.program, timing, whole, title), TRACE_FILE: json.dumps(timeline(self.program, timing, whole)),
        }  # fmt: skip
        write_files((Path(folder) / name, text.encode()) for name, text in files.items())
        return [Path(folder) / name for name in files]

    def explain(self, effort: str = "normal") -> Explanation:
        """Explains which operations run together, what that saves, what was second best, and what no partition undercuts."""
        chosen = of_program(self.program, "program", effort_of(effort))
        return explained(chosen, "cycles", self.time)

    def verilog(self, folder: str | Path, **style: Any) -> list[Path]:
        """Writes the machine that the program runs on (see ``Config.verilog``)."""
        return self.config.verilog(folder, **style)

    def _whole(self, timing: Timing) -> WholeTime:
        return whole_time(self.program, timing.steps, self.processor, timing.source)

    def _named(self, inputs: Mapping[str, Array] | Array) -> Mapping[str, Array]:
        if isinstance(inputs, Mapping):
            return inputs
        if len(self.inputs) != 1:
            names = ", ".join(tensor.name for tensor in self.inputs)
            raise TilewrightError(f"inputs: one array for a network of {len(self.inputs)} inputs; give them by name: {names}")
        return {self.inputs[0].name: np.asarray(inputs)}


@dataclass(frozen=True, eq=False)
class Loaded(OfProgram):
    """A program from a file."""

    program: Program
    cpu: str | None = None

    def __repr__(self) -> str:
        return f"<Loaded program for {self.program.config.name}, {len(self.program.words)} words>"


@dataclass(frozen=True, eq=False)
class Compiled(driver.Compiled, OfProgram):
    """A program and how it was compiled. ``schedule`` holds all decisions, for ``compile(..., schedule=...)``."""

    cpu: str | None = None

    @property
    def summary(self) -> Summary:
        """The summary of the compilation. It prints as a table; every line is an attribute."""
        return summary(self, self.processor)

    @property
    def quantised(self) -> onnx.ModelProto:
        """The computation of the program as a model that onnxruntime runs. If it is compiled again, it gives the same
        program."""
        return quantised_onnx(self)

    def check(
        self, inputs: Mapping[str, Array] | Array | None = None, *, engine: str = "functional", oracle: str = "integer",
        per_layer: bool = False,
    ) -> Check:  # fmt: skip
        """Compares outputs, or every tensor, with onnxruntime's: see ``.equal``. Inputs are random if none are given."""
        given = random_inputs(self.program) if inputs is None else self._named(inputs)
        return check(self, given, engine, oracle=oracle, per_layer=per_layer)

    def __repr__(self) -> str:
        return f"<Compiled for {self.program.config.name}: {len(self.plans)} groups, {len(self.program.words)} words>"


def compile(
    model: Any, config: str | Path | Config | MachineConfig = "base", *, calibration: Calibration | None = None,
    example_inputs: ExampleInputs | None = None, cpu: str | None = None, edges: Edges = PLAIN, **how: Any,
) -> Compiled:  # fmt: skip
    """Compiles a model to a program.

    ``model``: the path of an ONNX or TFLite file, an ``onnx.ModelProto``, or, with ``example_inputs``, a ``torch.nn.Module``
    (or a ``torch.export`` program, which has its own). ``config``: a preset, a TOML file, a ``Config``. ``calibration``, for
    float models: arrays by name, one array, batches of either, an NPZ or NumPy file, a folder of images, ``Images``. ``cpu``:
    the processor of the parts on the CPU, as ``--cpu``. ``how``: arguments of ``tilewright.compiling.compile_model``.
    """
    machine = machine_of(config)
    processor_of(cpu, machine)
    source = exported(model, example_inputs)
    arrays = None if calibration is None else arrays_of(calibration, lambda: float_shapes(source, how.get("shapes") or {}))
    made = compile_model(source, machine, calibration=arrays, edges=edges, **how)
    return Compiled(**{field.name: getattr(made, field.name) for field in dataclasses.fields(made)}, cpu=cpu)


def load(path: str | Path, *, cpu: str | None = None) -> Loaded:
    """Loads the program of a file."""
    program = load_program(Path(path))
    processor_of(cpu, program.config)
    return Loaded(program, cpu)
