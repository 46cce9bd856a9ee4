"""``tilewright size``."""

from __future__ import annotations

from collections.abc import Mapping

import click

from isa.chips import CHIPS
from isa.config import MachineConfig
from tilewright.options import config_option, json_option, print_json
from tilewright.printing import say
from tilewright.progress import stage_reporter

FAMILIES = ("xcup", "xc7", "ecp5")
DEFAULT_FAMILY = "xcup"


@click.command()
@config_option()
@click.option("--target", type=click.Choice(FAMILIES), help="Family of FPGAs.  [default: that of the chip, or xcup]")
@click.option("--modules", type=click.IntRange(min=0), default=0, help="Also print this many modules, the largest first.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs of yosys at a time.  [default: one for each core]")
@json_option()
def command(config: MachineConfig, target: str | None, modules: int, jobs: int | None, as_json: bool) -> None:
    """Synthesise the machine with yosys, and say how large each unit is, beside the chip that the configuration names.

    Module by module, nothing optimised across modules; what was synthesised before comes from the cache. Block RAMs are of
    36 Kbit, on ecp5 of 18; LUTs have six inputs, on ecp5 four.

    \b
    Examples:
      tilewright size --config nano
      tilewright size --config mine.toml --target xcup --modules 20
    """
    from sim.synthesis.size import size_of
    from sim.synthesis.targets import TARGETS

    chip = CHIPS.get(config.chip)
    family = target or (chip.family if chip else DEFAULT_FAMILY)
    with stage_reporter(quiet=as_json) as report:
        size = size_of(config, TARGETS[family], report=report, jobs=jobs)
    capacity = chip.capacity if chip and chip.family == family else {}
    if as_json:
        print_json({
            "config": config.name,
            "target": family,
            "yosys": size.yosys,
            "total": size.total,
            "chip": config.chip,
            "chip_cores": config.chip_cores,
            "capacity": capacity,
            "units": size.units,
            "modules": {name: {"instances": times, **used} for name, (times, used) in size.modules.items()},
        })
        return
    say(f"{config.name} on {family}, {size.yosys}, module by module")
    _line("unit", {kind: kind for kind in size.total})
    for name, used in sorted(size.units.items(), key=lambda item: -item[1]["LUT"]):
        _line(name, _numbers(used))
    _line("all", _numbers(size.total))
    if capacity:
        _line(config.chip, {kind: str(number) for kind, number in capacity.items() if kind in size.total})
        cores = f"{config.chip_cores} of them" if config.chip_cores > 1 else "of it"
        shares = {kind: size.total[kind] * config.chip_cores / capacity[kind] for kind in size.total if kind in capacity}
        _line(cores, {kind: f"{share:.0%}" for kind, share in shares.items()})
        beyond = [kind for kind, share in shares.items() if share > 1]
        if beyond:
            say(f"does not fit: {', '.join(beyond)}")
    largest = sorted(size.modules.items(), key=lambda item: -item[1][0] * item[1][1]["LUT"])
    for name, (times, used) in largest[:modules]:
        _line(f"{times} x {name}", _numbers(used))


def _numbers(used: Mapping[str, float]) -> dict[str, str]:
    return {kind: f"{number:g}" if number % 1 else f"{number:.0f}" for kind, number in used.items()}


def _line(name: str, cells: Mapping[str, str]) -> None:
    kinds = ("LUT", "LUT as memory", "FF", "DSP", "BRAM", "URAM")
    say(f"{name:24}" + "".join(f"{cells.get(kind, ''):>{max(8, len(kind) + 2)}}" for kind in kinds))
