"""``tilewright ops``."""

from __future__ import annotations

import textwrap
from dataclasses import asdict

import click

from tilewright.options import InputError, json_option, print_json
from tilewright.printing import say


@click.command()
@click.argument("operators", nargs=-1)
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@json_option()
def command(operators: tuple[str, ...], markdown: bool, as_json: bool) -> None:
    """Print which ONNX operators run on the machine, and what each asks for.

    The conditions are those that the compiler checks. A node that fails one runs on the CPU, in onnxruntime, and
    `tilewright compile --verbose` says which one it failed.

    \b
    Examples:
      tilewright ops
      tilewright ops Conv MaxPool
    """
    from compiler.frontend.support import HOST, common_lists, support_table, support_text

    rows = support_table()
    known = {row.operator.lower() for row in rows}
    missing = [name for name in operators if name.lower() not in known]
    if missing:
        raise InputError(f"operator {missing[0]!r}: {HOST}, or is unknown; `tilewright ops` lists those that the machine knows")
    wanted = {name.lower() for name in operators} or known
    chosen = [row for row in rows if row.operator.lower() in wanted]
    if as_json:
        print_json([asdict(row) for row in chosen])
    elif markdown:
        click.echo(support_text(), nl=False)
    else:
        for row in chosen:
            say(f"{row.operator} ({row.domain}, {row.form})")
            for condition in row.conditions:
                say(*textwrap.wrap(condition, 100, initial_indent="  - ", subsequent_indent="    "))
        for title, conditions in common_lists().items():
            say(title)
            for condition in conditions:
                say(*textwrap.wrap(condition, 100, initial_indent="  - ", subsequent_indent="    "))
        if not operators:
            say(f"Every operator that is not listed {HOST}.")
