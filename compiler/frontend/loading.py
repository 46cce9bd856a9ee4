"""Whether onnxruntime loads a model at every level of optimisation; in a child process, for some models abort it.

``python -m compiler.frontend.loading FILE`` is the child: it ends by a signal where onnxruntime does.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from compiler.frontend.model import Node
from sim.runtime.sessions import make_session, onnxruntime

SECONDS = 600


def has_inner_graphs(nodes: Iterable[Node]) -> bool:
    """Of If, Loop and Scan: whose inputs from outside onnxruntime's optimisers lose sight of."""
    return any(True for node in nodes for _ in node.captures())


def survives(model: bytes) -> bool:
    """Whether a process that loads it lives on; a model that onnxruntime refuses with an error is none that aborts."""
    return _ended(model) >= 0


def loads(model: bytes) -> bool:
    """Whether onnxruntime takes it at every level."""
    return _ended(model) == 0


def _ended(model: bytes) -> int:
    """How the child ended: below 0 by a signal, which is said of one that does not end, too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.onnx"
        path.write_bytes(model)
        call = [sys.executable, "-m", "compiler.frontend.loading", str(path)]
        with suppress(subprocess.TimeoutExpired):
            return subprocess.run(call, capture_output=True, timeout=SECONDS, check=False).returncode
    return -1


def refusals(path: str) -> int:
    """Of all levels, those at which onnxruntime refuses the model with an error."""
    levels = onnxruntime.GraphOptimizationLevel
    model = Path(path).read_bytes()
    refused = 0
    for level in (levels.ORT_DISABLE_ALL, levels.ORT_ENABLE_BASIC, levels.ORT_ENABLE_EXTENDED, levels.ORT_ENABLE_ALL):
        for signed in ("0", "1"):
            options = onnxruntime.SessionOptions()
            options.graph_optimization_level = level
            options.add_session_config_entry("session.qdqisint8allowed", signed)
            try:
                make_session(model, options)
            except Exception:  # its exceptions share no base class of their own
                refused += 1
    return refused


if __name__ == "__main__":
    raise SystemExit(refusals(sys.argv[1]))
