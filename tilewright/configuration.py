"""Machines in the Python API: from a preset, a TOML file or keywords; their size; their Verilog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from isa.chips import FAMILIES, chip_of
from isa.config import PRESETS, MachineConfig, config_from_dict, load_config
from isa.cores import with_cores
from isa.errors import TilewrightError
from isa.estimate import Estimate, estimate
from isa.names import nearest

DEFAULT_FAMILY = "xcup"


class Config:
    """A machine: ``Config("base")``, ``Config("mine.toml")``, or with changes: ``Config("nano", name="mine", oc_p=8)``."""

    def __init__(self, source: str | Path | MachineConfig | Config = "base", **fields: Any) -> None:
        """``fields``: fields of the configuration (docs/reference/configuration.md). Without a name it is called ``custom``."""
        machine = machine_of(source)
        if fields:
            known = asdict(machine)
            if unknown := [name for name in fields if name not in known]:
                hint = nearest(unknown[0], known) or f"; known are {', '.join(known)}"
                raise TilewrightError(f"configuration field {unknown[0]!r}: unknown{hint}")
            machine = config_from_dict({**known, "name": "custom", **fields}, origin="keywords")
        self.machine = machine

    @property
    def name(self) -> str:
        return self.machine.name

    @property
    def macs_per_cycle(self) -> int:
        """The peak of the array."""
        return self.machine.macs_per_cycle

    @property
    def hash(self) -> int:
        """The hash. A program runs on machines of its own hash only."""
        return self.machine.hash

    @staticmethod
    def presets() -> tuple[str, ...]:
        return tuple(PRESETS)

    def size(self, *, family: str | None = None) -> dict[str, Estimate]:
        """The resources by kind, each with its greatest error, estimated at once; ``tilewright size`` synthesises instead.
        ``family``: xcup, xc7 or ecp5; by default the chip's."""
        chip = chip_of(self.machine.chip)
        wanted = family or (chip.family if chip else DEFAULT_FAMILY)
        if wanted not in FAMILIES:
            raise TilewrightError(f"family {wanted!r}: unknown{nearest(wanted, FAMILIES)}; known are {', '.join(FAMILIES)}")
        return {one.kind: one for one in estimate(self.machine, wanted)}

    def verilog(self, folder: str | Path, *, cores: int = 1, **style: Any) -> list[Path]:
        """Writes the machine, or ``cores`` of them; returns the files. ``style``: fields of ``hw.delivery.style.Style``."""
        from hw.delivery.files import arrange
        from hw.delivery.style import Style
        from sim.rtl.build import core_verilog
        from tilewright.options import write_files

        wanted, machine = Style(**style), with_cores(self.machine, cores)
        text = core_verilog(machine, dsp48e2=wanted.dsp48e2, cores=cores)
        files = {**arrange(text, machine, wanted), "config.json": machine.to_json()}
        write_files((Path(folder) / name, text.encode()) for name, text in files.items())
        return [Path(folder) / name for name in files]

    def to_toml(self) -> str:
        return self.machine.to_toml()

    def as_dict(self) -> Mapping[str, Any]:
        return asdict(self.machine)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and other.machine == self.machine

    def __hash__(self) -> int:
        return hash(self.machine)

    def __repr__(self) -> str:
        m = self.machine
        return f"<Config {m.name}: {m.ic_p} x {m.oc_p} x {m.px_p}, {m.macs_per_cycle} MAC/cycle, {m.clock_mhz} MHz assumed>"


def machine_of(source: str | Path | MachineConfig | Config) -> MachineConfig:
    """The configuration that any form of it stands for."""
    if isinstance(source, Config):
        return source.machine
    return source if isinstance(source, MachineConfig) else load_config(str(source))
