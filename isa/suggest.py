"""Suggests machines for a chip: like a preset, with the largest array that leaves room, by the estimate of sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from isa.bounds import ConfigError
from isa.chips import CHIPS, Chip, chip_of, described
from isa.config import PRESETS, MachineConfig
from isa.estimate import Estimate, coefficients, estimate

ARRAYS = (
    (4, 4, 1), (8, 4, 1), (8, 8, 1), (8, 8, 2), (16, 8, 2), (16, 16, 1), (16, 16, 2), (24, 12, 2), (32, 16, 2), (32, 16, 4),
    (32, 32, 4),
)  # fmt: skip
"""The arrays that are tried: input channels, output channels, pixels."""


@dataclasses.dataclass(frozen=True)
class Suggestion:
    """A machine, and the resources of the chip that it is expected to take."""

    config: MachineConfig
    sizes: tuple[Estimate, ...]


def suggestions(chip: Chip, spare: float) -> list[Suggestion]:
    """The machines that leave the share ``spare`` of the LUTs free: the largest array first, then the most memory."""
    every = [Suggestion(config, tuple(estimate(config, chip.family))) for config in _candidates(chip)]
    if not every[0].sizes:
        raise ConfigError(f"chip {chip.name}: no machine of its family {chip.family} was measured; use tilewright size instead")
    found = [one for one in every if all(_fits(size, chip, spare) for size in one.sizes)]
    if not found:
        least = min(every, key=lambda one: one.sizes[0].number)
        raise ConfigError(
            f"chip {chip.name}: no machine leaves {spare:.0%} of its {chip.capacity['LUT']:,} LUT free, the smallest "
            f"({least.config.name}) takes {least.sizes[0].number:,.0f}; give --spare, or a larger chip"
        )
    found.sort(key=lambda one: (-one.config.macs_per_cycle, -one.config.on_chip_bytes))
    return found


def _fits(size: Estimate, chip: Chip, spare: float) -> bool:
    """Whether a resource fits. LUTs leave room for routing; all others may be used up."""
    return size.number <= chip.capacity.get(size.kind, 0) * (1 - spare if size.kind == "LUT" else 1)


def _candidates(chip: Chip) -> Iterator[MachineConfig]:
    """Presets as they are, and each preset with other arrays. The lanes that finish results grow with the array."""
    text = chip.name if chip.name in CHIPS else described({"name": chip.name, "family": chip.family, **chip.capacity})
    for preset in PRESETS.values():
        own = chip_of(preset.chip)
        if own is not None and own.family not in coefficients():  # the formula has not seen its like
            continue
        if "ultra" in (preset.weight_ram, preset.fm_ram) and "URAM" not in chip.capacity:
            continue
        yield dataclasses.replace(preset, chip=text, chip_cores=1)
        for ic_p, oc_p, px_p in ARRAYS:
            lanes = oc_p * px_p
            finish = max(1, lanes // 2) if lanes >= preset.oc_p else preset.conv_finish
            try:
                yield dataclasses.replace(
                    preset, name=f"{preset.name}_{ic_p}x{oc_p}x{px_p}", chip=text, chip_cores=1, ic_p=ic_p, oc_p=oc_p,
                    px_p=px_p, conv_finish=finish, pool_finish=max(1, ic_p // 2), misc_lanes=max(1, ic_p // 4),
                )  # fmt: skip
            except ConfigError:  # what does not go together is no candidate
                continue
