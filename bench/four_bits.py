"""Bytes and cycles with weights of eight and of four bits:
``python -m bench.four_bits [NETWORK ...] [--config zu9 mine.toml] [--effort quick]``.

Scales come from noise: the figures say nothing of accuracy (``bench.labelled`` does). Cycles are the cycle model's. Rows go
into docs/results/cycles.md.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from bench.command import command
from bench.network_table import CYCLES, put_row
from compiler.zoo.networks import networks
from isa.config import load_config
from tilewright.compiling import compile_model
from tilewright.running import estimated_cycles
from tilewright.summary import summary

TITLE = "Weights of four bits"
NETWORKS = ("resnet50", "mobilenet_v2")
BITS = ("8", "4")
COLUMNS = ("network", "configuration", *(f"bytes, {bits} bits" for bits in BITS), "share",
           *(f"cycles, {bits} bits" for bits in BITS), "change")  # fmt: skip


def main() -> None:
    parser = command("four_bits", __doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--config", nargs="+", default=["zu9", "base"])
    parser.add_argument("--effort", default="normal", choices=("quick", "normal", "full"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(" | ".join(COLUMNS))
    for network in arguments.networks:
        with TemporaryDirectory() as folder:
            model = Path(folder) / "model.onnx"
            onnx.save(networks()[network](), model)
            for config in map(load_config, arguments.config):
                made = [compile_model(model, config, weights=bits, effort=arguments.effort, cache=False) for bits in BITS]
                sizes = [summary(each).parameter_bytes for each in made]
                cycles = [estimated_cycles(each.program) for each in made]
                row = [
                    network, config.name, *(f"{size:,}" for size in sizes), f"{sizes[1] / sizes[0]:.2f}",
                    *(f"{count:,}" for count in cycles), f"{cycles[1] / cycles[0] - 1:+.1%}",
                ]  # fmt: skip
                print(" | ".join(row), flush=True)
                put_row(TITLE, COLUMNS, row, 2, CYCLES)


if __name__ == "__main__":
    main()
