"""Makes the Verilog of a described system with the firmware in its ROM, and a simulator of it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isa.program import Program
from sim.rtl.build import Build, cache_directory, compiler_versions, runtime_objects
from sim.rtl.interrupts import temporary_folder
from sim.rtl.verilator import Toolchain
from soc.firmware import build_firmware, system_header

HARNESS = Path(__file__).parent / "harness.cpp"
TOP = "system"
OPTIONS = (
    "--cc", "--exe", "-O3", "--no-timing", "--x-assign", "fast", "--x-initial", "fast",
    "-CFLAGS", "-std=c++20", "-Wno-lint", "-Wno-style", "-Wno-MULTIDRIVEN", "-Wno-COMBDLY", "-Wno-UNOPTFLAT",
    "--top-module", TOP, "-Mdir", ".", "-o", "../simulator",
)  # fmt: skip
"""The options of Verilator. LiteX's Verilog needs the last three: it assigns with <= everywhere, and `memory.v` has two
writers."""
_COMMENT = re.compile(r"^//.*$", re.MULTILINE)


def write_system(soc: Any, folder: Path, program: Program, images: NDArray[np.float32]) -> list[Path]:
    """Writes the system's Verilog, with the firmware in the ROM, to ``folder``; returns all of its sources."""
    soc.finalize()
    words = build_firmware(folder / "firmware", system_header(soc), soc.mem_regions, soc.machine_config, program, images)
    soc.init_rom("rom", words, auto_size=False)
    written = soc.platform.get_verilog(soc, name=TOP)
    for name, text in {f"{TOP}.v": written.main_source, **written.data_files}.items():
        (folder / name).write_text(text)
    return [folder / f"{TOP}.v", *(Path(name) for name, *_ in soc.platform.sources)]


def simulator(sources: Sequence[Path]) -> Path:
    """The program that runs the system, from the cache or newly built. It reads the ROM's content from its folder when it
    runs."""
    files = [*sources, HARNESS]
    texts = [_COMMENT.sub("", path.read_text()) for path in files]  # LiteX's comments tell the time
    key = hashlib.sha256(repr((texts, OPTIONS, compiler_versions("verilator", brief=True))).encode()).hexdigest()[:24]
    target = cache_directory() / "soc" / key
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target.parent) as work:
            tools = Toolchain(brief=True, links={f"source{n}{path.suffix}": path for n, path in enumerate(files)})
            objects = tools.prepared(work)
            tools.verilate(objects, [*OPTIONS, *(f"../source{n}{path.suffix}" for n, path in enumerate(files))])
            shared = cache_directory() / "rtl"
            shared.mkdir(exist_ok=True)
            with runtime_objects(shared, objects, Build("verilator", "", {}, brief=True)):
                tools.compile(objects, f"V{TOP}", [HARNESS])
            os.replace(work / "simulator", target)
    return target
