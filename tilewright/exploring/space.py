"""The machines that are weighed: every combination of the values of some fields, as far as they go together."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from compiler.frontend.extras import Extras
from isa.bounds import BOUNDS, ConfigError
from isa.chips import Chip
from isa.config import ONLY_FOR_REPORTS, MachineConfig, preset
from isa.errors import TilewrightError
from isa.names import nearest

RELATIVE = ("finish_parts", "pool_parts", "misc_parts", "bank_rounds")
"""The axes whose values are relative to the lanes: the cycles in which CONV finishes a beat's results, those in which POOL and
MISC finish a word, and the banks for each phase of the feature-map buffer."""
LANES = ("ic_p", "oc_p", "px_p")
START = {"xcup": ("base", "zu2"), "xc7": ("pynq", "pynq"), "ecp5": ("ulx3s", "ulx3s")}
"""The preset whose other fields count, by family: with UltraRAMs, and without."""
START_OF_SMALL = {"LFE5U-25F": "nano"}
"""The same preset for chips that hold no machine with the fields of their family's preset."""
ONE_AT_A_TIME = ("conv_finish", "pool_finish", "misc_lanes", "fm_banks")
"""The fields that the relative axes set."""

COMMON = {"px_p": (1, 2, 4), "finish_parts": (1, 2, 4), "pool_parts": (2, 4), "pool_taps": (1, 3), "bank_rounds": (1, 2)}
FAMILY = {
    "xcup": {
        "ic_p": (8, 16, 24, 32), "oc_p": (8, 12, 16, 24, 32), "weight_depth": (1024, 4096), "axi_data_bits": (128, 256),
        "array_clock": (1, 2),
    },
    "xc7": {"ic_p": (4, 8, 16, 24), "oc_p": (4, 8, 12, 16), "weight_depth": (512, 1024, 2048), "axi_data_bits": (64, 128)},
    "ecp5": {"ic_p": (4, 8, 16), "oc_p": (4, 8, 16), "weight_depth": (512, 1024), "axi_data_bits": (32, 64)},
}  # fmt: skip
"""The space where none is given. Other fields keep the values of the start."""


@dataclass(frozen=True)
class Space:
    """A space: the values of each axis, which is a field of the configuration or a relative one."""

    start: MachineConfig
    """The machine whose values count for all other fields."""
    axes: Mapping[str, tuple[int, ...]]

    @property
    def points(self) -> int:
        """The number of combinations, whether they go together or not."""
        count = 1
        for values in self.axes.values():
            count *= len(values)
        return count

    def machines(self) -> Iterator[MachineConfig | None]:
        """The machine of each combination, in a fixed order; None if its values do not go together."""
        for values in product(*self.axes.values()):
            try:
                yield _machine(self.start, dict(zip(self.axes, values, strict=True)))
            except ConfigError:
                yield None


def _machine(start: MachineConfig, values: dict[str, int]) -> MachineConfig:
    plain = {name: value for name, value in values.items() if name not in RELATIVE}
    ic_p, oc_p, px_p = (plain.get(name, getattr(start, name)) for name in LANES)
    taps = plain.get("pool_taps", start.pool_taps)
    phases = 1 if px_p == taps == 1 else 1 << (max(2 * px_p, px_p + taps - 1) - 1).bit_length()
    lanes = {"finish_parts": px_p * oc_p, "pool_parts": ic_p, "misc_parts": ic_p}
    for (axis, whole), field in zip(lanes.items(), ONE_AT_A_TIME, strict=False):
        if axis in values:
            if whole % values[axis]:
                raise ConfigError(f"{axis} {values[axis]} does not divide {whole}")
            plain[field] = whole // values[axis]
    if "bank_rounds" in values:
        plain["fm_banks"] = phases * values["bank_rounds"]
    return changed(start, plain)


def changed(config: MachineConfig, values: Mapping[str, int]) -> MachineConfig:
    """The machine with other values, under the name that they give it."""
    fields: dict[str, Any] = {**vars_of(config), **values}
    return MachineConfig(**{**fields, "name": name_of(fields)})


def name_of(fields: Mapping[str, object]) -> str:
    """The name of a machine: its lanes, a digest of all fields and, if there are several, the cores. It is the same in every
    space."""
    told = repr(sorted((name, value) for name, value in fields.items() if name not in ONLY_FOR_REPORTS))
    lanes = "x".join(str(fields[name]) for name in LANES)
    cores = f"_{fields['chip_cores']}" if fields["chip_cores"] != 1 else ""
    return f"{lanes}_{hashlib.sha256(told.encode()).hexdigest()[:8]}{cores}"


@lru_cache(maxsize=4)
def vars_of(config: MachineConfig) -> Mapping[str, object]:
    """The fields by name."""
    return {field.name: getattr(config, field.name) for field in fields(config)}


def start_for(chip: Chip) -> MachineConfig:
    """The preset whose fields count where no other machine is named."""
    return preset(START_OF_SMALL.get(chip.name) or START[chip.family]["URAM" not in chip.capacity])


def usual_space(start: MachineConfig, family: str, *, cores: tuple[int, ...], extras: Extras) -> Space:
    """The space where none is given. ``extras``: those of all machines; with ROW its lanes are an axis."""
    more = {"row_lanes": (2, 4)} if extras.rows else {}
    axes = {**COMMON, **FAMILY[family], **more, "chip_cores": cores}
    if not start.dsp_packing:
        axes.pop("array_clock", None)
    return Space(replace(start, build_rows=extras.rows, build_products=extras.products), axes)


def read_space(path: Path, start: MachineConfig) -> Space:
    """Reads a TOML file of lists, ``ic_p = [8, 16]``, one for each axis."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TilewrightError(f"space {path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise TilewrightError(f"space {path}: not TOML: {error}") from None
    return space_of(table, start, str(path))


def space_of(table: Mapping[str, object], start: MachineConfig, origin: str = "keywords") -> Space:
    known = [*RELATIVE, *(field.name for field in fields(MachineConfig) if field.name in BOUNDS and field.name != "clock_mhz")]
    axes = {}
    for name, values in table.items():
        if name not in known:
            hint = f"{nearest(name, known)}; known are {', '.join(known)}"
            raise TilewrightError(f"space {origin}: axis {name!r} is unknown{hint}")
        if not isinstance(values, list | tuple) or not values or not all(type(v) is int and v > 0 for v in values):
            raise TilewrightError(f"space {origin}: axis {name}: {values!r} is not a list of whole numbers, as [8, 16]")
        axes[name] = tuple(sorted(set(values)))
    if not axes:
        raise TilewrightError(f"space {origin}: has no axis; give one, as ic_p = [8, 16]")
    return Space(start, axes)
