"""A library that does not come back is no reason to go on: signals and budgets of time end the process all the same."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from isa.errors import TilewrightError
from tilewright.exits import Exit
from tilewright.interrupts import PATIENCE, time_budget

ROOT = Path(__file__).parents[2]
ENDLESS = """
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from sim.runtime.sessions import make_session
from tilewright.interrupts import catch_interrupts, time_budget

def of(name, kind, shape=()):
    return helper.make_tensor_value_info(name, kind, shape)

body = helper.make_graph(
    [helper.make_node("Add", ["a", "one"], ["b"]), helper.make_node("Identity", ["go"], ["on"])], "body",
    [of("turn", TensorProto.INT64), of("go", TensorProto.BOOL), of("a", TensorProto.INT64)],
    [of("on", TensorProto.BOOL), of("b", TensorProto.INT64)],
)
constants = {"turns": 2**62, "one": 1, "yes": True}
graph = helper.make_graph(
    [helper.make_node("Loop", ["turns", "yes", "one"], ["y"], body=body)], "g", [], [of("y", TensorProto.INT64)],
    [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
catch_interrupts()
session = make_session(model.SerializeToString())
print("it begins", flush=True)
with time_budget(SECONDS, "compilation", "give more"):
    session.run(None, {})
"""


DEAF = """
import os, time
from tilewright.interrupts import catch_interrupts, time_budget

class Deaf:
    def __del__(self):
        NUMBER and os.kill(os.getpid(), NUMBER)
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            pass

catch_interrupts()
try:
    with time_budget(SECONDS, "compilation", "give more"):
        Deaf()
        time.sleep(20)
except BaseException as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, None])
def test_what_comes_while_an_object_is_deleted_comes_again(number: signal.Signals | None) -> None:
    program = DEAF.replace("SECONDS", "0.1" if number is None else "None").replace("NUMBER", str(number and int(number)))
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("TilewrightError\n" if number is None else "KeyboardInterrupt\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, None])
def test_an_endless_loop_in_onnxruntime_ends(number: signal.Signals | None) -> None:
    program = ENDLESS.replace("SECONDS", "0.2" if number is None else "None")
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "it begins\n"
        time.sleep(0.2)
        if number is not None:
            process.send_signal(number)
        _, err = process.communicate(timeout=20 * PATIENCE)
    if number is None:
        expected = (Exit.BAD_INPUT, "tilewright: compilation: not done within 0.2 seconds (--seconds); give more\n")
    else:
        expected = (Exit.INTERRUPTED, "tilewright: interrupted\n")
    assert (process.returncode, err) == expected


def test_a_budget_of_time_is_an_error() -> None:
    message = r"^x: not done within 0.05 seconds \(--seconds\); give more$"
    with pytest.raises(TilewrightError, match=message), time_budget(0.05, "x", "give more"):
        time.sleep(5)
    with time_budget(0.05, "x", "give more"):
        pass
    time.sleep(0.06)
