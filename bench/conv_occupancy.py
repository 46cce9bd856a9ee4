"""How busy the array is: ``python -m bench.conv_occupancy [preset ...]``.

Single tiles whose data is on chip, as many rows as fit, on the generated Verilog. ``occupancy`` is the share of the
array's products that the layer needs while CONV is busy; ``lane limit`` is what rounding channels up to lanes leaves
of it; ``of limit`` is occupancy / lane limit, that is beats / busy cycles.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from bench.command import command
from isa.codec import Op
from isa.config import PRESETS, MachineConfig, preset
from isa.instructions import PoolMode, Unit
from isa.registers import Counter
from sim.rtl.machine import RtlMachine, RtlResult
from sim.rtl.scenario import whole


@dataclass(frozen=True)
class Layer:
    name: str
    kernel: int
    stride: int
    dilation: int
    channels_in: int
    channels_out: int
    columns: int
    """The output columns."""
    folded: bool = False
    """Whether kernel columns are folded into the channels, as LOAD does it for the image."""


LAYERS = (
    Layer("3x3 64->64", 3, 1, 1, 64, 64, 56),
    Layer("1x1 256->64", 1, 1, 1, 256, 64, 56),
    Layer("1x1 64->256", 1, 1, 1, 64, 256, 56),
    Layer("3x3 stride 2 64->64", 3, 2, 1, 64, 64, 28),
    Layer("5x5 64->64", 5, 1, 1, 64, 64, 56),
    Layer("7x7 stride 2 image 3->64", 7, 2, 1, 3, 64, 112, folded=True),
    Layer("3x3 dilation 2 64->64", 3, 1, 2, 64, 64, 56),
)


@dataclass(frozen=True)
class Tile:
    """The part of a layer that fits on chip: an instruction, and the products that it needs."""

    op: Op
    channels_in: int
    rows: int
    macs: int


def tile(layer: Layer, config: MachineConfig) -> Tile:
    """A tile of as many rows as fit. If not even one fits, it has fewer input channels, then fewer columns."""
    channels, columns = layer.channels_in, layer.columns
    while True:
        made = _fit(layer, config, channels, columns)
        if made is not None:
            return made
        if channels > config.ic_p:
            channels //= 2
        else:
            columns //= 2


def _fit(layer: Layer, config: MachineConfig, channels: int, columns: int) -> Tile | None:
    k_w = 1 if layer.folded else layer.kernel
    s_x = 1 if layer.folded else layer.stride
    vectors = -(-channels * (layer.kernel if layer.folded else 1) // config.ic_p)
    pad = layer.dilation * (k_w // 2)
    width = columns * s_x
    beats = layer.kernel * k_w * vectors
    output_vectors = -(-layer.channels_out // config.ic_p)
    per_vector = config.chunks_per_word if config.chunks_per_word > 1 else 1
    chunks = output_vectors * per_vector if config.words_per_chunk == 1 else -(-output_vectors // config.words_per_chunk)
    chunks = min(chunks, config.weight_depth // beats, config.param_depth)
    if not chunks:
        return None
    outputs = min(layer.channels_out, chunks * config.oc_p)
    words_out = -(-chunks // config.chunks_per_word) * config.words_per_chunk
    rows = 0
    while True:
        in_rows = rows * layer.stride + (layer.kernel - 1) * layer.dilation + 1
        if in_rows * width * vectors + (rows + 1) * columns * words_out > config.fm_words:
            break
        rows += 1
    if not rows:
        return None
    in_rows = (rows - 1) * layer.stride + (layer.kernel - 1) * layer.dilation + 1
    op = Op("CONV", {
        "pad_l": pad, "s_y": layer.stride, "s_x": s_x, "d_y": layer.dilation, "d_x": 1 if layer.folded else layer.dilation,
        "k_h": layer.kernel, "k_w": k_w, "i_h": in_rows, "i_w": width, "i_ys": layer.stride * width,
        "t_ys": layer.dilation * width, "i_cs": in_rows * width, "vectors": vectors, "chunks": chunks,
        "o_addr": in_rows * width * vectors, "o_h": rows, "o_w": columns, "o_xs": 1, "o_ys": columns, "o_cs": rows * columns,
        "lo": -128, "hi": 127,
    })  # fmt: skip
    return Tile(op, channels, rows, rows * columns * outputs * channels * layer.kernel**2)


def depthwise(config: MachineConfig, stride: int, *, far: bool) -> Op:
    """A depthwise 3x3 convolution over 28 x 28 pixels, in the upper half of the buffer if ``far``."""
    columns = 28
    while True:
        width = columns * stride
        vectors = min(4, (config.fm_words // 2) // (width * width + columns * columns))
        if vectors:
            break
        columns //= 2
    base = config.fm_words // 2 if far else 0
    return Op("POOL", {
        "mode": int(PoolMode.DEPTHWISE), "pad_t": 1, "pad_l": 1, "s_y": stride, "s_x": stride, "d_y": 1, "d_x": 1,
        "k_h": 3, "k_w": 3, "i_h": width, "i_w": width, "i_ys": stride * width, "t_ys": width, "i_cs": width * width,
        "i_off": -width % (1 << 24), "i_addr": base, "o_addr": base + vectors * width * width, "vectors": vectors,
        "o_h": columns, "o_w": columns, "o_xs": 1, "o_ys": columns, "o_cs": columns * columns, "t_step": 9, "p_step": 1,
        "lo": -128, "hi": 127,
    })  # fmt: skip


def run(machine: RtlMachine, *ops: Op) -> RtlResult:
    return machine.run(whole(machine.config, *ops), np.zeros(4096, np.uint8), {}, trace=True)


def span(result: RtlResult, unit: Unit) -> int:
    """The cycles from the start of a unit's first instruction to the finish of its last."""
    events = [event for event in result.trace if event.unit is unit]
    return max(event.finish or 0 for event in events) - min(event.start for event in events)


