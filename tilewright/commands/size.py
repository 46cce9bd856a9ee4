"""``tilewright size``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import click

from isa.chips import FAMILIES, chip_of
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.estimate import estimate
from tilewright.options import config_option, cores_option, json_option, print_json
from tilewright.printing import say
from tilewright.progress import stage_reporter

DEFAULT_FAMILY = "xcup"
CELLS = "osu018"
SHOWN = 12
"""The most cells of the slowest path that are shown, from its end."""


@click.command()
@config_option()
@click.option(
    "--target", type=click.Choice((*FAMILIES, CELLS)), help="Family of FPGAs, or cells.  [default: that of the chip, or xcup]"
)
@click.option("--estimate", "only_estimate", is_flag=True, help="Answer at once by a formula, with its error, without yosys.")
@click.option("--modules", type=click.IntRange(min=0), default=0, help="Also print this many modules, the largest first.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs of yosys at a time.  [default: one for each core]")
@cores_option("Machines that the chip is to hold.  [default: chip_cores]", default=None)
@json_option()
def command(
    config: MachineConfig, target: str | None, only_estimate: bool, modules: int, jobs: int | None, cores: int | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Synthesise the machine with yosys, and say how large each unit is, beside the chip that the configuration names.

    Module by module, nothing optimised across modules; what was synthesised before comes from the cache. Block RAMs are of
    36 Kbit, on ecp5 of 18; LUTs have six inputs, on ecp5 four. osu018 is a library of cells for 0.18 um: gate equivalents, the
    slowest path (by OpenSTA, if it is there), and SRAM by a formula; memories that are read within a cycle are flip-flops.

    \b
    Examples:
      tilewright size --config nano
      tilewright size --config mine.toml --target xcup --modules 20
      tilewright size --config mine.toml --estimate
      tilewright size --config nano --target osu018
    """
    from sim.synthesis.size import size_of
    from sim.synthesis.targets import TARGETS

    if target == CELLS and not only_estimate:
        _cells(config, as_json=as_json)
        return
    config = config if cores is None else replace(config, chip_cores=cores)
    chip = chip_of(config.chip)
    family = target or (chip.family if chip else DEFAULT_FAMILY)
    capacity = chip.capacity if chip and chip.family == family else {}
    if only_estimate:
        _estimate(config, family, capacity, as_json=as_json)
        return
    with stage_reporter(quiet=as_json) as report:
        size = size_of(config, TARGETS[family], report=report, jobs=jobs)
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
        held = f"{config.chip_cores} of them" if config.chip_cores > 1 else "of it"
        shares = {kind: size.total[kind] * config.chip_cores / capacity[kind] for kind in size.total if kind in capacity}
        _line(held, {kind: f"{share:.0%}" for kind, share in shares.items()})
        beyond = [kind for kind, share in shares.items() if share > 1]
        if beyond:
            say(f"does not fit: {', '.join(beyond)}")
    largest = sorted(size.modules.items(), key=lambda item: -item[1][0] * item[1][1]["LUT"])
    for name, (times, used) in largest[:modules]:
        _line(f"{times} x {name}", _numbers(used))


def _cells(config: MachineConfig, *, as_json: bool) -> None:
    from sim.synthesis.asic import asic_of

    with stage_reporter(quiet=as_json) as report:
        found = asic_of(config, report=report)
    if as_json:
        print_json({
            "config": config.name,
            "target": CELLS,
            "tools": found.tools,
            "gates": found.gates,
            "total": found.total,
            "flip_flops": found.flip_flops,
            "sram_bits": found.sram_bits,
            "sram_um2": found.sram_um2,
            "period_ns": found.period_ns,
            "path": list(found.path),
        })
        return
    say(f"{config.name} in cells of {CELLS}, {found.tools}, module by module; gate equivalents")
    for name, gates in sorted([*found.gates.items(), ("all", found.total)], key=lambda item: item[1]):
        say(f"{name:24}{gates:12,.0f}")
    say(f"flip-flops {found.flip_flops:,}; SRAM {found.sram_bits:,} bits, by a formula {found.sram_um2 / 1e6:.2f} mm2")
    if found.period_ns is None:
        say("no delays: OpenSTA is not installed (apt-get install opensta)")
        return
    say(f"slowest path, without SRAM and wires: {found.period_ns:.2f} ns, {1000 / found.period_ns:.1f} MHz; its end:")
    for pin in found.path[-SHOWN:]:
        say(f"  {pin}")


def _estimate(config: MachineConfig, family: str, capacity: Mapping[str, int], *, as_json: bool) -> None:
    found = estimate(config, family)
    if not found:
        raise TilewrightError(f"family {family}: no machine of it was measured, so nothing is estimated; leave out --estimate")
    if as_json:
        kinds = {one.kind: {"number": round(one.number, 1), "error": one.error} for one in found}
        about = {"chip": config.chip, "chip_cores": config.chip_cores, "capacity": capacity}
        print_json({"config": config.name, "target": family, "estimate": kinds, **about})
        return
    say(f"{config.name} on {family}, by a formula")
    for one in found:
        number, there = config.chip_cores * one.number, capacity.get(one.kind)
        of = f" of {there:,}, {number / there:.0%}" if there else ""
        say(f"{one.kind:6}{number:10,.0f} within {one.error:.0%}{of}")


def _numbers(used: Mapping[str, float]) -> dict[str, str]:
    return {kind: f"{number:g}" if number % 1 else f"{number:.0f}" for kind, number in used.items()}


def _line(name: str, cells: Mapping[str, str]) -> None:
    kinds = ("LUT", "LUT as memory", "FF", "DSP", "BRAM", "URAM")
    say(f"{name:24}" + "".join(f"{cells.get(kind, ''):>{max(8, len(kind) + 2)}}" for kind in kinds))
