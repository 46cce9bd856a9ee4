"""Checks fields of a configuration against each other, where lanes share work or take turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isa.bounds import BOUNDS, ConfigError
from isa.chips import memory_of

if TYPE_CHECKING:
    from isa.config import MachineConfig

MAX_FM_WORDS = 1 << 20
MAX_ROW = 4096
"""The most elements of a row of ROW. Its sums hold so many without loss (``hw/rows``)."""


def check_lanes(config: MachineConfig) -> None:
    """Makes all checks below."""
    lanes = (check_finish, check_misc, check_rows, check_products, check_packing, check_array_clock)
    for check in (*lanes, check_banks, check_ports):
        check(config)


def check_banks(config: MachineConfig) -> None:
    """Each phase has equally many banks, and instructions can address them."""
    if config.fm_banks % config.fm_phases:
        raise ConfigError(
            f"configuration field fm_banks: {config.fm_banks} is not a multiple of {config.fm_phases}, "
            f"which px_p = {config.px_p} asks for (and pool_taps = {config.pool_taps}), "
            "so that pixel lanes never collide at stride 1 and 2"
        )
    if config.fm_words > MAX_FM_WORDS:
        raise ConfigError(
            f"configuration fields fm_banks x fm_depth: {config.fm_words} words are more than the "
            f"{MAX_FM_WORDS} that an instruction can address; make the buffer smaller"
        )


def check_ports(config: MachineConfig) -> None:
    """A port has the least width of a bus, a burst at least a beat of the bus, and the chip as many ports as are asked for."""
    least = BOUNDS["axi_data_bits"].low
    if config.axi_port_bits < least:
        raise ConfigError(
            f"configuration field axi_ports: {config.axi_ports} share the {config.axi_data_bits} bits of axi_data_bits, "
            f"and each needs {least}; make axi_ports 1, or axi_data_bits {least * config.axi_ports}"
        )
    if config.axi_burst_beats < config.axi_ports:
        raise ConfigError(
            f"configuration field axi_burst_beats: {config.axi_burst_beats} is less than a beat of the bus, which takes "
            f"{config.axi_ports} of a port (axi_ports); make it {config.axi_ports} or more"
        )
    memory, asked = memory_of(config.chip), config.axi_ports * config.chip_cores
    if memory and config.axi_ports > 1 and asked > memory.ports:
        raise ConfigError(
            f"configuration field axi_ports: {config.axi_ports} of {config.chip_cores} machines (chip_cores) are {asked}, and "
            f"{config.chip} has {memory.ports} to its DRAM; make axi_ports 1, or chip_cores {memory.ports // config.axi_ports}"
        )


def check_misc(config: MachineConfig) -> None:
    """MISC computes a word in equal slices."""
    if config.ic_p % config.misc_lanes:
        raise ConfigError(
            f"configuration field misc_lanes: {config.misc_lanes} does not divide the {config.ic_p} lanes of a word (ic_p); "
            f"choose one of {', '.join(map(str, divisors(config.ic_p)))}"
        )


def check_rows(config: MachineConfig) -> None:
    """ROW computes a word in equal slices, and its sums hold so many elements."""
    if not config.build_rows:
        return
    if config.ic_p % config.row_lanes:
        raise ConfigError(
            f"configuration field row_lanes: {config.row_lanes} does not divide the {config.ic_p} lanes of a word (ic_p); "
            f"choose one of {', '.join(map(str, divisors(config.ic_p)))}"
        )
    if config.row_words * config.ic_p > MAX_ROW:
        raise ConfigError(
            f"configuration field row_words: {config.row_words} words of {config.ic_p} elements (ic_p) are more than the "
            f"{MAX_ROW} that a row may have; choose at most {MAX_ROW // config.ic_p}"
        )


def check_products(config: MachineConfig) -> None:
    """LOADW cuts a channel vector into whole chunks."""
    if config.build_products and config.ic_p % config.oc_p:
        raise ConfigError(
            f"configuration field build_products: needs an oc_p that divides ic_p = {config.ic_p}, so that a channel vector is "
            f"made of whole chunks of outputs, and {config.oc_p} does not; make build_products false, or oc_p "
            f"{_one_of(divisors(config.ic_p))}"
        )


def check_packing(config: MachineConfig) -> None:
    """Products are packed in pairs, of two pixels or of two outputs."""
    if config.dsp_packing and config.px_p % 2 and config.oc_p % 2:
        raise ConfigError("configuration field dsp_packing: needs an even px_p or an even oc_p to pair products; make it false")


def check_array_clock(config: MachineConfig) -> None:
    """A multiplier that works twice in a cycle needs two pairs of products that share one operand."""
    if config.array_clock == 1:
        return
    if not config.dsp_packing:
        raise ConfigError(
            "configuration field array_clock: 2 is for packed products (dsp_packing), which it is without; "
            "make dsp_packing true, or array_clock 1"
        )
    turns = 2 if config.packs_pixels else 4
    if config.oc_p % turns:
        raise ConfigError(
            f"configuration field array_clock: 2 needs an oc_p that is a multiple of {turns} (px_p is {config.px_p}), "
            f"for each multiplier makes two pairs of products by turns, and {config.oc_p} is none; "
            f"make array_clock 1, or oc_p {-(-config.oc_p // turns) * turns}"
        )


def check_finish(config: MachineConfig) -> None:
    """Finishing lanes take part of a pixel at a time, or whole pixels: never parts of two."""
    results = config.px_p * config.oc_p
    parts = [n for n in range(1, results + 1) if config.oc_p % n == 0 or (n % config.oc_p == 0 and results % n == 0)]
    if config.conv_finish not in parts:
        raise ConfigError(
            f"configuration field conv_finish: {config.conv_finish} neither divides oc_p = {config.oc_p} nor is a multiple of "
            f"it that divides px_p x oc_p = {results}; choose {_one_of(parts)}"
        )
    if config.conv_shifts and config.shares_finish:
        raise ConfigError(
            "configuration field requant: 'shift' leaves CONV's finishing lanes without the multipliers that POOL's results "
            "need there with shared_finish; make shared_finish false, or requant 'float32'"
        )
    if config.conv_shifts and config.act16:
        raise ConfigError(
            "configuration field requant: 'shift' leaves CONV's finishing lanes without the multipliers that sums of 16-bit "
            "inputs need; make act16 false, or requant 'float32'"
        )
    if config.ic_p % config.pool_finish:
        raise ConfigError(
            f"configuration field pool_finish: {config.pool_finish} does not divide ic_p = {config.ic_p}; "
            f"choose {_one_of(divisors(config.ic_p))}"
        )


def divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def _one_of(values: list[int]) -> str:
    return " or ".join(filter(None, (", ".join(map(str, values[:-1])), str(values[-1]))))
