"""A program in the shape of onnxruntime's sessions: loaded once, run on as many inputs as one likes."""

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
from sim.runtime.board import is_board, open_board
from sim.runtime.board_engine import BoardEngine
from sim.runtime.engine import Engine, Measured, make_engine
from sim.runtime.run import Run, run_on_cpu
from tilewright.inputs import Array

ENGINES = ("functional", "rtl", "cpu")


class HasProgram(Protocol):
    """What ``tilewright.compile`` and ``tilewright.load`` give."""

    @property
    def program(self) -> Program: ...


class Session:
    """``engine``: ``functional``, ``rtl`` (the generated Verilog), ``cpu`` (onnxruntime on the quantised model), or a machine
    on a board: ``uio:/dev/uio0``, ``mem:...`` (see ``sim.runtime.board``).

    Threads may share a session: each run has a memory and a simulator of its own. A board has one machine: there a run waits
    until the one before it has ended.
    """

    def __init__(self, program: str | Path | Program | HasProgram, engine: str = "functional") -> None:
        if engine not in ENGINES and not is_board(engine):
            hint = nearest(engine, ENGINES)
            raise TilewrightError(f"engine {engine!r}: unknown{hint}; known are {', '.join(ENGINES)}, uio:DEVICE and mem:...")
        if isinstance(program, str | Path):
            program = load_program(Path(program))
        self.program = program if isinstance(program, Program) else program.program
        self.engine = engine
        self.measured = Measured()
        """Of the run that ended last: cycles, beats of DRAM, counters, where the engine measures."""
        self._shared: Engine | None = None
        self._alone = threading.Lock() if is_board(engine) else nullcontext()
        if is_board(engine):
            self._shared = BoardEngine(self.program.config, open_board(engine))
        elif engine == "rtl":
            self._shared = make_engine(engine, self.program.config)

    def get_inputs(self) -> Sequence[HostTensor]:
        """Name, shape and type of each."""
        return self.program.inputs

    def get_outputs(self) -> Sequence[HostTensor]:
        return self.program.outputs

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Array]) -> list[Array]:
        """The outputs of these names, in their order; of all, in the model's order, if there are none."""
        known = [tensor.name for tensor in self.program.outputs]
        for name in output_names or ():
            if name not in known:
                raise TilewrightError(f"output {name!r}: the network has none of that name; it makes {', '.join(known)}")
        if self.engine == "cpu":
            made = run_on_cpu(self.program, input_feed)
        else:
            # The functional simulator is its buffers: a run has one of its own.
            one = Run(self.program, self._shared or make_engine(self.engine, self.program.config))
            with self._alone:
                made = one(input_feed)
            self.measured = one.measured
        return [made[name] for name in output_names or known]
