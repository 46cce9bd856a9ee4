"""``tilewright package``."""

from __future__ import annotations

from pathlib import Path

import click

from hw.delivery.boards import BOARDS, board_named, boards_for, too_small
from hw.delivery.package import TOOLS
from isa.config import MachineConfig
from isa.cores import with_cores
from isa.errors import TilewrightError
from isa.estimate import beyond_chip, beyond_memory
from tilewright.commands.verilog import CONFIG_FILE
from tilewright.options import check_output, config_option, cores_option, json_option, print_json, write_files
from tilewright.printing import say
from tilewright.progress import stage_reporter

NAMES = ", ".join(board.name for board in BOARDS)


@click.command()
@config_option()
@click.option("--for", "tool", type=click.Choice(TOOLS), required=True, help="Who is to take it.")
@click.option("--board", metavar="NAME", help=f"Of vivado: {NAMES}.  [default: those with the chip]")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the files.")
@cores_option("Machines of the configuration on one chip, each with its own ports to memory.")
@json_option()
def command(config: MachineConfig, tool: str, board: str | None, output: Path, cores: int, as_json: bool) -> None:
    """Write the machine as other people's tools take it.

    \b
    vivado   Verilog, an IP-XACT component (1685-2014), Tcl that packages the core, and Tcl that makes a block design for
             a board: processing system, interconnect, clocks, interrupt. With dsp_packing the array is made of
             DSP48E2, as `tilewright size` measures it. Not run by this project: Vivado is not free.
    fusesoc  What `tilewright verilog` writes, its .core file among it.
    litex    Verilog, and a Python module that puts the machine into a LiteX system on chip.

    \b
    Examples:
      tilewright package --config base --for vivado --board kv260 -o vivado/
      tilewright package --config zu9 --cores 2 --for vivado --board zcu102 -o two/
      tilewright package --config nano --for litex -o litex/
    """
    from hw.delivery.package import has_dsp48e2, package
    from sim.rtl.build import core_verilog

    if board is not None and tool != "vivado":
        raise TilewrightError(f"--board {board}: packages for {tool} are for any board; leave it out, or give --for vivado")
    config = with_cores(config, cores)
    boards = boards_for(config) if board is None else (board_named(board, config),)
    check_output(output / CONFIG_FILE)
    beyond = list(too_small(config, boards, cores)) if tool == "vivado" else [beyond_chip(config)]
    beyond = [sentence for sentence in (*beyond, beyond_memory(config)) if sentence]
    for sentence in beyond:
        say(f"tilewright: warning: {sentence}", err=True)
    with stage_reporter(quiet=as_json) as report:
        report(f"Verilog of {config.name}")
        text = core_verilog(config, dsp48e2=has_dsp48e2(config, tool, boards), cores=cores)
        files = {**package(text, config, tool, boards), CONFIG_FILE: config.to_json()}
    write_files((output / name, content.encode()) for name, content in files.items())
    if as_json:
        written = [str(output / name) for name in files]
        sizes = [len(text.encode()) for text in files.values()]
        print_json({"files": written, "bytes": sizes, "config": config.name, "hash": config.hash, "beyond": beyond})
    else:
        for name, text in files.items():
            say(f"{output / name}: {len(text.encode())} bytes")
