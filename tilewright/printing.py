"""Printing of commands, line by line."""

from __future__ import annotations

import click

from isa.errors import printable


def say(*lines: str, err: bool = False) -> None:
    """Prints lines of text. Characters of names from files that could end a line or command a terminal are escaped."""
    for line in lines:
        click.echo(printable(line), err=err)
