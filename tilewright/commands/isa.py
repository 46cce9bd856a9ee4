"""``tilewright isa``."""

from __future__ import annotations

import click

from isa.reference import reference


@click.command()
def command() -> None:
    """Print the instruction set reference: instructions, registers, faults, program file (Markdown).

    \b
    Example:
      tilewright isa > isa.md
    """
    click.echo(reference(), nl=False)
