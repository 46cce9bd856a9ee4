"""The files of the C driver."""

from __future__ import annotations

from pathlib import Path

from isa.config import MachineConfig
from isa.export import c_header

SOURCES, LINUX = Path(__file__).parent / "src", Path(__file__).parent / "linux"
HEADER, CONFIG_HEADER = "tilewright.h", "tilewright_config.h"


def driver_files(config: MachineConfig | None = None, *, linux: bool = False) -> dict[str, str]:
    """Content by name: the sources, the header made from the register table, and, with a configuration, one about that.

    ``linux``: with functions for its devices, and for parts of networks that onnxruntime runs.
    """
    folders = [SOURCES, LINUX] if linux else [SOURCES]
    paths = [path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in (".c", ".h")]
    files = {path.name: path.read_text(encoding="utf-8") for path in paths}
    files[HEADER] = c_header()
    if config is not None:
        files[CONFIG_HEADER] = _config_header(config)
    return files


def _config_header(config: MachineConfig) -> str:
    """What firmware for one configuration knows before it has asked the machine."""
    name = config.name.replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join([
        "/* Tilewright: one configuration of the machine. Made by `tilewright driver --config`. */",
        "#ifndef TILEWRIGHT_CONFIG_H",
        "#define TILEWRIGHT_CONFIG_H",
        "",
        f'#define TW_CONFIG_NAME "{name}"',
        f"#define TW_CONFIG_HASH {config.hash:#010x}u /* as register CONFIG reads */",
        f"#define TW_CONFIG_AXI_BYTES {config.axi_bytes}u /* what the addresses of programs and regions are multiples of */",
        f"#define TW_CONFIG_AXI_ADDR_BITS {config.axi_addr_bits}u",
        f"#define TW_CONFIG_CLOCK_MHZ {config.clock_mhz}u /* as the configuration says; only for reports */",
        "",
        "#endif",
        "",
    ])  # fmt: skip
