"""The demo: from the shipped digits model to its answers on the generated Verilog, every tensor compared.

    python -m demo.run [--out DIR] [--config base] [--images N]

Generates the machine, compiles ``digits.onnx`` (calibrated with training images, never with the held-out ones), compares
every tensor of the network on the RTL with onnxruntime, reads held-out digits with the float model, the functional
simulator and the RTL, and leaves the Verilog, the program, a timeline and a report.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.driver import Compiled
from compiler.quantise.arrays import read_arrays
from hw.delivery.files import arrange
from hw.delivery.style import Style
from isa.config import MachineConfig, load_config
from isa.errors import TilewrightError
from isa.program import Program
from isa.program_file import program_bytes
from sim.rtl.build import core_verilog
from sim.runtime.engine import make_engine
from sim.runtime.parts import session
from sim.runtime.run import Run
from tilewright.commands.verilog import CONFIG_FILE, VERILOG_FILE
from tilewright.compiling import compile_model
from tilewright.exits import Exit
from tilewright.interrupts import catch_interrupts, leave
from tilewright.layers import compare_layers
from tilewright.options import write_file
from tilewright.processors import processor_of
from tilewright.profile.activity import Timing
from tilewright.profile.timeline import TRACE_FILE, timeline
from tilewright.profile.whole import whole_time
from tilewright.report.page import PAGE_FILE, page
from tilewright.running import Result, run_program
from tilewright.summary import array_macs

FOLDER = Path(__file__).parent
MODEL, CALIBRATION, TEST = (FOLDER / name for name in ("digits.onnx", "digits_calibration.npz", "digits_test.npz"))
BATCH = 60
"""Images per run on the RTL: one program reads them one after the other."""
Array = NDArray[Any]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m demo.run", description="The digits demo.")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="folder for what is made")
    parser.add_argument("--config", default="base", help="preset or TOML file")
    parser.add_argument("--images", type=int, default=360, help="held-out images that the RTL reads, of 360")
    chosen = parser.parse_args(arguments)
    return demo(chosen.out, load_config(chosen.config), chosen.images)


def demo(out: Path, config: MachineConfig, images: int) -> int:
    since = time.perf_counter()
    test = read_arrays(TEST)
    held_out, labels = test["image"], test["labels"]
    with stage(f"Generate the Verilog of {config.name}"):
        text = core_verilog(config)
        write_file(out / VERILOG_FILE, arrange(text, config, Style())[VERILOG_FILE].encode())
        write_file(out / CONFIG_FILE, config.to_json().encode())
        say(f"{text.count(chr(10))} lines, {config.macs_per_cycle} multiply-accumulates per cycle")
    with stage("Compile digits.onnx to int8, calibrated with 64 training images"):
        compiled = compiled_for(config, 1)
        program = compiled.program
        write_file(out / "digits.elf", program_bytes(program))
        say(f"{len(program.debug)} instructions, {len(compiled.plans)} groups of layers")
    with stage("Run it on the RTL (the first time, Verilator builds the simulator: about a minute)"):
        result = run_program(program, {"image": held_out[:1]}, "rtl", trace=True)
        show_measured(compiled, result)
        timing = Timing("RTL", result.measured.counted_cycles, result.measured.trace, result.measured.steps)
        whole = whole_time(program, timing.steps, processor_of(None, config), timing.source)
        write_file(out / TRACE_FILE, json.dumps(timeline(program, timing, whole)).encode())
        write_file(out / PAGE_FILE, page(program, timing, whole, "digits").encode())
    with stage("Compare every tensor on the RTL with onnxruntime"):
        rows = compare_layers(compiled, {"image": held_out[:1]}, "rtl")
        differ = sum(row.differ for row in rows)
        say(f"{len(rows)} tensors, {sum(row.elements for row in rows)} elements, {differ} differ")
    with stage("Read held-out digits"):
        show_accuracy("float, onnxruntime", float_answers(held_out), labels)
        many = compiled_for(config, BATCH).program
        show_accuracy("int8, functional simulator", answers(many, held_out, "functional"), labels)
        show_accuracy("int8, RTL", answers(many, held_out[:images], "rtl"), labels[:images])
    print(f"\nIn {time.perf_counter() - since:.0f} s. What was made:")
    for name, what in (
        (VERILOG_FILE, "the machine"), ("digits.elf", "the program: tilewright disasm, readelf -a"),
        (TRACE_FILE, "timeline of the RTL run: open it in https://ui.perfetto.dev"),
        (PAGE_FILE, "report of the RTL run: open it in a browser"),
    ):  # fmt: skip
        print(f"  {out / name}  {what}")
    return Exit.CHECK_FAILED if differ else Exit.DONE


def compiled_for(config: MachineConfig, batch: int) -> Compiled:
    return compile_model(MODEL, config, calibration=read_arrays(CALIBRATION), batch=batch)


def show_measured(compiled: Compiled, result: Result) -> None:
    config, measured = compiled.program.config, result.measured
    macs, cycles = array_macs(compiled), measured.counted_cycles
    moved = (measured.read_beats + measured.write_beats) * config.axi_bytes
    say(f"{cycles} cycles for one image, {cycles / config.clock_mhz:.1f} us at {config.clock_mhz} MHz")
    say(f"{macs} multiply-accumulates: utilisation {macs / (cycles * config.macs_per_cycle):.1%}, DRAM {moved} bytes")


def float_answers(images: Array) -> Array:
    logits: Array = session(MODEL.read_bytes()).run(["logits"], {"image": images})[0]
    found: Array = logits.argmax(1)
    return found


def answers(program: Program, images: Array, engine: str) -> Array:
    """What the network reads, ``BATCH`` images per run; the last run is filled up with blank ones."""
    run = Run(program, make_engine(engine, program.config))
    found = []
    for start in range(0, len(images), BATCH):
        part = images[start : start + BATCH]
        blank = np.zeros((BATCH - len(part), *part.shape[1:]), part.dtype)
        found.append(run({"image": np.concatenate([part, blank])})["logits"].argmax(1)[: len(part)])
    return np.concatenate(found)


def show_accuracy(what: str, found: Array, labels: Array) -> None:
    right = int((found == labels).sum())
    say(f"{what:28} {right} of {len(found)} right: {right / len(found):.1%}")


@contextmanager
def stage(text: str) -> Iterator[None]:
    print(f"* {text}", flush=True)
    since = time.perf_counter()
    yield
    print(f"  ({time.perf_counter() - since:.1f} s)", flush=True)


def say(text: str) -> None:
    print(f"  {text}", flush=True)


def run() -> None:
    """As ``tilewright`` does: an error that has a remedy, or an interrupt, is one line."""
    catch_interrupts()
    try:
        sys.exit(main())
    except (TilewrightError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(Exit.BAD_INPUT)
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        leave(Exit.INTERRUPTED)


if __name__ == "__main__":
    run()
