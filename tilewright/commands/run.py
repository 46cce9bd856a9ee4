"""``tilewright run``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from isa.bounds import ConfigError
from isa.program import Program
from tilewright.inputs import Array
from tilewright.options import check_output, cores_option, json_option, print_json, seconds_option, write_file
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
@cores_option(
    "Machines of one chip that share a batch, which inputs hold on their first axes, or each image of a program for so many.",
    default=None,
)
@seconds_option()
@json_option()
def command(program: Path, source: Path, engine: str, output: Path, cores: int | None, as_json: bool) -> None:
    """Run a program file on inputs.

    \b
    Examples:
      tilewright run model.elf --input image.npz --engine rtl -o out.npz
      tilewright run model.elf --input batch.npz --engine rtl --cores 2 -o out.npz
    """
    from compiler.quantise.arrays import arrays_file, read_arrays
    from isa.program_file import load_program
    from tilewright.running import run_program, stalls

    check_output(output, program, source)
    if cores is not None:
        _batch(load_program(program), read_arrays(source), engine, cores, output, as_json=as_json)
        return
    with stage_reporter(quiet=as_json) as report:
        result = run_program(load_program(program), read_arrays(source), engine, progress=report)
    write_file(output, arrays_file(result.outputs))
    measured = result.measured
    if as_json:
        known = measured.cycles is not None
        print_json({
            "output": str(output), "engine": engine, "outputs": _described(result.outputs), "cycles": measured.cycles,
            "read_beats": measured.read_beats if known else None, "write_beats": measured.write_beats if known else None,
            "counters": stalls(measured) if known else None,
        })  # fmt: skip
        return
    for name, value in result.outputs.items():
        say(f"{name}: {value.dtype}{list(value.shape)}")
    if measured.cycles:
        say(f"{measured.cycles} cycles, {measured.read_beats} beats read, {measured.write_beats} written")


def _batch(
    program: Program, arrays: Mapping[str, Array], engine: str, cores: int, output: Path, *, as_json: bool
) -> None:  # fmt: skip
    """The images of a batch on the machines of a chip."""
    from compiler.quantise.arrays import arrays_file
    from isa.cores import with_cores
    from tilewright.batches import batch_progress, checked_cores, functional_batch, joined, lines, run_on_chip, split

    checked_cores(program, engine, cores)
    feeds, batch = split(program, arrays), None
    try:
        with_cores(program.config, cores)
    except ConfigError as beyond:
        say(f"tilewright: warning: {beyond}", err=True)
    with stage_reporter(quiet=as_json) as report:
        if engine == "rtl":
            batch = run_on_chip(program, cores, feeds, batch_progress(len(feeds), report))
        made = joined(functional_batch(program, feeds) if batch is None else batch.outputs)
    write_file(output, arrays_file(made))
    if as_json:
        print_json({
            "output": str(output), "engine": engine, "cores": cores, "images": len(feeds), "outputs": _described(made),
            "cycles": batch and batch.cycles, "images_per_second": batch and batch.per_second(program.config.clock_mhz),
            "image_cycles": batch and [one.cycles for one in batch.measured], "image_cores": batch and batch.cores,
            "idle": batch and [batch.idle(core) for core in range(cores)],
        })  # fmt: skip
        return
    for name, value in made.items():
        say(f"{name}: {value.dtype}{list(value.shape)}")
    for line in lines(batch, cores, program.config.clock_mhz) if batch else ():
        say(line)


def _described(outputs: Mapping[str, Array]) -> list[dict[str, object]]:
    return [{"name": name, "type": str(value.dtype), "shape": value.shape} for name, value in outputs.items()]