def busy(result: RtlResult, unit: Unit) -> tuple[int, int]:
    counters = result.counters[unit]
    return counters[Counter.ACTIVE], counters[Counter.BUSY]


def measure(config: MachineConfig) -> None:
    machine = RtlMachine(config, check=True)
    print(f"\n{config.name}: {config.ic_p} x {config.oc_p} x {config.px_p}")
    print(f"  {'layer':26} {'in':>4} {'rows':>4} {'beats':>7} {'busy':>7} {'occupancy':>9} {'lane limit':>10} {'of limit':>8}")
    for layer in LAYERS:
        made = tile(layer, config)
        active, cycles = busy(run(machine, made.op), Unit.CONV)
        occupancy, limit = made.macs / (cycles * config.macs_per_cycle), made.macs / (active * config.macs_per_cycle)
        figures = f"{active:7} {cycles:7} {occupancy:9.3f} {limit:10.3f} {active / cycles:8.3f}"
        print(f"  {layer.name:26} {made.channels_in:4} {made.rows:4} {figures}", flush=True)
    small = Op("CONV", {**tile(LAYERS[1], config).op.values, "o_h": 1, "chunks": 1})
    beats = busy(run(machine, small), Unit.CONV)[0]
    one, two = span(run(machine, small), Unit.CONV), span(run(machine, small, small), Unit.CONV)
    print(f"  start and drain of one CONV: {one - beats} cycles; of the next one in a row: {two - one - beats}")
    if config.build_pool:
        _measure_depthwise(machine)


def _measure_depthwise(machine: RtlMachine) -> None:
    config = machine.config
    for stride in (1, 2):
        near, far = depthwise(config, stride, far=False), depthwise(config, stride, far=True)
        active, cycles = busy(run(machine, near), Unit.POOL)
        made = tile(LAYERS[0], config)
        half = Op("CONV", {**made.op.values, "o_h": max(1, made.rows // 4), "o_addr": config.fm_words // 2 - 1024})
        alone = run(machine, half)
        beside = run(machine, half, *[far] * (1 + busy(alone, Unit.CONV)[1] // cycles))
        slower = busy(beside, Unit.CONV)[1] / busy(alone, Unit.CONV)[1] - 1
        name = f"depthwise 3x3 stride {stride}"
        print(f"  {name}: {active / cycles:.3f} taps on {config.px_p} pixels per cycle; CONV beside it {slower:+.2%}")


def main(arguments: list[str]) -> None:
    parser = command("conv_occupancy", __doc__)
    parser.add_argument("presets", nargs="*", default=[*PRESETS])
    for name in parser.parse_args(arguments).presets:
        measure(preset(name))


if __name__ == "__main__":
    main(sys.argv[1:])
