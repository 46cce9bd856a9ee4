"""Small random graphs, and a check that a compiled one computes what the reference computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.emit.build import build
from compiler.emit.program import Emitted
from compiler.planning.grouping import one_each
from compiler.planning.objective import CYCLES, Objective
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, ConvTranspose, Eltwise, EltwiseKind, Finish, Op, Pool, PoolKind, Requantisation, Window
from compiler.xgraph.reference import execute
from compiler.xgraph.tensor import Quantisation, Tensor
from isa.config import MachineConfig
from isa.instructions import Region
from sim.functional.hazards import find_races
from sim.functional.machine import FunctionalMachine
from sim.random.engines import rtl_machine

Q = Quantisation(1.0, 0)


class Builder:
    """Adds operations with random constants to a graph."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.tensors: dict[str, Tensor] = {}
        self.ops: list[Op] = []
        self.inputs: list[str] = []

    def input(self, h: int, w: int, c: int, n: int = 1) -> str:
        name = f"x{len(self.inputs)}"
        self.tensors[name] = Tensor(name, (n, h, w, c), Q)
        self.inputs.append(name)
        return name

    def _add(self, kind: str, shape: tuple[int, int, int, int]) -> tuple[str, str]:
        name = f"{kind}{len(self.ops)}"
        self.tensors[f"{name}_out"] = Tensor(f"{name}_out", shape, Q)
        return name, f"{name}_out"

    def requantisation(self, channels: int, reduction: int) -> Requantisation:
        rng = self.rng
        scale = 30.0 / (60.0 * 60.0 * np.sqrt(reduction))
        mantissa = rng.integers(1 << 23, 1 << 24, channels)
        shift = np.full(channels, round(24 - float(np.log2(scale))))
        bias = rng.integers(-2000, 2000, channels)
        return Requantisation(bias.astype(np.int32), mantissa.astype(np.uint32), shift.astype(np.uint8))

    def conv(
        self, x: str, channels: int, kernel: tuple[int, int] = (3, 3), stride: tuple[int, int] = (1, 1),
        pads: tuple[int, int, int, int] | None = None, dilation: tuple[int, int] = (1, 1), groups: int = 1,
        finish: Finish | None = None,
    ) -> str:  # fmt: skip
        """Every other one has a zero-point of its weights."""
        (k_h, k_w), (d_y, d_x) = kernel, dilation
        p = pads if pads is not None else (k_h // 2 * d_y, k_w // 2 * d_x, k_h // 2 * d_y, k_w // 2 * d_x)
        n, h, w, c = self.tensors[x].shape
        oh = (h + p[0] + p[2] - (k_h - 1) * d_y - 1) // stride[0] + 1
        ow = (w + p[1] + p[3] - (k_w - 1) * d_x - 1) // stride[1] + 1
        name, out = self._add("conv", (n, oh, ow, channels))
        weights = self.rng.integers(-128, 128, (channels, k_h, k_w, c // groups)).astype(np.int8)
        q = self.requantisation(channels, k_h * k_w * c // groups)
        finish = finish or Finish(int(self.rng.integers(-20, 20)), -100, 110)
        window = Window(kernel, stride, dilation, p)
        pad_value = int(self.rng.integers(-5, 5))
        weight_zp = self._weight_zp()
        self.ops.append(Conv(name, (x,), (out,), window, weights, q, finish, groups, pad_value, weight_zp))
        return out

    def transpose(
        self, x: str, channels: int, kernel: int = 4, stride: int = 2, pad: int = 1, groups: int = 1
    ) -> str:
        n, h, w, c = self.tensors[x].shape
        size = [(d - 1) * stride - 2 * pad + kernel for d in (h, w)]
        name, out = self._add("deconv", (n, size[0], size[1], channels))
        weights = self.rng.integers(-128, 128, (channels, kernel, kernel, c // groups)).astype(np.int8)
        q = self.requantisation(channels, kernel * kernel * c // groups)
        window = Window((kernel, kernel), (stride, stride), (1, 1), (pad, pad, pad, pad))
        weight_zp = self._weight_zp()
        self.ops.append(ConvTranspose(name, (x,), (out,), window, weights, q, Finish(3), groups=groups, weight_zp=weight_zp))
        return out

    def _weight_zp(self) -> int:
        return (7, 0, -31, 0)[len(self.ops) % 4]

    def pool(self, x: str, kind: PoolKind, k: int = 2, stride: int = 2, pad: int = 0, count_pad: bool = True) -> str:
        n, h, w, c = self.tensors[x].shape
        oh, ow = [(d + 2 * pad - k) // stride + 1 for d in (h, w)]
        name, out = self._add(kind.value, (n, oh, ow, c))
        scales = {m: (0, int((1 << 23) * 1.2), 23 + int(np.log2(m))) for m in range(1, k * k + 1)}
        window = Window((k, k), (stride, stride), (1, 1), (pad, pad, pad, pad))
        pad_value = -128 if kind is PoolKind.MAX else 2
        self.ops.append(Pool(name, (x,), (out,), kind, window, Finish(), pad_value, count_pad, scales))
        return out

    def eltwise(self, kind: EltwiseKind, a: str, b: str | None = None, table: bool = False) -> str:
        name, out = self._add(kind.value, self.tensors[a].shape)
        finish = Finish(1, table=self.rng.integers(-128, 128, 256).astype(np.int8) if table else None)
        m_a = 40000 if kind is not EltwiseKind.MUL else 600
        inputs = (a,) if b is None else (a, b)
        self.ops.append(Eltwise(name, inputs, (out,), kind, m_a, 30000, 12345, 16, finish, 3, -2))
        return out

    def view(self, kind: type[Op], name: str, inputs: tuple[str, ...], shape: tuple[int, int, int, int], **fields: Any) -> str:
        """An operation without constants."""
        self.tensors[f"{name}_out"] = Tensor(f"{name}_out", shape, Q)
        self.ops.append(kind(name, inputs, (f"{name}_out",), **fields))
        return f"{name}_out"

    def graph(self, *outputs: str) -> XGraph:
        return XGraph("test", self.tensors, tuple(self.ops), tuple(self.inputs), outputs)


def pointwise_chain(length: int, h: int = 4, w: int = 4, c: int = 4) -> XGraph:
    """Convolutions of one pixel, one after another."""
    b = Builder(0)
    x = b.input(h, w, c)
    for _ in range(length):
        x = b.conv(x, c, (1, 1))
    return b.graph(x)


def memory_of(emitted: Emitted, least: int = 1) -> tuple[np.ndarray, dict[Region, int]]:
    """DRAM of at least so many bytes with the parameters in it, and where its regions begin."""
    sizes = {
        Region.CONST: len(emitted.const), Region.WORK: emitted.work_bytes,
        Region.INPUT: emitted.input_bytes, Region.OUTPUT: emitted.output_bytes,
    }  # fmt: skip
    bases, where = {}, 0
    for region, size in sizes.items():
        bases[region] = where
        where += -(-size // 4096) * 4096
    memory = np.zeros(max(where, least), np.uint8)
    memory[bases[Region.CONST] :][: len(emitted.const)] = np.frombuffer(emitted.const, np.uint8)
    return memory, bases


def run_functional(
    config: MachineConfig, graph: XGraph, emitted: Emitted, inputs: dict[str, np.ndarray], rtl: bool = False
) -> dict[str, np.ndarray]:
    """Run on the functional simulator; returns every output. ``rtl``: the generated Verilog must leave the same memory."""
    memory, bases = memory_of(emitted)
    for name, value in inputs.items():
        pixels(memory, bases, emitted, name, graph)[...] = value.view(np.uint8)
    assert not list(find_races(emitted.words, config, bases))
    if rtl:
        made = rtl_machine(config).run(emitted.words, memory, bases).memory
    FunctionalMachine(config).run(emitted.words, memory, bases)
    assert not rtl or np.array_equal(memory, made)
    return {name: pixels(memory, bases, emitted, name, graph).view(np.int8).copy() for name in graph.outputs}


def pixels(memory: np.ndarray, bases: dict[Region, int], emitted: Emitted, name: str, graph: XGraph) -> np.ndarray:
    """Where a map lies."""
    view = emitted.views[name]
    start = bases[view.region] + view.offset
    shape = graph.tensors[name].shape
    return np.lib.stride_tricks.as_strided(memory[start:], shape, (view.batch_stride, view.row_stride, view.step, 1))


def check(
    config: MachineConfig, graph: XGraph, partition: Sequence[Sequence[Op]] | None = None, seed: int = 0,
    objective: Objective = CYCLES, rtl: bool = False, bands: int = 1, given: dict[str, np.ndarray] | None = None,
) -> Emitted:  # fmt: skip
    """Compiled and run, every output is the reference's; ``given``: inputs, else random ones."""
    emitted = build(config, graph, one_each(graph) if partition is None else partition, objective, bands)
    check_emitted(config, graph, emitted, seed, rtl, given)
    return emitted


def check_emitted(
    config: MachineConfig, graph: XGraph, emitted: Emitted, seed: int = 0, rtl: bool = False,
    given: dict[str, np.ndarray] | None = None,
) -> None:  # fmt: skip
    """Run, every output is the reference's."""
    rng = np.random.default_rng(seed)
    drawn = {name: rng.integers(-128, 128, graph.tensors[name].shape).astype(np.int8) for name in graph.inputs}
    inputs = drawn if given is None else given
    expected = execute(graph, inputs)
    found = run_functional(config, graph, emitted, inputs, rtl)
    for name in graph.outputs:
        wrong = np.argwhere(found[name] != expected[name])
        assert len(wrong) == 0, f"{name}: {len(wrong)} of {expected[name].size} differ, first at {wrong[0]}"
