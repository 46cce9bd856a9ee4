"""The numbers that Python and C++ must agree on: latencies, and those of a machine and of a cost, all of 64 bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from types import ModuleType

from isa.config import MachineConfig
from isa.depths import owed_beats, row_room
from isa.instructions import Unit
from isa.latency import misc_latency, raster_rounds
from sim.cycle import bus, contest, control, passes, rivals, timing, units, words
from sim.cycle.costs import Cost, MiscCost, MoveCost, WindowCost
from sim.cycle.rows import RowCost
from sim.cycle.timing import Drain, Timing, drain_of, pool_drain_of
from sim.cycle.units import round_walks
from sim.cycle.walks import Walk
from sim.cycle.words import Pace

MODULES = (timing, bus, rivals, contest, words, passes, units, control)
"""The modules whose numbers are latencies, sizes and limits of the model."""
WALKS = 3
"""The most walks of an instruction: both operands of MISC and its output."""
MOST_GROUPS = 64
"""The bank groups in a mask of 64 bits."""
GROUPS = (1 << (MOST_GROUPS - 1)) - 1
"""The mask of all groups that a machine may have. A damaged program may name others, which no buffer has."""
WINDOW = ("raster_rounds", "place_rounds", "entries", "drain_cycles", "done", "stored")
"""The numbers of CONV or POOL."""
MACHINE = (
    "axi_reads", "owed_beats", "axi_ports", "dram_latency", "words_per_burst", "beat_words", "burst_beats", "queue_words",
    "shares_finish",
    "serial_reads", "misc_parts", "misc_pipe", "misc_room", "misc_latency", "row_parts", "row_room",
)  # fmt: skip
COST = (
    "reads", "writes", "reads_b", "cycles", "words", "wait_bank",
    "groups", "group", "wait_end", "stores", "drain_cycles", "drain_every", "drain_words", "drain_parts", "drain_last",
    "beats", "bursts", "run", "edge", "address_wait", "parameters", "alone", "walks", "two",
    "row_reduced", "row_first", "row_second_after", "row_second", "row_prepared",
)  # fmt: skip
"""The numbers of any instruction; those that its kind does not have are 0. ``walks``: whether a move has words on chip;
``two``: whether MISC reads two operands."""


def header() -> str:
    """The text of ``layout.h``."""
    parts = [f"constexpr i64 UNITS = {len(Unit)}, WALKS = {WALKS};\n"]
    for module in MODULES:
        lines = "".join(f"constexpr {kind} {name} = {value};\n" for kind, name, value in _constants(module))
        parts.append(f"namespace {module.__name__.rpartition('.')[2]} {{\n{lines}}}\n")
    parts += [_struct("Cost", COST), _struct("Window", WINDOW), _struct("Machine", MACHINE, "Window conv, pool;\n")]
    return "#pragma once\n#include \"numbers.h\"\nnamespace cycle {\n" + "".join(parts) + "}\n"


def _constants(module: ModuleType) -> Iterator[tuple[str, str, str]]:
    for name, value in vars(module).items():
        if name.isupper() and isinstance(value, (int, float)) and abs(value) < float("inf"):
            yield ("i64" if isinstance(value, int) else "double"), name, repr(value)


def _struct(name: str, fields: tuple[str, ...], more: str = "") -> str:
    return f"struct {name} {{\n{''.join(f'i64 {field};{chr(10)}' for field in fields)}{more}}};\n"


def fits(config: MachineConfig) -> bool:
    """Whether the machine's bank groups fit into a mask."""
    return config.fm_words // (config.fm_phases * config.fm_depth) < MOST_GROUPS


def machine_numbers(config: MachineConfig) -> list[int]:
    """The numbers of ``Machine``."""
    latencies, pace, beat = Timing.of(config), Pace.of(config), config.axi_bytes
    own = {
        "axi_reads": config.axi_reads, "owed_beats": owed_beats(config), "axi_ports": config.axi_ports,
        "dram_latency": config.dram_latency,
        "words_per_burst": control.words_per_burst(config), "beat_words": beat // 4,
        "burst_beats": config.burst_beats, "queue_words": config.queue_words, "shares_finish": config.shares_finish,
        "serial_reads": config.ways.serial_reads, "misc_parts": pace.parts, "misc_pipe": pace.pipe, "misc_room": pace.room,
        "misc_latency": misc_latency(config), "row_parts": config.row_parts,
        "row_room": row_room(config) if config.build_rows else 0,
    }  # fmt: skip
    conv = _window_numbers(config, drain_of(config), latencies.conv_done, latencies.conv_stored)
    return [*_in_order(MACHINE, own), *conv, *_window_numbers(config, pool_drain_of(config), latencies.pool_done, 0)]


def _window_numbers(config: MachineConfig, drain: Drain, done: int, stored: int) -> list[int]:
    rounds = raster_rounds(config.px_p), raster_rounds(drain.port)
    return _in_order(WINDOW, dict(zip(WINDOW, (*rounds, drain.entries, drain.cycles, done, stored), strict=True)))


def _in_order(fields: tuple[str, ...], values: dict[str, int]) -> list[int]:
    return [int(values[field]) for field in fields]


def cost_numbers(cost: Cost | None) -> list[int]:
    """The numbers of ``Cost``; all are 0 for START and END."""
    if cost is None:
        return [0] * len(COST)
    use = cost.use
    own: dict[str, int] = dict.fromkeys(COST, 0)
    own |= {"reads": use.reads & GROUPS, "writes": use.writes & GROUPS, "reads_b": use.reads_b & GROUPS, "cycles": cost.cycles}
    if isinstance(cost, WindowCost):
        drain = cost.drain
        own |= {"groups": cost.groups, "group": cost.group, "wait_end": cost.wait_end, "stores": cost.stores}
        own |= {"drain_cycles": drain.cycles, "drain_every": drain.every, "drain_words": drain.words}
        own |= {"drain_parts": drain.parts, "drain_last": drain.last, "wait_bank": cost.wait_bank}
    elif isinstance(cost, MiscCost):
        two = cost.walks is not None and cost.walks[1] is not None
        own |= {"words": cost.words, "wait_bank": cost.wait_bank, "two": two}
    elif isinstance(cost, RowCost):
        own |= {"words": cost.words, **{f"row_{name}": cycles for name, cycles in asdict(cost.pace).items()}}
    elif isinstance(cost, MoveCost):
        own |= {"beats": cost.beats, "bursts": cost.bursts, "run": cost.run, "edge": cost.edge, "words": cost.words}
        own |= {"address_wait": cost.address_wait, "parameters": cost.parameters, "alone": cost.alone}
        own |= {"walks": cost.walk is not None}
    return _in_order(COST, own)


def walks_of(config: MachineConfig, cost: Cost | None) -> tuple[Walk | None, ...]:
    """What the instruction reads and writes; for MISC both operands and the output."""
    if isinstance(cost, WindowCost):
        return cost.reads, cost.writes, None
    if isinstance(cost, MiscCost):
        return cost.walks or round_walks(config, cost)
    if isinstance(cost, RowCost):
        return *cost.walks, None
    return (cost.walk if isinstance(cost, MoveCost) else None), None, None
