"""A program with the functions of onnxruntime's sessions: loaded once, run on any number of inputs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from isa.errors import TilewrightError
from isa.names import nearest
from isa.program import HostTensor, Program
from isa.program_file import load_program
from sim.runtime.batch import Batch
from sim.runtime.board import is_board, open_board
from sim.runtime.board_engine import BoardEngine
from sim.runtime.engine import Engine, Measured, make_engine
from sim.runtime.run import Run, run_on_cpu
from tilewright.batches import checked_cores, run_on_chip
from tilewright.inputs import Array

ENGINES = ("functional", "rtl", "cpu")


class HasProgram(Protocol):
    """A value with a program, as ``tilewright.compile`` and ``tilewright.load`` return."""

    @property
    def program(self) -> Program: ...


class Session:
    """A program on an engine, loaded once, for any number of runs.

    ``engine``: ``functional``, ``rtl`` (the generated Verilog), ``cpu`` (onnxruntime on the quantised model), or a machine on a
    board: ``uio:/dev/uio0``, ``mem:...`` (see ``sim.runtime.board``). ``cores``: the number of machines on one chip, for engine
    ``rtl``, which share its DRAM. They take the images of ``run_batch``; those of a program for as many cores share each image.
    Threads may share a session: each run has a memory and a simulator of its own. A board has one machine, so a run there waits
    until the one before it has ended.
    """

    def __init__(self, program: str | Path | Program | HasProgram, engine: str = "functional", cores: int = 1) -> None:
        if engine not in ENGINES and not is_board(engine):
            hint = nearest(engine, ENGINES)
            raise TilewrightError(f"engine {engine!r}: unknown{hint}; known are {', '.join(ENGINES)}, uio:DEVICE and mem:...")
        if isinstance(program, str | Path):
            program = load_program(Path(program))
        self.program = program if isinstance(program, Program) else program.program
        self.engine = engine
        self.cores = checked_cores(self.program, engine, cores)
        self.measured = Measured()
        """The counts of the run that ended last: cycles, beats of DRAM, counters, where the engine measures."""
        self.batch: Batch | None = None
        """The batch that ended last, where the engine measures: the cycles of all, which machine ran which image, what was
        idle."""
        self._shared: Engine | None = None
        self._alone = threading.Lock() if is_board(engine) else nullcontext()
        if is_board(engine):
            self._shared = BoardEngine(self.program.config, open_board(engine))
        elif engine == "rtl":
            self._shared = make_engine(engine, self.program.config)

    def get_inputs(self) -> Sequence[HostTensor]:
        """The name, shape and type of each input."""
        return self.program.inputs

    def get_outputs(self) -> Sequence[HostTensor]:
        return self.program.outputs

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Array]) -> list[Array]:
        """Runs the program; returns the outputs of these names, in their order. Without names it returns all, in the model's
        order."""
        names = self._names(output_names)
        if self.engine == "cpu":
            made = run_on_cpu(self.program, input_feed)
        elif self.engine == "rtl" and self.cores > 1 and self.program.cores > 1:
            batch = run_on_chip(self.program, self.cores, [input_feed])
            (made,), (self.measured,) = batch.outputs, batch.measured
        else:
            # The functional simulator holds the buffers, so each run has its own simulator.
            one = Run(self.program, self._shared or make_engine(self.engine, self.program.config))
            with self._alone:
                made = one(input_feed)
            self.measured = one.measured
        return [made[name] for name in names]

    def run_batch(
        self, output_names: Sequence[str] | None, input_feeds: Sequence[Mapping[str, Array]]
    ) -> list[list[Array]]:  # fmt: skip
        """Runs a batch; returns the outputs of each image, in the order of the images, as ``run`` does.

        With engine ``rtl`` every machine takes the next image when it is free, on one simulated chip.
        """
        names = self._names(output_names)
        if self.engine != "rtl":
            return [self.run(output_names, feed) for feed in input_feeds]
        batch = run_on_chip(self.program, self.cores, input_feeds)
        self.batch = batch
        return [[made[name] for name in names] for made in batch.outputs]

    def _names(self, asked: Sequence[str] | None) -> Sequence[str]:
        """The names of the outputs that are asked for."""
        known = [tensor.name for tensor in self.program.outputs]
        if isinstance(asked, str):
            raise TilewrightError(f"output names {asked!r}: one text; expected a list of names, as [{asked!r}]")
        for name in asked or ():
            if name not in known:
                raise TilewrightError(f"output {name!r}: the network has none of that name; it makes {', '.join(known)}")
        return asked or known
