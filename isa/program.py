"""The program: all that a host needs to run a network on the machine, and that tools need to explain it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from isa.config import MachineConfig
from isa.cores import MOST_CORES
from isa.debug import DebugRecord
from isa.errors import TilewrightError
from isa.instructions import Region
from isa.onnx_parts import reads_files

ELEMENT_BYTES = {"int8": 1, "uint8": 1, "int16": 2, "int32": 4, "float32": 4}
"""The element types that a buffer may have."""
WHOLE_MODEL = "model"
"""The CPU subgraph that is the whole quantised network. The machine's results are compared with it."""
MOST_DIMENSIONS = 32
"""The most dimensions of a buffer; drivers walk through all of them for each element."""
_LIMIT = 1 << 32
"""Offsets within a region have 32 bits, and so have counts of elements."""


class ProgramError(TilewrightError):
    """Raised for a program, or a program file, that cannot be used."""


@dataclass(frozen=True)
class TensorBuffer:
    """A tensor in DRAM that the host, or a CPU subgraph, writes or reads."""

    name: str
    region: Region
    offset: int
    """The first byte, from the base of the region."""
    shape: tuple[int, ...]
    """The shape in the order of the host's array. Several dimensions may make up one of the host's."""
    type: str = "int8"
    scale: float = 1.0
    zero_point: int = 0
    strides: tuple[int, ...] = ()
    """The bytes from neighbour to neighbour along each dimension; empty: dense."""
    host_shape: tuple[int, ...] = ()
    """The shape of the host's array; empty: ``shape``."""
    flipped: bool = False
    """Whether memory holds the elements with the top bit toggled (a uint8 tensor within the network)."""

    @property
    def layout(self) -> tuple[int, ...]:
        """The strides in bytes; dense ones are worked out."""
        if self.strides:
            return self.strides
        sizes = (*self.shape[1:], ELEMENT_BYTES[self.type])
        return tuple(math.prod(sizes[axis:]) for axis in range(len(self.shape)))

    @property
    def nbytes(self) -> int:
        """The bytes from the first to the last element, both included."""
        spans = ((size - 1) * stride for size, stride in zip(self.shape, self.layout, strict=True))
        return sum(spans) + ELEMENT_BYTES[self.type]


@dataclass(frozen=True)
class CpuGraph:
    """A part of the network that runs in onnxruntime: its inputs and outputs carry the names of buffers."""

    name: str
    model: bytes
    """The serialised ONNX model."""


@dataclass(frozen=True)
class HostTensor:
    """An input or output of the network, as the host gives or gets it."""

    name: str
    shape: tuple[int, ...]
    type: str


@dataclass(frozen=True)
class MachineStep:
    """A step that runs the instructions from ``first_word``, which is START, to END."""

    first_word: int
    words: int
    core: int = 0
    """The core that runs them, if several share an image (``Program.phases``)."""


@dataclass(frozen=True)
class Conversion:
    """QuantizeLinear, if the source is float32, or DequantizeLinear with one scale, as onnxruntime computes it."""

    source: str
    target: str
    scale: float
    """The scale, a float32."""
    zero_point: int


@dataclass(frozen=True)
class CpuStep:
    """A step that runs a CPU subgraph."""

    graph: str
    conversions: tuple[Conversion, ...] = ()
    """The conversions, if the subgraph does nothing else. A host without onnxruntime can run them. Empty if it does something
    else."""


