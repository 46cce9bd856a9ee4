"""The values that the numbers of a configuration may take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from isa.errors import TilewrightError


class ConfigError(TilewrightError):
    """Raised for a configuration that cannot be built."""


_NAME = re.compile("[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Bound:
    """The values that one field may take."""

    low: int
    high: int
    power_of_two: bool = False

    def check(self, field: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"configuration field {field}: {value!r} is not a whole number")
        if not self.low <= value <= self.high:
            raise ConfigError(f"configuration field {field}: {value} is outside {self.low}..{self.high}; choose a value within")
        if self.power_of_two and value & (value - 1):
            raise ConfigError(f"configuration field {field}: {value} is not a power of two; try {ceil_pow2(value)}")


BOUNDS: dict[str, Bound] = {
    "ic_p": Bound(1, 64),
    "oc_p": Bound(1, 64),
    "px_p": Bound(1, 8),
    "conv_finish": Bound(1, 512),
    "pool_finish": Bound(1, 64),
    "pool_taps": Bound(1, 4),
    "misc_lanes": Bound(1, 64),
    "row_lanes": Bound(1, 64),
    "row_words": Bound(1, 256),
    "fm_banks": Bound(1, 256),
    "fm_depth": Bound(16, 65536, power_of_two=True),
    "weight_depth": Bound(16, 65536),
    "param_depth": Bound(2, 65536),
    "taps_depth": Bound(2, 65536),
    "pool_param_depth": Bound(2, 65536),
    "acc_depth": Bound(2, 65536),
    "tables": Bound(1, 4),
    "window_bytes": Bound(16, 256),
    "axi_data_bits": Bound(32, 512, power_of_two=True),
    "axi_addr_bits": Bound(32, 64),
    "axi_burst_beats": Bound(1, 256, power_of_two=True),
    "axi_reads": Bound(1, 64),
    "axi_read_ahead": Bound(128, 1024),
    "axi_prot": Bound(0, 7),
    "axi_cache": Bound(0, 15),
    "axi_qos": Bound(0, 15),
    "axi_ports": Bound(1, 2),
    "dram_latency": Bound(1, 600),
    "queue_words": Bound(32, 1024),
    "array_clock": Bound(1, 2),
    "narrow_pairs": Bound(0, 32),
    "clock_mhz": Bound(1, 2000),
    "chip_cores": Bound(1, 16),
}
"""The bounds of every whole-number field. The remaining fields are names and switches."""


def check_printable(values: Mapping[str, object]) -> None:
    """Refuses a number of thousands of digits, which cannot even be printed."""
    for field, value in values.items():
        if isinstance(value, int) and value.bit_length() > 64:
            raise ConfigError(f"configuration field {field}: a number of {value.bit_length()} bits, far outside of every bound")


def check_name(name: object) -> None:
    """Refuses a name that is a path: files in the cache, and what programs and benches leave, have the configuration's name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            f"configuration field name: {name!r} is not 1 to 64 letters (a to z), digits, _ and -; files are named after it"
        )


def ceil_pow2(value: int) -> int:
    """The least power of two that is not below a number."""
    return 1 << (value - 1).bit_length()
