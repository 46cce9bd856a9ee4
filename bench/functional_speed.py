"""Speed of the functional simulator on the convolutions of ResNet-50: ``python -m bench.functional_speed [base|zu2|zu9]``.

Every layer becomes tiles that fit the machine; each tile loads its input and weights, convolves and saves.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from bench.command import command
from isa.codec import Op, encode
from isa.config import MachineConfig, preset
from isa.instructions import Region
from sim.functional.machine import FunctionalMachine

MOST_ROWS = 14
MEMORY_BYTES = 1 << 22


@dataclass(frozen=True)
class Layer:
    """A convolution of ResNet-50, and how often it occurs."""

    name: str
    size: int
    """The output rows and columns."""
    channels_in: int
    channels_out: int
    k_h: int
    k_w: int
    stride: int
    times: int

    @property
    def macs(self) -> int:
        return self.times * self.size**2 * self.channels_in * self.channels_out * self.k_h * self.k_w


def resnet_50() -> list[Layer]:
    """The layers of ResNet-50. The image layer has its 7 x 3 kernel columns and channels folded into 21 channels."""
    layers = [Layer("image 7x7 stride 2", 112, 21, 64, 7, 1, 2, 1)]
    for size, width, blocks in ((56, 64, 3), (28, 128, 4), (14, 256, 6), (7, 512, 3)):
        entering, stride = (64, 1) if size == 56 else (2 * width, 2)
        layers += [
            Layer("1x1 first", size * stride, entering, width, 1, 1, 1, 1),
            Layer("1x1 reduce", size, 4 * width, width, 1, 1, 1, blocks - 1),
            Layer("3x3 stride 2", size, width, width, 3, 3, stride, 1),
            Layer("3x3", size, width, width, 3, 3, 1, blocks - 1),
            Layer("1x1 expand", size, width, 4 * width, 1, 1, 1, blocks),
            Layer("1x1 shortcut", size, entering, 4 * width, 1, 1, stride, 1),
        ]
    return layers


def tile(layer: Layer, config: MachineConfig) -> tuple[list[Op], int]:
    """The instructions of one tile, and how many such tiles make the layer."""
    all_vectors = -(-layer.channels_in // config.ic_p)
    passes = -(-layer.k_h * layer.k_w * all_vectors // config.weight_depth)
    vectors = -(-all_vectors // passes)
    beats = layer.k_h * layer.k_w * vectors
    all_chunks = -(-layer.channels_out // config.oc_p)
    chunks = min(all_chunks, config.weight_depth // beats, config.param_depth)
    out_vectors = -(-chunks * max(config.oc_p, config.ic_p) // config.ic_p)
    pitch = (layer.size - 1) * layer.stride + layer.k_w

    def words(rows: int) -> tuple[int, int]:
        height = (rows - 1) * layer.stride + layer.k_h
        return vectors * pitch * height, out_vectors * layer.size * rows

    rows = max((r for r in range(1, min(layer.size, MOST_ROWS) + 1) if sum(words(r)) <= config.fm_words), default=0)
    if not rows:
        raise SystemExit(f"preset {config.name}: one row of layer {layer.name!r} does not fit; choose a larger preset")
    o_addr = words(rows)[0]
    height = (rows - 1) * layer.stride + layer.k_h
    run, out_run = vectors * config.ic_p, out_vectors * config.ic_p
    load = Op("LOAD", {
        "rows": height, "pixels": pitch, "step": run, "run": run, "row_stride": pitch * run, "valid": pitch * run,
        "d_xs": 1, "d_ys": pitch, "d_cs": pitch * height,
    })  # fmt: skip
    loadp = Op("LOADP", {"count": chunks * beats, "buffer": 0})
    conv = Op("CONV", {
        "i_cs": pitch * height, "i_ys": layer.stride * pitch, "t_ys": pitch, "i_h": height, "i_w": pitch, "vectors": vectors,
        "s_y": layer.stride, "s_x": layer.stride, "k_h": layer.k_h, "k_w": layer.k_w, "d_y": 1, "d_x": 1, "chunks": chunks,
        "o_h": rows, "o_w": layer.size, "o_xs": 1, "o_ys": layer.size, "o_cs": layer.size * rows, "o_addr": o_addr,
        "lo": -128, "hi": 127,
    })  # fmt: skip
    save = Op("SAVE", {
        "rows": rows, "pixels": layer.size, "step": out_run, "run": out_run, "row_stride": layer.size * out_run,
        "s_addr": o_addr, "s_xs": 1, "s_ys": layer.size, "s_cs": layer.size * rows,
    })  # fmt: skip
    count = layer.times * passes * -(-all_chunks // chunks) * -(-layer.size // rows)
    return [load, loadp, conv, save], count


def main(arguments: list[str]) -> None:
    parser = command("functional_speed", __doc__)
    parser.add_argument("preset", nargs="?", default="base")
    config = preset(parser.parse_args(arguments).preset)
    machine = FunctionalMachine(config)
    memory = np.random.default_rng(1).integers(0, 256, MEMORY_BYTES, dtype=np.uint8)
    total_seconds, total_macs = 0.0, 0
    print(f"preset {config.name}\n\n{'layer':20} {'size':>5} {'tiles':>6} {'GMAC':>7} {'seconds':>8} {'GMAC/s':>7}")
    for layer in resnet_50():
        ops, count = tile(layer, config)
        body = [word for op in ops for word in encode(op)]
        program = [*encode(Op("START", {"config": config.hash})), *body * count, *encode(Op("END"))]
        begin = time.perf_counter()
        machine.run(program, memory, dict.fromkeys(Region, 0))
        seconds = time.perf_counter() - begin
        total_seconds += seconds
        total_macs += layer.macs
        rate = layer.macs / seconds / 1e9
        print(f"{layer.name:20} {layer.size:5} {count:6} {layer.macs / 1e9:7.3f} {seconds:8.3f} {rate:7.2f}")
    print(f"{'all':33} {total_macs / 1e9:7.3f} {total_seconds:8.3f} {total_macs / total_seconds / 1e9:7.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
