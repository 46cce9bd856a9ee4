"""Whether onnxruntime loads a model at every level of optimisation; in a child process, for some models abort it.

``python -m compiler.frontend.loading`` is the helper that makes these children: it has onnxruntime in memory, reads one path a
line, forks for each, and writes how that child ended.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path

from compiler.frontend.errors import ModelError
from compiler.frontend.model import Node
from sim.runtime.sessions import make_session, onnxruntime

SECONDS = 600
"""A child that takes longer is ended by a signal."""
HELPER = (sys.executable, "-P", "-m", "compiler.frontend.loading")
"""-P: a module in the current folder, which may be a stranger's, is none of ours."""
_one_at_a_time = threading.Lock()
_helpers: dict[int, subprocess.Popen[str]] = {}
"""Of this process, by its number: a process that was forked has none yet."""


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
    """How the child ended: below 0 by a signal."""
    with tempfile.TemporaryDirectory() as folder, _one_at_a_time:
        path = Path(folder) / "part.onnx"
        path.write_bytes(model)
        helper = _helper()
        assert helper.stdin is not None
        assert helper.stdout is not None
        answer = ""
        try:
            helper.stdin.write(f"{path}\n")
            helper.stdin.flush()
            answer = helper.stdout.readline()
        finally:
            if not answer:  # it is interrupted, or we are: what it would say next answers nothing that is asked
                _end_helper()
    if not answer:
        raise ModelError("onnxruntime cannot be started in a process of its own; allow more processes or memory")
    return int(answer)


def _helper() -> subprocess.Popen[str]:
    mine = os.getpid()
    if mine not in _helpers:
        _helpers[mine] = subprocess.Popen(
            HELPER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )  # fmt: skip
    return _helpers[mine]


def _end_helper() -> None:
    """What this process has started, once it ends or cannot be asked again."""
    helper = _helpers.pop(os.getpid(), None)
    if helper is not None:
        helper.kill()
        helper.communicate()


atexit.register(_end_helper)


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


def _serve() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            refused = 1
            try:
                refused = refusals(line[:-1])
            finally:
                os._exit(refused)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
