"""``tilewright pack``."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright.options import check_output, json_option, print_json, write_file
from tilewright.printing import say


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The image.")
@json_option()
def command(program: Path, output: Path, as_json: bool) -> None:
    """Write a program file as a flat image for the C driver.

    \b
    Example:
      tilewright pack model.elf -o model.bin
    """
    from isa.flat_image import flat_image
    from isa.program_file import load_program

    check_output(output, program)
    loaded = load_program(program)
    image = flat_image(loaded)
    write_file(output, image)
    if as_json:
        print_json({"output": str(output), "bytes": len(image), "config": loaded.config.name, "hash": loaded.config.hash})
    else:
        say(f"{output}: {len(image)} bytes")
