"""What LOAD and SAVE make of the DRAM model's bandwidth: ``python -m bench.move_bandwidth [preset ...]``.

Data beats / cycles, from the start of the first move to the finish of the last: for one move alone, in which the
latency of 64 cycles shows, and for eight in a row. The model moves at most one beat in every cycle. Then LOAD, SAVE
and CONV run at the same time in different bank groups: how much longer each takes than without the array at work.
"""

from __future__ import annotations

import sys

import numpy as np

from bench.command import command
from bench.conv_occupancy import LAYERS, span, tile
from isa.codec import Op
from isa.config import PRESETS, MachineConfig, preset
from isa.instructions import Region, Unit
from isa.registers import Counter
from sim.rtl.machine import RtlMachine, RtlResult
from sim.rtl.scenario import whole

MEMORY_BYTES = 1 << 19
BASES = {Region.CONST: 0, Region.WORK: 0, Region.INPUT: 0, Region.OUTPUT: MEMORY_BYTES // 2}
SIZES = (1 << 10, 1 << 12, 1 << 14, 1 << 16)


def dense(config: MachineConfig, name: str, size: int, word: int) -> Op:
    """A move of one row of whole words, of ``size`` bytes or as many as the row field holds."""
    pixels = min(size // config.ic_p, 4095)
    row = {"rows": 1, "pixels": pixels, "run": config.ic_p, "step": config.ic_p}
    if name == "LOAD":
        return Op("LOAD", {**row, "valid": pixels * config.ic_p, "d_xs": 1, "d_addr": word, "region": int(Region.INPUT)})
    return Op("SAVE", {**row, "s_xs": 1, "s_addr": word, "region": int(Region.OUTPUT)})


def shaped(config: MachineConfig, name: str, size: int) -> Op:
    """A move of the same bytes as rows of 28 pixels of four channel vectors, as a tile of a layer has them."""
    run = 4 * config.ic_p
    rows = max(1, size // (28 * run))
    row = {"rows": rows, "pixels": 28, "run": run, "step": run, "row_stride": 28 * run}
    if name == "LOAD":
        more = {"valid": 28 * run, "d_xs": 1, "d_ys": 28, "d_cs": 28 * rows, "region": int(Region.INPUT)}
    else:
        more = {"s_xs": 1, "s_ys": 28, "s_cs": 28 * rows, "region": int(Region.OUTPUT)}
    return Op(name, row | more)


def parameters(config: MachineConfig, size: int) -> Op:
    count = max(1, min(size // config.buffer_dram_bytes("WEIGHT"), config.weight_depth))
    return Op("LOADP", {"count": count})


def moved(op: Op, config: MachineConfig) -> int:
    if op.name == "LOADP":
        return op["count"] * config.buffer_dram_bytes("WEIGHT")
    return op["rows"] * op["pixels"] * op["run"]


def run(machine: RtlMachine, *ops: Op) -> RtlResult:
    return machine.run(whole(machine.config, *ops), np.zeros(MEMORY_BYTES, np.uint8), BASES, trace=True)


def measure(config: MachineConfig) -> None:
    machine = RtlMachine(config, check=True)
    limit = min(SIZES[-1], config.fm_words * config.ic_p)
    print(f"\n{config.name}: {config.axi_bytes} bytes per cycle; alone, eight in a row (bytes of one)")
    for size in SIZES:
        if size > limit:
            continue
        shares = []
        for op in (
            dense(config, "LOAD", size, 0), dense(config, "SAVE", size, 0), shaped(config, "LOAD", size),
            shaped(config, "SAVE", size), parameters(config, size),
        ):  # fmt: skip
            unit = Unit.SAVE if op.name == "SAVE" else Unit.LOAD
            beats = moved(op, config) / config.axi_bytes
            alone, row = beats / span(run(machine, op), unit), 8 * beats / span(run(machine, *[op] * 8), unit)
            shares.append(f"{alone:5.3f} {row:5.3f} ({moved(op, config):5})")
        names = ("LOAD row", "SAVE row", "LOAD tile", "SAVE tile", "LOADP")
        print("  " + "  ".join(f"{name} {share}" for name, share in zip(names, shares, strict=True)), flush=True)
    _measure_together(machine)


def _measure_together(machine: RtlMachine) -> None:
    config = machine.config
    group = config.fm_phases * config.fm_depth
    size = min(group * config.ic_p, 1 << 14)
    top = config.fm_words - group
    load, save = (dense(config, name, size, word) for name, word in (("LOAD", top), ("SAVE", top - group)))
    made = tile(LAYERS[1], config).op.values
    half = (top - group) // 2
    rows = max(1, min(half // (56 * made["vectors"]), half // (56 * made["chunks"])))
    conv = Op("CONV", {**made, "o_h": rows, "i_h": rows, "i_cs": rows * 56, "o_cs": rows * 56, "o_addr": half})
    while conv["vectors"] * rows * 56 > half:
        conv = Op("CONV", {**conv.values, "vectors": conv["vectors"] // 2})
    times = 1 + span(run(machine, conv), Unit.CONV) // max(1, 2 * span(run(machine, load), Unit.LOAD))
    alone = {
        Unit.CONV: run(machine, conv), Unit.LOAD: run(machine, *[load] * times), Unit.SAVE: run(machine, *[save] * times),
    }  # fmt: skip
    movers = run(machine, *[load, save] * times)
    together = run(machine, conv, *[load, save] * times)
    waits = sum(together.counters[unit][Counter.WAIT_BANK] for unit in alone)
    print(f"  together: CONV {_slower(alone[Unit.CONV], together, Unit.CONV)} against alone;", end=" ")
    for unit in (Unit.LOAD, Unit.SAVE):
        print(f"{unit.name} {_slower(movers, together, unit)} against both movers alone;", end=" ")
    beats = movers.read_beats + movers.write_beats
    print(f"the movers use {beats / movers.cycles:.3f} of the bandwidth; cycles lost to banks: {waits}")


def _slower(before: RtlResult, after: RtlResult, unit: Unit) -> str:
    return f"{span(after, unit) / span(before, unit) - 1:+.2%}"


def main(arguments: list[str]) -> None:
    parser = command("move_bandwidth", __doc__)
    parser.add_argument("presets", nargs="*", default=[*PRESETS])
    for name in parser.parse_args(arguments).presets:
        measure(preset(name))


if __name__ == "__main__":
    main(sys.argv[1:])
