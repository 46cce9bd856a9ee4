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
      tilewright ops ArgMax
    """
    from compiler.frontend.support import common_lists, support_table, support_text
    from tilewright.operators import asked

    rows = support_table()
    if markdown:
        if operators or as_json:
            raise InputError("ops --markdown: prints the whole table; leave operators and --json out")
        click.echo(support_text(), nl=False)
        return
    chosen, hosted = asked(rows, operators)
    if as_json:
        common = [{"title": title, "conditions": conditions} for title, conditions in common_lists().items() if chosen]
        print_json({
            "operators": [asdict(row) for row in chosen], "on_cpu": [asdict(row) for row in hosted], "common": common,
        })  # fmt: skip
        return
    for host in hosted:
        say(f"{host.operator}: CPU, by onnxruntime, because {host.why}")
    for row in chosen:
        say(f"{row.operator} ({row.domain}, {row.form})")
        for condition in row.conditions:
            say(*textwrap.wrap(condition, 100, initial_indent="  - ", subsequent_indent="    "))
    for title, conditions in common_lists().items() if chosen else ():
        say(title)
        for condition in conditions:
            say(*textwrap.wrap(condition, 100, initial_indent="  - ", subsequent_indent="    "))
    if not operators:
        say("Every operator that is not listed runs on the CPU, in onnxruntime.")
