"""Several machines on one chip: whether the chip holds them, and what its DRAM gives them together."""

from __future__ import annotations

import dataclasses

from isa.bounds import BOUNDS, ConfigError
from isa.chips import memory_of
from isa.config import MachineConfig
from isa.estimate import beyond_chip

MOST_CORES = BOUNDS["chip_cores"].high


def check_count(cores: int) -> None:
    """Refuses fewer cores than one, and more than any chip is asked to hold."""
    if not 1 <= cores <= MOST_CORES:
        raise ConfigError(f"cores {cores}: outside 1..{MOST_CORES}; choose a value within")


def with_cores(config: MachineConfig, cores: int) -> MachineConfig:
    """The configuration for a chip with so many machines. It is refused if the chip lacks the ports or the room."""
    if cores == 1:
        return config
    check_count(cores)
    memory, ports = memory_of(config.chip), cores * config.axi_ports
    if memory and ports > memory.ports:
        raise ConfigError(
            f"cores {cores}: with {config.axi_ports} ports each (axi_ports) they have {ports}, and {config.chip} has "
            f"{memory.ports} to its DRAM; ask for {memory.ports // config.axi_ports}"
        )
    several = dataclasses.replace(config, chip_cores=cores)
    if beyond := beyond_chip(several):
        raise ConfigError(f"cores {cores}: {beyond}; ask for fewer, or name a larger chip")
    return several


def dram_bytes(config: MachineConfig) -> int:
    """The bytes that all machines of a chip together get of its DRAM in a cycle. If the DRAM is not known, those that one can
    take."""
    memory = memory_of(config.chip)
    return int(memory.gigabytes * 1000 / config.clock_mhz) if memory else config.axi_bytes
