"""Runs a program: inputs in, outputs out, whatever each step runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from isa.faults import MachineFault
from isa.program import WHOLE_MODEL, HostTensor, MachineStep, Program
from sim.runtime.engine import Engine, Measured
from sim.runtime.image import Array, HostError, Image
from sim.runtime.oracle import INTEGER
from sim.runtime.parts import host_sessions, run_session, session
from sim.runtime.sessions import onnxruntime

Progress = Callable[[int, int], None]
"""A function that is told the phases done and the phases in all."""


class Run:
    """One program on one engine. ``image``, ``measured`` and ``outputs`` can be read after a run."""

    def __init__(self, program: Program, engine: Engine) -> None:
        """``engine`` executes the machine steps of a call."""
        self.program, self.engine = program, engine
        self.image = Image(program)
        self.measured = Measured()
        self.outputs: dict[str, Array] = {}
        self._sessions = host_sessions(program)

    def __call__(self, inputs: Mapping[str, Array], progress: Progress | None = None) -> dict[str, Array]:
        for phase in self.phases(inputs, progress):
            for step in phase:
                with at(step):
                    self.engine.run(self.words(step), step.first_word, self.image, self.measured)
        return self.outputs

    def words(self, step: MachineStep) -> Sequence[int]:
        return self.program.words[step.first_word : step.first_word + step.words]

    def phases(
        self, inputs: Mapping[str, Array], progress: Progress | None = None
    ) -> Iterator[tuple[MachineStep, ...]]:
        """Yields the machine steps of each phase when the caller must execute them on the image, together or one after the
        other.

        It runs the parts on the CPU in between. ``outputs`` are known at the end.
        """
        host = check_inputs(self.program.inputs, inputs)
        for name, value in host.items():
            if self.image.holds(name):
                self.image.write(name, value)
        phases = self.program.phases
        for number, phase in enumerate(phases):
            if isinstance(phase, tuple):
                yield phase
            else:
                self._cpu(self._sessions[phase.graph], host)
            if progress is not None:
                progress(number + 1, len(phases))
        names = [tensor.name for tensor in self.program.outputs]
        self.outputs = {name: host[name] if name in host else self.image.read(name) for name in names}

    def _cpu(self, part: onnxruntime.InferenceSession, host: dict[str, Array]) -> None:
        """Runs a CPU part, which reads host arrays and machine buffers, and writes both."""
        feeds = {
            value.name: host[value.name] if value.name in host else self.image.read(value.name) for value in part.get_inputs()
        }
        names = [value.name for value in part.get_outputs()]
        for name, value in zip(names, run_session(part, names, feeds), strict=True):
            host[name] = value
            if self.image.holds(name):
                self.image.write(name, value)


@contextmanager
def at(step: MachineStep) -> Iterator[None]:
    """Changes a fault in a step so that it names the word of the whole program."""
    try:
        yield
    except MachineFault as fault:
        raise MachineFault(fault.fault, step.first_word + fault.pc, fault.detail) from None


def run_on_cpu(program: Program, inputs: Mapping[str, Array], kind: str = INTEGER) -> dict[str, Array]:
    """Runs the quantised network in onnxruntime, which reads it as ``sim.runtime.oracle`` says."""
    names = [t.name for t in program.outputs]
    model = session(whole_model(program), kind=kind)
    return dict(zip(names, run_session(model, names, check_inputs(program.inputs, inputs)), strict=True))


def whole_model(program: Program) -> bytes:
    """The quantised network as ONNX."""
    graph = next((g for g in program.cpu_graphs if g.name == WHOLE_MODEL), None)
    if graph is None:
        raise HostError("this program carries no model for the CPU; compile it from ONNX, or choose another engine")
    return graph.model


def check_inputs(expected: tuple[HostTensor, ...], given: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the inputs by name; raises ``HostError`` unless each has the right shape and type."""
    wanted = ", ".join(f"{t.name} {t.type}{list(t.shape)}" for t in expected) or "none"
    if not isinstance(given, Mapping):
        raise HostError(f"inputs of type {type(given).__name__}: expected arrays by name, as {wanted}; give a dictionary")
    names = {t.name for t in expected}
    unknown = [name for name in given if name not in names]
    if unknown:
        raise HostError(f"input {unknown[0]!r}: the network has none of that name; it takes {wanted}")
    checked: dict[str, Array] = {}
    for tensor in expected:
        if tensor.name not in given:
            raise HostError(f"input {tensor.name!r} is missing; the network takes {wanted}")
        value = np.asarray(given[tensor.name])
        if tuple(value.shape) != tensor.shape:
            raise HostError(f"input {tensor.name!r}: shape {list(value.shape)}, expected {list(tensor.shape)}")
        if value.dtype != np.dtype(tensor.type):
            raise HostError(f"input {tensor.name!r}: type {value.dtype}, expected {tensor.type}; convert it")
        checked[tensor.name] = np.asarray(value, order="C")
    return checked
