"""``tilewright isa``."""

from __future__ import annotations

import click

from isa.export import c_header, tables
from isa.reference import reference
from tilewright.options import InputError, json_option, print_json


@click.command()
@click.option("--header", is_flag=True, help="Print a C header instead: offsets, bits, codes and fields as macros.")
@json_option()
def command(header: bool, as_json: bool) -> None:
    """Print the instruction set reference: instructions, registers, faults, program file (Markdown).

    \b
    Examples:
      tilewright isa > isa.md
      tilewright isa --header > tilewright.h
    """
    if header and as_json:
        raise InputError("options --header and --json: one or the other; leave one out")
    if as_json:
        print_json(tables())
    else:
        click.echo(c_header() if header else reference(), nl=False)
