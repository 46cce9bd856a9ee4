"""``tilewright driver``."""

from __future__ import annotations

from pathlib import Path

import click

from isa.config import MachineConfig
from tilewright.options import check_output, config_option, json_option, print_json, write_files
from tilewright.printing import say


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the sources.")
@config_option(default=None)
@click.option("--linux", is_flag=True, help="With Linux devices (UIO, /dev/mem), and onnxruntime for parts on the processor.")
@json_option()
def command(output: Path, config: MachineConfig | None, linux: bool, as_json: bool) -> None:
    """Write the driver, in C99, with the header that it is compiled with; with --config also one about that machine.

    \b
    Example:
      tilewright driver --config nano -o firmware/tilewright
    """
    from driver.sources import driver_files

    files = driver_files(config, linux=linux)
    check_output(output / next(iter(files)))
    write_files((output / name, text.encode()) for name, text in files.items())
    if as_json:
        sizes = [len(text.encode()) for text in files.values()]
        print_json({"files": [str(output / name) for name in files], "bytes": sizes})
    else:
        for name, text in files.items():
            say(f"{output / name}: {len(text.encode())} bytes")
