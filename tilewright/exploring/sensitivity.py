"""The effect of one step more on a machine: another bank, more lanes, a wider bus."""

from __future__ import annotations

from dataclasses import dataclass

from isa.bounds import ConfigError
from isa.config import MachineConfig
from tilewright.exploring.point import Point
from tilewright.exploring.search import Search
from tilewright.exploring.space import changed


@dataclass(frozen=True)
class Change:
    """One change of a machine, with programs of effort ``quick`` for both machines."""

    what: str
    name: str
    """The name of the changed machine."""
    gain: float
    """The saving of the objective's cost, as a share."""
    luts: float
    """The additional LUTs, by the estimate."""
    beyond: str
    """The limit that the change exceeds, or empty if it fits."""


def changes_of(config: MachineConfig) -> dict[str, dict[str, int]]:
    """The fields of one step up in each direction, by the name of the step."""
    c = config
    return {
        "twice the pixel lanes": {
            "px_p": 2 * c.px_p, "conv_finish": 2 * c.conv_finish, "fm_banks": max(c.fm_banks, 4 * c.px_p)
        },
        "half as many output lanes again": {"oc_p": c.oc_p * 3 // 2, "conv_finish": c.conv_finish * 3 // 2},
        "half as many input lanes again": {
            "ic_p": c.ic_p * 3 // 2, "pool_finish": c.pool_finish * 3 // 2, "misc_lanes": c.misc_lanes * 3 // 2
        },
        "twice CONV's finishing lanes": {"conv_finish": 2 * c.conv_finish},
        "twice POOL's finishing lanes": {"pool_finish": 2 * c.pool_finish},
        "one more tap of POOL": {"pool_taps": c.pool_taps + 1},
        "twice the lanes of MISC": {"misc_lanes": 2 * c.misc_lanes},
        "another round of banks": {"fm_banks": c.fm_banks + c.fm_phases},
        "twice the weight buffer": {"weight_depth": 2 * c.weight_depth},
        "twice the bus": {"axi_data_bits": 2 * c.axi_data_bits},
    }  # fmt: skip


def sensitivity(search: Search, chosen: Point) -> tuple[Change, ...]:
    """The changes, those with the greatest gain first. Changes that no configuration can have are left out."""
    made: dict[str, MachineConfig] = {}
    for what, fields in changes_of(chosen.config).items():
        try:
            made[what] = changed(chosen.config, fields)
        except ConfigError:
            continue
    configs = [chosen.config, *made.values()]
    points = search.evaluate([(config, search.limits.sizes(config)) for config in configs], "quick")
    before, *after = points
    found = []
    for (what, config), point in zip(made.items(), after, strict=True):
        if point.refused:
            continue
        shares = search.limits.shares(config, point.sizes)
        kind = max(shares, key=shares.__getitem__)
        beyond = f"{kind} {shares[kind]:.0%}" if shares[kind] > 1 else ""
        gain = 1 - point.cost(search.objective) / before.cost(search.objective)
        found.append(Change(what, config.name, round(gain, 4), round(point.luts - before.luts), beyond))
    return tuple(sorted(found, key=lambda change: (-change.gain, change.what)))
