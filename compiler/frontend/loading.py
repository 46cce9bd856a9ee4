"""Tests in a child process whether onnxruntime loads a model at every level of optimisation; some models abort it.

``python -m compiler.frontend.loading`` is the helper that makes these children. It has onnxruntime in memory. It reads one path
a line, forks for each, and writes how that child ended.
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
"""The time after which a child is ended by a signal."""
HELPER = (sys.executable, "-P", "-m", "compiler.frontend.loading")
"""The command of the helper. ``-P`` keeps it from importing modules of the current folder, which may be a stranger's."""
_one_at_a_time = threading.Lock()
_helpers: dict[int, subprocess.Popen[str]] = {}
"""The helper of each process, by the number of the process; a process that was forked has none yet."""


def has_inner_graphs(nodes: Iterable[Node]) -> bool:
    """Whether there is an If, Loop or Scan that reads tensors from outside; onnxruntime's optimisers may lose these."""
    return any(True for node in nodes for _ in node.captures())


def survives(model: bytes) -> bool:
    """Whether a process that loads the model lives on; onnxruntime may refuse the model with an error."""
    return _ended(model) >= 0


def loads(model: bytes) -> bool:
    """Whether onnxruntime takes the model at every level."""
    return _ended(model) == 0


def _ended(model: bytes) -> int:
    """How the child ended: the number of refusals, or below 0 if a signal ended it."""
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
            if not answer:  # one of both was interrupted: what it writes next belongs to no later question
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
    """Ends the helper of this process, at the end or when it cannot be asked again."""
    helper = _helpers.pop(os.getpid(), None)
    if helper is not None:
        helper.kill()
        helper.communicate()


atexit.register(_end_helper)


def refusals(path: str) -> int:
    """The number of levels, each with and without int8 in QDQ form, at which onnxruntime refuses the model with an error."""
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
            except Exception:  # onnxruntime's exceptions have no common base but this
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
