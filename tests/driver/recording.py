"""What the parts of a network on the processor are given and give: a record that ``c/replay.c`` goes by."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np

from isa.program import CpuStep, Program
from sim.runtime.engine import FunctionalEngine
from sim.runtime.image import Array
from sim.runtime.run import Run
from sim.runtime.sessions import onnxruntime


class Recorder(Run):
    """On the functional simulator."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, FunctionalEngine(program.config))
        self._known = {buffer.name for buffer in program.buffers}
        self._known |= {tensor.name for tensor in (*program.inputs, *program.outputs)}
        self.entries: list[bytes] = []

    def _cpu(self, part: onnxruntime.InferenceSession, host: dict[str, Array]) -> None:
        given = {v.name: host[v.name] if v.name in host else self.image.read(v.name) for v in part.get_inputs()}
        super()._cpu(part, host)
        made = {v.name: host[v.name] for v in part.get_outputs()}
        tensors = [
            self._tensor(kind, name, value)
            for kind, values in enumerate((given, made))
            for name, value in values.items()
            if name in self._known  # the others go from one part to another
        ]
        self.entries.append(struct.pack("<I", len(tensors)) + b"".join(tensors))

    def _tensor(self, kind: int, name: str, value: Array) -> bytes:
        content = np.ascontiguousarray(value).tobytes()
        return struct.pack("<I", kind) + name.encode() + b"\0" + struct.pack("<I", len(content)) + content


def recorded(program: Program, feeds: Sequence[Mapping[str, Array]]) -> bytes:
    """Of one inference after the other. What only converts is left out: the driver does that itself."""
    steps = [step for step in program.run_order if isinstance(step, CpuStep)]
    record = b""
    for feed in feeds:
        run = Recorder(program)
        run(feed)
        for step, entry in zip(steps, run.entries, strict=True):
            record += b"" if step.conversions else step.graph.encode() + b"\0" + entry
    return record
