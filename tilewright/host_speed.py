"""The speed at which this host computes what stays on the CPU, and copies what the machine reads and writes. It is measured
once and kept."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from isa.files import write_atomically
from sim.runtime.sessions import make_session, onnxruntime

_REPEATS = 5
_CHAIN = 64
_WIDE = 1 << 20


@dataclass(frozen=True)
class HostSpeed:
    """The speed of onnxruntime on float tensors, and of copies between layouts: the best of a few runs."""

    macs_per_second: float
    bytes_per_second: float
    """The bytes that element-wise nodes read and write in a second."""
    seconds_per_node: float
    seconds_per_part: float
    """The seconds to begin a part and to end it."""
    copied_bytes_per_second: float

    def seconds(self, nodes: int, macs: int, moved: int) -> float:
        """The seconds of one part on the CPU."""
        work = macs / self.macs_per_second + moved / self.bytes_per_second
        return self.seconds_per_part + nodes * self.seconds_per_node + work


@lru_cache(maxsize=1)
def host_speed(directory: Path | None = None) -> HostSpeed:
    """The speed of this host, from the user's cache directory. If it is not there, it is measured in a second, and kept if
    possible."""
    root = directory or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilewright"
    path = root / f"host-{platform.node() or 'unnamed'}-{os.cpu_count()}-{onnxruntime.__version__}.json"
    try:
        known = HostSpeed(**json.loads(path.read_bytes()))
        if all(isinstance(value, float) and 0 < value < float("inf") for value in asdict(known).values()):
            return known
    except (OSError, ValueError, TypeError, RecursionError):
        pass
    found = measured()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(asdict(found)).encode())
    return found


def measured() -> HostSpeed:
    weights = np.ones((64, 64, 3, 3), np.float32)
    conv = [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)]
    image = np.ones((1, 64, 28, 28), np.float32)
    chain = [helper.make_node("Abs", [f"x{n}" if n else "x"], [f"x{n + 1}" if n < _CHAIN - 1 else "y"]) for n in range(_CHAIN)]
    one, wide = np.ones(1, np.float32), np.ones(_WIDE, np.float32)
    part = _run_time(chain[:1], one, last="x1")
    node = max((_run_time(chain, one) - part) / (_CHAIN - 1), 1e-8)
    picture = np.ones((64, 128, 128), np.uint8)
    copying = _best(lambda: np.ascontiguousarray(picture.transpose(1, 2, 0)))
    return HostSpeed(
        macs_per_second=image.size * weights.size / 64 / max(_run_time(conv, image, weights) - part, 1e-9),
        bytes_per_second=2 * wide.nbytes / max(_run_time(chain[:1], wide, last="x1") - part, 1e-9),
        seconds_per_node=node,
        seconds_per_part=part,
        copied_bytes_per_second=picture.nbytes / copying,
    )


def _run_time(nodes: list[onnx.NodeProto], x: NDArray[Any], weights: NDArray[Any] | None = None, last: str = "y") -> float:
    constants = [] if weights is None else [numpy_helper.from_array(weights, "w")]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    graph = helper.make_graph(nodes, "speed", given, [onnx.ValueInfoProto(name=last)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    loaded = make_session(model.SerializeToString())
    return _best(lambda: loaded.run([last], {"x": x}))


def _best(work: Callable[[], object]) -> float:
    """The seconds of the fastest run. One run before warms up."""
    work()
    times = []
    for _ in range(_REPEATS):
        since = time.perf_counter()
        work()
        times.append(time.perf_counter() - since)
    return max(min(times), 1e-9)
