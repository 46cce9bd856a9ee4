"""Bytes and cycles with weights of eight and of four bits:
``python -m bench.four_bits [NETWORK ...] [--config zu9 mine.toml] [--effort quick]``, with
``[--rtl [--objective dram] [--dram-bytes 2]]`` on the Verilog.

Scales come from noise: the figures say nothing of accuracy (``bench.labelled`` does). Cycles are the cycle model's; with
``--rtl`` they are the machine's, and memory is compared with the functional simulator's. ``--dram-bytes``: what DRAM gives or
takes there in a cycle, where that is less than the bus. Rows go into docs/results/cycles.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from bench.command import command
from bench.network_table import CYCLES, put_row
from bench.networks_rtl import on_both
from compiler.driver import Compiled
from compiler.zoo.networks import networks
from isa.config import MachineConfig, load_config
from sim.cycle.cores import batch_cycles
from sim.rtl.memory import Dram
from tilewright.compiling import compile_model
from tilewright.running import estimated_cycles
from tilewright.summary import summary

TITLE = "Weights of four bits"
NETWORKS = ("resnet50", "mobilenet_v2")
BITS = ("8", "4")
COLUMNS = ("network", "configuration", *(f"bytes, {bits} bits" for bits in BITS), "share",
           *(f"cycles, {bits} bits" for bits in BITS), "change")  # fmt: skip
RTL_TITLE = "Weights of four bits on the RTL"
RTL_COLUMNS = (
    "network", "configuration", "least", "DRAM bytes a cycle", "bytes that differ", *(f"cycles, {bits} bits" for bits in BITS),
    "change", *(f"DRAM at work, {bits} bits" for bits in BITS), *(f"model off by, {bits} bits" for bits in BITS),
)  # fmt: skip


def model_row(made: Sequence[Compiled]) -> list[str]:
    sizes = [summary(each).parameter_bytes for each in made]
    cycles = [estimated_cycles(each.program) for each in made]
    return [*(f"{size:,}" for size in sizes), f"{sizes[1] / sizes[0]:.2f}", *compared(cycles)]


def rtl_row(made: Sequence[Compiled], config: MachineConfig, dram_bytes: int) -> list[str]:
    """The row on the Verilog. ``dram_bytes``: the bytes that DRAM moves in a cycle, or 0 for all that the bus carries."""
    dram = Dram(config.dram_latency, total=dram_bytes)
    ran = [on_both(each.program, config, dram)[:2] for each in made]
    cycles = [measured.counted_cycles for _, measured in ran]
    model = [batch_cycles(each.program, 1, 1, dram_bytes) for each in made]
    rate = dram_bytes or config.axi_bytes
    moved = [(measured.read_beats + measured.write_beats) * config.axi_bytes for _, measured in ran]
    return [
        str(rate), str(sum(differ for differ, _ in ran)), *compared(cycles),
        *(f"{size / rate / count:.0%}" for size, count in zip(moved, cycles, strict=True)),
        *(f"{told / count - 1:+.2%}" for told, count in zip(model, cycles, strict=True)),
    ]  # fmt: skip


def compared(cycles: Sequence[int]) -> list[str]:
    return [*(f"{count:,}" for count in cycles), f"{cycles[1] / cycles[0] - 1:+.1%}"]


def main() -> None:
    parser = command("four_bits", __doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--config", nargs="+", default=["zu9", "base"])
    parser.add_argument("--effort", default="normal", choices=("quick", "normal", "full"))
    parser.add_argument("--rtl", action="store_true", help="on the Verilog")
    parser.add_argument("--objective", default="cycles", choices=("cycles", "dram"), help="what a program is to have least of")
    parser.add_argument("--dram-bytes", type=int, default=0, help="of the RTL's memory in a cycle; else as many as the bus")
    chosen = parser.parse_args()
    if not chosen.rtl and (chosen.objective != "cycles" or chosen.dram_bytes):
        parser.error("--objective and --dram-bytes: give --rtl, too")
    warnings.simplefilter("ignore")
    print(" | ".join(RTL_COLUMNS if chosen.rtl else COLUMNS))
    for network in chosen.networks:
        with TemporaryDirectory() as folder:
            model = Path(folder) / "model.onnx"
            onnx.save(networks()[network](), model)
            for config in map(load_config, chosen.config):
                made = [
                    compile_model(
                        model, config, weights=bits, effort=chosen.effort, objective=chosen.objective, cache=False
                    ) for bits in BITS
                ]  # fmt: skip
                if chosen.rtl:
                    key = [network, config.name, chosen.objective]
                    show(RTL_TITLE, RTL_COLUMNS, 4, [*key, *rtl_row(made, config, chosen.dram_bytes)])
                else:
                    show(TITLE, COLUMNS, 2, [network, config.name, *model_row(made)])


def show(title: str, columns: Sequence[str], keys: int, row: Sequence[str]) -> None:
    print(" | ".join(row), flush=True)
    put_row(title, columns, row, keys, CYCLES)


if __name__ == "__main__":
    main()
