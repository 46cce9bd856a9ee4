"""What commands print line by line."""

from __future__ import annotations

import click

from isa.errors import printable


def say(*lines: str, err: bool = False) -> None:
    """Lines of text, with what names from files could end a line or command a terminal with escaped."""
    for line in lines:
        click.echo(printable(line), err=err)
