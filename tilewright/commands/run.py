"""``tilewright run``."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright.options import check_output, json_option, print_json, seconds_option, write_file
from tilewright.printing import say
from tilewright.progress import stage_reporter


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.option("--input", "source", type=click.Path(path_type=Path), required=True, help="NPZ file of the network's inputs.")
@click.option(
    "--engine", type=click.Choice(["functional", "rtl", "cpu"]), default="functional", show_default=True,
    help="The functional simulator, the generated Verilog, or onnxruntime.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="NPZ file of the outputs.")
@seconds_option()
@json_option()
def command(program: Path, source: Path, engine: str, output: Path, as_json: bool) -> None:
    """Run a program file on inputs.

    \b
    Example:
      tilewright run model.elf --input image.npz --engine rtl -o out.npz
    """
    from compiler.quantise.arrays import arrays_file, read_arrays
    from isa.program_file import load_program
    from tilewright.running import run_program, stalls

    check_output(output, program, source)
    with stage_reporter(quiet=as_json) as report:
        result = run_program(load_program(program), read_arrays(source), engine, progress=report)
    write_file(output, arrays_file(result.outputs))
    measured = result.measured
    if as_json:
        known = measured.cycles is not None
        outputs = [{"name": name, "type": str(value.dtype), "shape": value.shape} for name, value in result.outputs.items()]
        print_json({
            "output": str(output), "engine": engine, "outputs": outputs, "cycles": measured.cycles,
            "read_beats": measured.read_beats if known else None, "write_beats": measured.write_beats if known else None,
            "counters": stalls(measured) if known else None,
        })  # fmt: skip
        return
    for name, value in result.outputs.items():
        say(f"{name}: {value.dtype}{list(value.shape)}")
    if measured.cycles:
        say(f"{measured.cycles} cycles, {measured.read_beats} beats read, {measured.write_beats} written")