@dataclass(frozen=True)
class Program:
    """One compiled or assembled program."""

    config: MachineConfig
    words: tuple[int, ...]
    """The instructions."""
    const: bytes = b""
    """The image of the CONST region: weights, requantisation records, taps, tables."""
    work_bytes: int = 0
    """The sizes of the regions that the host provides."""
    input_bytes: int = 0
    output_bytes: int = 0
    buffers: tuple[TensorBuffer, ...] = ()
    cpu_graphs: tuple[CpuGraph, ...] = ()
    debug: tuple[DebugRecord, ...] = field(default=(), repr=False)
    """The debug records in the order of their word offsets."""
    steps: tuple[MachineStep | CpuStep, ...] = ()
    """The steps of the host, in order; empty: one machine step with all instructions."""
    inputs: tuple[HostTensor, ...] = ()
    outputs: tuple[HostTensor, ...] = ()
    """The outputs of the network. Each is a buffer of that name, or belongs to CPU subgraphs."""

    def __post_init__(self) -> None:
        for pc, word in enumerate(self.words):
            if not 0 <= word < _LIMIT:
                raise ProgramError(f"program word {pc}: {word} does not fit into 32 bits")
        for region in Region:
            if not 0 <= self.region_bytes(region) < _LIMIT:
                raise ProgramError(f"program region {region.name}: {self.region_bytes(region)} bytes, expected less than 2^32")
        _check_names("buffer", (buffer.name for buffer in self.buffers))
        _check_names("CPU subgraph", (graph.name for graph in self.cpu_graphs))
        for graph in self.cpu_graphs:
            _check_whole(graph)
        for buffer in self.buffers:
            self._check_buffer(buffer)
        self._check_steps()
        self._check_debug()

    def region_bytes(self, region: Region) -> int:
        """The bytes of DRAM that the program uses in a region."""
        return {
            Region.CONST: len(self.const),
            Region.WORK: self.work_bytes,
            Region.INPUT: self.input_bytes,
            Region.OUTPUT: self.output_bytes,
        }[region]

    @property
    def run_order(self) -> tuple[MachineStep | CpuStep, ...]:
        return self.steps or (MachineStep(0, len(self.words)),)

    @cached_property
    def phases(self) -> tuple[CpuStep | tuple[MachineStep, ...], ...]:
        """The run order, with those steps together that different cores may run at the same time: neighbours of rising cores.

        None of them reads or writes what another writes, so one core may as well run them one after the other.
        """
        found: list[CpuStep | tuple[MachineStep, ...]] = []
        for step in self.run_order:
            last = found[-1] if found else ()
            if isinstance(step, CpuStep):
                found.append(step)
            elif isinstance(last, tuple) and last and last[-1].core < step.core:
                found[-1] = (*last, step)
            else:
                found.append((step,))
        return tuple(found)

    @property
    def cores(self) -> int:
        """The number of cores that share an image. With 1 one core runs all of it."""
        return 1 + max((step.core for step in self.run_order if isinstance(step, MachineStep)), default=0)

    def origin(self, pc: int) -> DebugRecord | None:
        """The debug record of the instruction at, or around, a word offset."""
        place = bisect_right(self._debug_pcs, pc) - 1
        return self.debug[place] if place >= 0 else None

    @cached_property
    def _debug_pcs(self) -> list[int]:
        return [record.pc for record in self.debug]

    def _check_buffer(self, buffer: TensorBuffer) -> None:
        if buffer.type not in ELEMENT_BYTES:
            raise ProgramError(f"buffer {buffer.name}: type {buffer.type!r}, expected one of {', '.join(ELEMENT_BYTES)}")
        if buffer.flipped and ELEMENT_BYTES[buffer.type] > 1:
            raise ProgramError(f"buffer {buffer.name}: flipped {buffer.type}, expected int8 or uint8: only bytes are flipped")
        if len(buffer.shape) > MOST_DIMENSIONS:
            raise ProgramError(f"buffer {buffer.name}: {len(buffer.shape)} dimensions, expected at most {MOST_DIMENSIONS}")
        if any(size < 1 for size in buffer.shape):
            raise ProgramError(f"buffer {buffer.name}: shape {list(buffer.shape)}, expected sizes of at least 1")
        if not (math.isfinite(buffer.scale) and buffer.scale > 0):
            raise ProgramError(f"buffer {buffer.name}: scale {buffer.scale}, expected a positive number")
        if buffer.strides and len(buffer.strides) != len(buffer.shape):
            raise ProgramError(f"buffer {buffer.name}: strides {list(buffer.strides)} do not fit shape {list(buffer.shape)}")
        if any(stride < 1 for stride in buffer.strides):
            raise ProgramError(f"buffer {buffer.name}: strides {list(buffer.strides)}, expected at least 1 byte")
        if buffer.host_shape and math.prod(buffer.host_shape) != math.prod(buffer.shape):
            raise ProgramError(
                f"buffer {buffer.name}: host shape {list(buffer.host_shape)} has not as many elements as {list(buffer.shape)}"
            )
        room = self.region_bytes(buffer.region)
        if not 0 <= buffer.offset <= buffer.offset + buffer.nbytes <= room:
            end = buffer.offset + buffer.nbytes
            raise ProgramError(
                f"buffer {buffer.name}: bytes {buffer.offset}..{end} lie outside the {room} bytes of {buffer.region.name}"
            )

    def _check_steps(self) -> None:
        graphs = {graph.name for graph in self.cpu_graphs}
        for step in self.steps:
            if isinstance(step, CpuStep) and step.graph not in graphs:
                raise ProgramError(f"CPU step {step.graph!r}: no such CPU subgraph")
            if isinstance(step, MachineStep) and not 0 <= step.first_word < step.first_word + step.words <= len(self.words):
                end = step.first_word + step.words
                raise ProgramError(f"machine step {step.first_word}..{end}: outside the program's {len(self.words)} words")
            if isinstance(step, MachineStep) and not 0 <= step.core < MOST_CORES:
                raise ProgramError(f"machine step at word {step.first_word}: core {step.core}, expected 0 to {MOST_CORES - 1}")
        for kind, tensors in (("input", self.inputs), ("output", self.outputs)):
            _check_names(kind, (tensor.name for tensor in tensors))
            for tensor in tensors:
                if not all(0 <= size < _LIMIT for size in (*tensor.shape, math.prod(tensor.shape))):
                    shape = list(tensor.shape)
                    raise ProgramError(f"{kind} {tensor.name!r}: shape {shape}, expected sizes and elements of 0 to 2^32 - 1")

    def _check_debug(self) -> None:
        last = -1
        for record in self.debug:
            if not last < record.pc < len(self.words):
                raise ProgramError(
                    f"debug record of {record}: word {record.pc}, expected a value above {last} and below {len(self.words)}"
                )
            if "\0" in record.layer or (record.tile is not None and not 0 <= record.tile < 1 << 31):
                raise ProgramError(f"debug record of word {record.pc}: {record.layer!r}, tile {record.tile} cannot be stored")
            last = record.pc


def _check_whole(graph: CpuGraph) -> None:
    """Refuses a part that names files, since it would make a host read whatever lies there."""
    found = reads_files(graph.model)
    if found is not None:
        raise ProgramError(
            f"CPU subgraph {graph.name!r}: {found}: data in a file of its own, expected a model with all its data in it; "
            "compile the model again"
        )


def _check_names(kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if not name or not name.isprintable():
            raise ProgramError(f"{kind} {name!r}: expected a name of printable characters")
        if name in seen:
            raise ProgramError(f"{kind} {name!r}: the name is given twice; names must differ")
        seen.add(name)
