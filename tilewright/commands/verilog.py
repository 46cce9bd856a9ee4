"""``tilewright verilog``."""

from __future__ import annotations

from pathlib import Path

import click

from hw.delivery.style import MODULE, Style
from isa.config import MachineConfig
from isa.cores import with_cores
from isa.estimate import beyond_chip, beyond_memory
from tilewright.options import check_output, config_option, cores_option, json_option, print_json, write_files
from tilewright.printing import say
from tilewright.progress import stage_reporter

VERILOG_FILE, CONFIG_FILE = Style().source, "config.json"


@click.command()
@config_option()
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder of the files.")
@click.option("--top", metavar="NAME", default=MODULE, show_default=True, help="Outermost module; begins all module names.")
@click.option("--aresetn", "active_low", is_flag=True, help="Reset is aresetn, active low; synchronous like rst.")
@click.option("--no-initial", is_flag=True, help="No values before reset, for ASICs: SystemVerilog (.sv).")
@click.option("--split-memories", is_flag=True, help="Memories in a file of their own, to be replaced by macros.")
@click.option("--dsp48e2", is_flag=True, help="Make the array's cascades of UltraScale's DSP48E2.")
@cores_option("Machines of the configuration on one chip, each with its own ports to memory.")
@json_option()
def command(
    config: MachineConfig,
    output: Path,
    top: str,
    active_low: bool,
    no_initial: bool,
    split_memories: bool,
    dsp48e2: bool,
    cores: int,
    as_json: bool,
) -> None:
    """Write the machine as Verilog, and what goes with it.

    Beside the Verilog: an instantiation template (.vh), the clock for place and route (.xdc, .lpf, or .sdc where no chip is
    named), waivers for verilator -Wall (.vlt), a file list for FuseSoC (.core), and the configuration as JSON. The same
    configuration and options give the same bytes every time.

    \b
    Examples:
      tilewright verilog --config base -o build/
      tilewright verilog --config base --dsp48e2 -o ultrascale/
      tilewright verilog --config zu9 --cores 2 -o two/
      tilewright verilog --config nano --top npu --aresetn --no-initial --split-memories -o asic/
    """
    from hw.delivery.files import arrange
    from sim.rtl.build import core_verilog

    config = with_cores(config, cores)
    style = Style(top, active_low, not no_initial, split_memories, dsp48e2)
    check_output(output / style.source)
    for beyond in filter(None, (beyond_chip(config), beyond_memory(config))):
        say(f"tilewright: warning: {beyond}", err=True)
    with stage_reporter(quiet=as_json) as report:
        report(f"Verilog of {config.name}")
        files = {**arrange(core_verilog(config, dsp48e2=dsp48e2, cores=cores), config, style), CONFIG_FILE: config.to_json()}
    write_files((output / name, text.encode()) for name, text in files.items())
    if as_json:
        written, sizes = [str(output / name) for name in files], [len(text.encode()) for text in files.values()]
        print_json({"files": written, "bytes": sizes, "config": config.name, "hash": config.hash})
    else:
        for name, text in files.items():
            say(f"{output / name}: {len(text.encode())} bytes")
