"""``python -m soc simulate`` and ``python -m soc ulx3s``: see ``make soc`` and ``make ulx3s``."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import re
import subprocess
import sys
import time
from pathlib import Path

from hw.delivery.package import package
from isa.config import MachineConfig, load_config
from isa.errors import TilewrightError
from sim.rtl.build import core_verilog
from soc.bitstream import BOARD_MHZ, make_bitstream, write_sources
from soc.digits import Answer, answers, digits_images, digits_program
from soc.firmware import missing
from tilewright.exits import Exit
from tilewright.options import write_file

LIBRARIES = ("litex", "litedram", "migen", "pythondata_cpu_vexriscv")
SMALL, LARGE = "nano", "ulx3s"
"""The machines that fit an LFE5U-25F and an LFE5U-85F beside the rest of the system."""
CYCLES = 100_000_000
"""The most cycles of a simulation."""
_LINE = re.compile(r"image (\d+): class (\d+), outputs (\w{8}), (\d+) cycles")
_ALL = re.compile(r"(\d+) images, \d+ interrupts, (\d+) cycles of the processor")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m soc", description="The system on chip around the machine, with LiteX.")
    commands = parser.add_subparsers(dest="command", required=True)
    simulated = commands.add_parser("simulate", help="run firmware and machine in Verilator; compare with Python's runtime")
    simulated.add_argument("--memory", choices=("bench", "sdram"), default="bench", help="see soc/simulation.py")
    board = commands.add_parser("ulx3s", help="make a bitstream for the ULX3S")
    board.add_argument("--device", choices=("LFE5U-85F", "LFE5U-25F"), default="LFE5U-85F")
    board.add_argument("--mhz", type=float, default=BOARD_MHZ, help="clock of processor, machine and SDRAM")
    board.add_argument("--seed", type=int, default=1, help="another one, another placement")
    for command in (simulated, board):
        command.add_argument("--config", help=f"preset or TOML file; default: {SMALL}, on an LFE5U-85F {LARGE}")
        command.add_argument("--images", type=int, default=10, help="held-out images in the ROM")
        command.add_argument("--out", type=Path, default=Path("build/soc"), help="folder for what is made")
    chosen = parser.parse_args()
    chosen.out = chosen.out.absolute()  # tools run in folders of their own
    if reason := unavailable():
        print(f"soc: {reason}", file=sys.stderr)
        return Exit.BAD_INPUT
    logging.disable(logging.INFO)
    on_large = chosen.command == "ulx3s" and chosen.device == "LFE5U-85F"
    config = load_config(chosen.config or (LARGE if on_large else SMALL))
    write_package(config, chosen.out / "package")
    if chosen.command == "simulate":
        return simulate(config, chosen.out, chosen.memory, chosen.images)
    return ulx3s(config, chosen.out, chosen.device, chosen.mhz, chosen.seed, chosen.images)


def unavailable() -> str:
    """Why no system can be made here; empty if one can."""
    lacking = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if lacking:
        return f"Python package {lacking[0]} is not installed: pip install 'tilewright[soc]'"
    return missing()


def write_package(config: MachineConfig, folder: Path) -> None:
    for name, text in package(core_verilog(config), config, "litex").items():
        write_file(folder / name, text.encode())


def simulate(config: MachineConfig, out: Path, memory: str, count: int) -> int:
    """Simulates the system, and compares its outputs with those of Python's runtime; with the memory of the benches, the cycles
    too."""
    from soc.build import simulator, write_system
    from soc.simulation import SimulatedSystem

    program, images = digits_program(config), digits_images(count)
    folder = out / memory
    folder.mkdir(parents=True, exist_ok=True)
    sources = write_system(SimulatedSystem(config, out / "package", memory), folder, program, images)
    print("* Build the simulator (the first time: a minute or two)", flush=True)
    run = simulator(sources)
    print(f"* Run firmware and machine, memory: {memory}", flush=True)
    since = time.perf_counter()
    done = subprocess.run([str(run), str(CYCLES)], cwd=folder, capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    print(f"  {done.stderr.strip()}, {time.perf_counter() - since:.1f} s")
    if ended := _ALL.search(done.stdout):
        rate = int(ended[1]) * BOARD_MHZ * 1e6 / int(ended[2])
        print(f"  {rate:.1f} images/s at {BOARD_MHZ} MHz, the processor's work included")
    print("* Compare with Python's runtime on the RTL", flush=True)
    found = [Answer(int(n), int(best), int(crc, 16), int(cycles)) for n, best, crc, cycles in _LINE.findall(done.stdout)]
    differ = done.returncode or compare(found, answers(program, images), with_cycles=memory == "bench")
    return Exit.CHECK_FAILED if differ else Exit.DONE


def compare(found: list[Answer], expected: list[Answer], *, with_cycles: bool) -> int:
    """Prints and returns how many images differ."""
    pairs = list(zip(found, expected, strict=False))
    outputs = sum((a.number, a.found, a.checksum) != (b.number, b.found, b.checksum) for a, b in pairs)
    outputs += abs(len(found) - len(expected))
    print(f"  {len(expected)} images, {outputs} with other outputs")
    if not with_cycles:
        ratio = sum(a.cycles for a in found) / max(1, sum(b.cycles for b in expected))
        print(f"  {ratio:.2f} times the cycles that the machine takes with the memory of the benches")
        return outputs
    cycles = sum(a.cycles != b.cycles for a, b in pairs)
    print(f"  {cycles} with other cycles")
    return outputs + cycles


def ulx3s(config: MachineConfig, out: Path, device: str, mhz: float, seed: int, count: int) -> int:
    from soc.ulx3s import Ulx3sSystem

    folder = out / device.lower()
    folder.mkdir(parents=True, exist_ok=True)
    since = time.perf_counter()

    def report(text: str) -> None:
        print(f"* {time.perf_counter() - since:6.0f} s  {text}", flush=True)

    system = Ulx3sSystem(config, out / "package", device, mhz * 1e6)
    write_sources(system, folder, digits_program(config), digits_images(count))
    made = make_bitstream(folder, device, mhz, report, seed)
    report(f"{made.path}: {made.path.stat().st_size} bytes, by {made.tools}")
    for name, (used, available) in sorted(made.cells.items(), key=lambda item: -item[1][0] / item[1][1]):
        print(f"{name:16}{used:8} of {available:6}  {used / available:5.0%}")
    for name, (reached, asked) in made.clocks.items():
        print(f"{name:24}{reached:8.1f} MHz, {asked:g} asked{'' if reached >= asked else ': not reached'}")
    return Exit.DONE if all(reached >= asked for reached, asked in made.clocks.values()) else Exit.CHECK_FAILED


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (TilewrightError, OSError) as error:
        print(f"soc: {error}", file=sys.stderr)
        sys.exit(Exit.BAD_INPUT)
