"""The driver on Linux: devices that are files here, and parts of networks by onnxruntime's C API."""

from __future__ import annotations

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.frontend.reader import Source
from driver.sources import LINUX, driver_files
from isa.capabilities import capability_words
from isa.program_file import program_bytes
from isa.registers import ID_VALUE, Register, Status
from isa.version import HARDWARE_VERSION, ISA_VERSION
from sim.rtl.board import board_library
from sim.runtime.engine import FunctionalEngine
from sim.runtime.oracle import CHANGE_FLOATS
from sim.runtime.run import Run
from tests.compiler.frontend.quantised_models import model, node, weights
from tests.driver.building import NANO, WARNINGS, build, digits, run
from tests.e2e.network_runs import compiled
from tests.e2e.trained import trained
from tests.tools import INCLUDES, needs_onnxruntime_header
from tilewright.inputs import random_inputs

OPTIONS = [option for place in INCLUDES for option in ("-isystem", str(place))]


def write_linux(folder: Path, *names: str) -> list[Path]:
    """The driver's files for Linux, some of them."""
    for name, text in driver_files(NANO, linux=True).items():
        if (LINUX / name).exists() and name.partition(".")[0] in names:
            (folder / name).write_text(text)
    return [folder / f"{name}.c" for name in names]


def fake_machine(folder: Path) -> list[Path]:
    """Files in the place of a UIO device and of a buffer: two machines that have always just finished."""
    values = {
        Register.ID: ID_VALUE, Register.VERSION: HARDWARE_VERSION | ISA_VERSION << 16, Register.CONFIG: NANO.hash,
        Register.STATUS: Status.IDLE | Status.DONE, **capability_words(NANO),
    }  # fmt: skip
    words = np.zeros(1024, "<u4")
    for offset, value in values.items():
        words[offset // 4] = value
    files = [folder / "uio0", folder / "udmabuf0"]
    files[0].write_bytes(2 * words.tobytes())
    files[1].write_bytes(bytes(1 << 16))
    about = folder / "sysfs" / "udmabuf0"
    about.mkdir(parents=True)
    (about / "phys_addr").write_text("0x70000000\n")
    (about / "size").write_text("65536\n")
    return [*files, about.parent]


def test_devices(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(program_bytes(digits()))
    sources = write_linux(tmp_path, "tw_linux")
    assert sources[0].exists()
    program = build(tmp_path, "linux", "mock")
    assert run(program, *fake_machine(tmp_path), tmp_path / "image") == "all as expected\n"


def test_no_warning_on_linux(tmp_path: Path) -> None:
    names = ["tw_linux", "tw_model", *(["tw_onnxruntime"] if INCLUDES else [])]
    for name, text in driver_files(NANO, linux=True).items():
        (tmp_path / name).write_text(text)
    for name in names:
        subprocess.run(["gcc", *WARNINGS, "-O2", *OPTIONS, "-c", f"{name}.c"], cwd=tmp_path, check=True)


def test_optimisers_left_out_are_those_of_python_s_runtime() -> None:
    text = (LINUX / "tw_onnxruntime.c").read_text(encoding="utf-8")
    (block,) = re.findall(r"LEFT_OUT\[\] =\n((?: +\"[^\"]+\";?\n)+)", text)
    assert "".join(re.findall(r'"([^"]+)"', block)).split(";") == list(CHANGE_FLOATS)


def between() -> Source:
    """Two machine steps with a part in between."""
    table: dict[str, NDArray[Any]] = {"w": weights(5, 3, 3, 3), "v": weights(4, 5, 3, 3), "axis": np.array(3, np.int64)}
    return model([node("Conv", "x w", "a"), node("CumSum", "a axis", "b"), node("Conv", "b v")], (1, 3, 6, 10), table)


@needs_onnxruntime_header
@pytest.mark.parametrize("network", ["kws", "between"])
def test_parts_by_onnxruntime(network: str, tmp_path: Path) -> None:
    """Every output bit is that of Python's runtime; the library is that of the wheel."""
    program = compiled(trained("kws_dscnn_int8_qdq.onnx") if network == "kws" else between(), "nano").program
    feeds = random_inputs(program, 3)
    (tmp_path / "image").write_bytes(program_bytes(program))
    (tmp_path / "inputs").write_bytes(np.ascontiguousarray(feeds[program.inputs[0].name]).tobytes())
    write_linux(tmp_path, "tw_onnxruntime", "tw_model")
    spec = find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    (library,) = (Path(spec.origin).parent / "capi").glob("libonnxruntime.so.*")
    executable = build(tmp_path, "parts", libraries=[*OPTIONS, board_library(NANO), "-lstdc++", "-ldl"])
    printed = run(executable, *(tmp_path / name for name in ("image", "inputs", "outputs")), library)
    assert printed.endswith("parts\n")
    outputs = Run(program, FunctionalEngine(NANO))(feeds)
    assert (tmp_path / "outputs").read_bytes() == outputs[program.outputs[0].name].tobytes()
