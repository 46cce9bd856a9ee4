"""``tilewright table``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from isa.config import MachineConfig
from tilewright.model_options import model_arguments, model_options
from tilewright.options import config_option, json_option, print_json
from tilewright.printing import say
from tilewright.progress import stage_reporter


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@config_option()
@model_options()
@json_option()
def command(model: Path, config: MachineConfig, as_json: bool, **how: Any) -> None:
    """Build Optimus' look-up table (its Algorithm 3) of a model: how many operations a group may have for so much memory.

    It is kept in the cache directory, where strategy optimus-online-as-written looks it up, given the same model and options;
    without it the first search builds it. It does not depend on how large the buffers are.

    \b
    Examples:
      tilewright table model.onnx
      tilewright table float.onnx --calibrate images.npz --config zu9
    """
    from tilewright.table import online_table

    with stage_reporter(quiet=as_json) as report:
        built = online_table(model, config, progress=report, **model_arguments(how, model))
    if as_json:
        print_json({
            "table": list(built.table), "config": config.name, "bytes": built.room, "operations": built.operations,
            "seconds": built.seconds, "file": str(built.path),
        })  # fmt: skip
        return
    say(f"{'operations':>10} {'bytes of feature maps':>22}")
    for number, least in enumerate(built.table, 1):
        say(f"{number:>10} {least:>22,}")
    say(f"{config.name} holds {built.room:,} bytes: groups of at most {built.operations} operations")
    say(f"built in {built.seconds:.2f} s, kept in {built.path}")
