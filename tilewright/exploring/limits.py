"""The limits of a machine on a chip: resources by the estimate of sizes, bandwidth and latency of its DRAM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from isa.bounds import BOUNDS
from isa.chips import SPARE, Chip, ChipMemory, memory_of
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.estimate import coefficients, estimate
from tilewright.exploring.space import changed

UNLIMITED = 1 << 30
OPTIONS = {"LUT": "--luts", "DSP": "--dsps", "BRAM": "--brams", "URAM": "--urams"}
NONE_GIVEN = "give --chip NAME, or at least --luts"


@dataclass(frozen=True)
class Limits:
    """The limits of all cores together."""

    chip: Chip
    """The chip, named or described. Resources without a limit have a capacity that nothing reaches."""
    chip_text: str
    """The chip as the configuration's field names it."""
    most: Mapping[str, float]
    """The most of each kind of resource."""
    bandwidth: float | None
    """The bytes of DRAM a second, or None if they are not known."""
    latency_ns: float | None
    """The latency of DRAM. With None it is that of the machine from which the space starts."""
    clock_mhz: int | None
    """The clock of all machines. With None it is that of the machine from which the space starts."""

    memory: ChipMemory | None
    """The ports of the chip to DRAM, or None if it has none of its own."""

    @property
    def family(self) -> str:
        return self.chip.family

    def placed(self, config: MachineConfig) -> MachineConfig:
        """The machine for this chip and clock. A bus that is wider than a port of the chip takes several ports.

        Raises ``ConfigError`` if there is no such machine.
        """
        clock = self.clock_mhz or config.clock_mhz
        if (config.chip, config.clock_mhz) != (self.chip_text, clock):
            config = replace(config, chip=self.chip_text, clock_mhz=clock)
        if self.latency_ns is not None:
            config = replace(config, dram_latency=min(BOUNDS["dram_latency"].high, ceil(self.latency_ns * clock / 1000)))
        ports = 1 if self.memory is None else -(-config.axi_data_bits // self.memory.bits)
        return config if ports <= config.axi_ports else changed(config, {"axi_ports": ports})

    def sizes(self, config: MachineConfig) -> dict[str, float]:
        """The resources of all cores by the estimate."""
        found = {one.kind: one.number * config.chip_cores for one in estimate(config, self.family)}
        return {"URAM": 0.0, **found}

    def shares(self, config: MachineConfig, sizes: Mapping[str, float]) -> dict[str, float]:
        """The share that is taken of each limit; above 1 it is too much."""
        found = {kind: sizes.get(kind, 0.0) / most if most else float(bool(sizes.get(kind))) * UNLIMITED
                 for kind, most in self.most.items()}  # fmt: skip
        if self.bandwidth is not None:
            found["bandwidth"] = config.axi_bytes * config.clock_mhz * 1e6 * config.chip_cores / self.bandwidth
        if self.latency_ns is not None:
            found["latency"] = self.latency_ns * config.clock_mhz / 1000 / config.axi_read_ahead
        return found

    def binds(self, kind: str, share: float) -> str:
        """The limit that a machine exceeds, in half a sentence."""
        if kind == "bandwidth":
            return f"bandwidth: it takes {share:.2f} times the {self.bandwidth or 0:.3g} bytes a second (--bandwidth)"
        if kind == "latency":
            return f"latency: {self.latency_ns:g} ns are {share:.2f} times what its beats on the way cover (axi_read_ahead)"
        return f"{kind}: it takes {share * self.most[kind]:,.0f} of {self.most[kind]:,.0f} ({OPTIONS.get(kind, '--chip')})"


def limits_of(
    chip: Chip | None = None, *, luts: int | None = None, dsps: int | None = None, brams: int | None = None,
    urams: int | None = None, bandwidth: float | None = None, latency: float | None = None, clock: int | None = None,
    spare: float = SPARE, family: str = "xcup",
) -> Limits:  # fmt: skip
    """The limits of a chip, or of these numbers. ``spare``: the share of the chip's LUTs that is left free; without a chip it
    is 0."""
    if chip is None and luts is None:
        raise TilewrightError(f"explore: no chip and no number of LUTs; {NONE_GIVEN}")
    given = {"LUT": luts, "DSP": dsps, "BRAM": brams, "URAM": urams}
    for kind, number in given.items():
        if number is not None and number < (kind == "LUT"):
            raise TilewrightError(f"explore {OPTIONS[kind]}: {number}; expected a number above 0")
    for option, value in (("--bandwidth", bandwidth), ("--latency", latency)):
        if value is not None and not 0 < value < float("inf"):
            raise TilewrightError(f"explore {option}: {value:g}; expected a number above 0")
    if clock is not None:
        BOUNDS["clock_mhz"].check("clock_mhz", clock)
    text = "" if chip is None else chip_text(chip)
    if chip is None:
        capacity = {"LUT": luts or 0, "FF": UNLIMITED, "DSP": UNLIMITED, "BRAM": UNLIMITED}
        chip = Chip("limits", family, {kind: given.get(kind) or number for kind, number in capacity.items()})
        chip = replace(chip, capacity={**chip.capacity, **({"URAM": urams} if urams else {})})
        text, spare = chip_text(chip), 0.0
    if chip.family not in coefficients():
        known = ", ".join(coefficients())
        raise TilewrightError(f"chip {chip.name}: no machine of its family {chip.family} was measured; expected one of {known}")
    most: dict[str, float] = {"URAM": 0.0, **chip.capacity}
    most["LUT"] *= 1 - spare
    for kind, number in given.items():
        if number is not None:
            most[kind] = min(most[kind], number)
    memory = memory_of(text)
    if bandwidth is None and memory is not None:
        bandwidth = memory.gigabytes * 1e9
    return Limits(chip, text, most, bandwidth, latency, clock, memory)


def chip_text(chip: Chip) -> str:
    """The chip as a configuration names it."""
    from isa.chips import CHIPS, described

    return chip.name if chip.name in CHIPS else described({"name": chip.name, "family": chip.family, **chip.capacity})
