"""The firmware: the header that describes its system, and its build."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driver.sources import driver_files
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.flat_image import flat_image
from isa.program import Program

HERE = Path(__file__).parent / "firmware"
COMPILER = "riscv64-unknown-elf-gcc"
LIBRARY = "picolibc.specs"
PACKAGES = "apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"
OPTIONS = (
    "-march=rv32im", "-misa-spec=2.2", "-mabi=ilp32", "-std=gnu99", "-Os", "-ffunction-sections", "-fdata-sections",
    "-Wall", "-Wextra", "-Wconversion", "-Werror", "-DPICOLIBC_INTEGER_PRINTF_SCANF", f"--specs={LIBRARY}",
)  # fmt: skip
STACK_BYTES = 4096
_CONTROL = {"SEL": 1, "CKE": 2, "ODT": 4, "RESET_N": 8}
_COMMAND = {"CS": 1, "WE": 2, "CAS": 4, "RAS": 8}
"""The bits of LiteDRAM's two registers with which software controls the memory."""


class FirmwareError(TilewrightError):
    """Raised for firmware that cannot be made."""


def missing() -> str:
    """The tool that is missing to make firmware here, with the remedy; empty if nothing is missing."""
    if shutil.which(COMPILER) is None:
        return f"{COMPILER} is not installed: {PACKAGES}"
    probe = subprocess.run([COMPILER, f"--specs={LIBRARY}", "-E", "-x", "c", "/dev/null"], capture_output=True, check=False)
    return f"picolibc is not installed for {COMPILER}: {PACKAGES}" if probe.returncode else ""


def system_header(soc: Any) -> str:
    """``soc.h`` of a finalised system: addresses of registers and memories, lines of interrupts, steps of the SDRAM."""
    from litex.soc.integration.export import get_csr_json

    found = json.loads(get_csr_json(soc.csr_regions, soc.constants, soc.mem_regions))
    values: dict[str, int] = {f"CSR_{name}": register["addr"] for name, register in found["csr_registers"].items()}
    values |= {name: value for name, value in found["constants"].items() if isinstance(value, int)}
    for name, memory in found["memories"].items():
        values |= {f"{name}_BASE": memory["base"], f"{name}_SIZE": memory["size"]}
    lines = [f"#define {name.upper()} {value:#x}u" for name, value in values.items()]
    return "\n".join(["/* Made with the system: do not change. */", *lines, *_sdram(soc), ""])


def _sdram(soc: Any) -> Iterator[str]:
    if not hasattr(soc, "sdram"):
        return
    from litedram.init import get_sdram_phy_init_sequence

    settings = soc.sdram.controller.settings
    steps, _ = get_sdram_phy_init_sequence(settings.phy, settings.timing)
    rows = []
    for _, address, bank, command, delay in steps:
        names = [name.split("_", 2)[1:] for name in command.split("|")]
        control = int(names[0][0] == "CONTROL")
        bits = _CONTROL if control else _COMMAND
        rows.append(f"{{{control}, {sum(bits[name] for _, name in names)}, {address:#x}, {bank}, {delay}}}")
    yield f"#define SDRAM_STEPS {', '.join(rows)}"
    yield f"#define SDRAM_SOFTWARE {_CONTROL['CKE'] | _CONTROL['ODT'] | _CONTROL['RESET_N']}u"
    yield f"#define SDRAM_HARDWARE {_CONTROL['SEL']}u"


def build_firmware(
    folder: Path, header: str, regions: Any, config: MachineConfig, program: Program, images: NDArray[np.float32]
) -> list[int]:
    """The words of the ROM. All that was made stays in ``folder``, ``firmware.elf`` among it."""
    if reason := missing():
        raise FirmwareError(f"firmware: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**driver_files(config), "soc.h": header}.items():
        (folder / name).write_text(text)
    (folder / "program.bin").write_bytes(flat_image(program))
    (folder / "images.bin").write_bytes(np.ascontiguousarray(images, "<f4").tobytes())
    sources = [*sorted(folder.glob("tw_*.c")), *sorted(HERE.glob("*.[cS]"))]
    places = {
        "__flash": regions["rom"].origin, "__flash_size": regions["rom"].size,
        "__ram": regions["sram"].origin, "__ram_size": regions["sram"].size, "__stack_size": STACK_BYTES,
    }  # fmt: skip
    link = ["-T", "picolibc.ld", "-Wl,--gc-sections", *(f"-Wl,--defsym={name}={value:#x}" for name, value in places.items())]
    _run([COMPILER, *OPTIONS, "-I.", f"-I{HERE}", "-o", "firmware.elf", *map(str, sources), *link], folder)
    _run(["riscv64-unknown-elf-objcopy", "-O", "binary", "firmware.elf", "firmware.bin"], folder)
    content = (folder / "firmware.bin").read_bytes()
    if len(content) > regions["rom"].size:
        raise FirmwareError(f"firmware of {len(content)} bytes: the ROM has {regions['rom'].size}; a larger one: soc/design.py")
    return [int(word) for word in np.frombuffer(content + bytes(-len(content) % 4), "<u4")]


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FirmwareError(f"firmware: {command[0]} failed:\n{done.stderr[-2000:]}")
