"""``tilewright verilog``."""

from __future__ import annotations

from pathlib import Path

import click

from isa.config import MachineConfig
from isa.estimate import beyond_chip
from tilewright.options import check_output, config_option, json_option, print_json, write_file
from tilewright.progress import stage_reporter

VERILOG_FILE, CONFIG_FILE = "tilewright_core.v", "config.json"


@click.command()
@config_option()
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the two files.")
@click.option("--dsp48e2", is_flag=True, help="Make the array's cascades of UltraScale's DSP48E2.")
@json_option()
def command(config: MachineConfig, output: Path, dsp48e2: bool, as_json: bool) -> None:
    """Write the machine as one Verilog file, and its configuration as JSON.

    The same configuration gives the same bytes every time.

    \b
    Examples:
      tilewright verilog --config base -o build/
      tilewright verilog --config base --dsp48e2 -o ultrascale/
    """
    from hw.emit import verilog

    check_output(output / VERILOG_FILE)
    if beyond := beyond_chip(config):
        click.echo(f"tilewright: warning: {beyond}", err=True)
    with stage_reporter(quiet=as_json) as report:
        report(f"Verilog of {config.name}")
        files = {VERILOG_FILE: verilog(config, dsp48e2=dsp48e2), CONFIG_FILE: config.to_json()}
    for name, text in files.items():
        write_file(output / name, text.encode())
    if as_json:
        print_json({"files": [str(output / name) for name in files], "config": config.name, "hash": config.hash})
    else:
        for name, text in files.items():
            click.echo(f"{output / name}: {len(text.encode())} bytes")
