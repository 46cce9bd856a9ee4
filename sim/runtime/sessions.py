"""onnxruntime with its telemetry off. All code takes the module from here, and makes its sessions here.

With telemetry on, onnxruntime writes an identity of the device and a queue of events into the user's cache directory, and looks
up its vendor's host. It reads the environment variable when it is loaded. To switch events off later leaves the identity, the
queue and the look-ups.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime as onnxruntime

onnxruntime.disable_telemetry_events()  # of somebody who has loaded it before


def make_session(
    model: bytes, options: onnxruntime.SessionOptions | None = None, without: Sequence[str] = ()
) -> onnxruntime.InferenceSession:
    """A session on the CPU that prints nothing. ``without``: optimisers that are left out.

    Threads that wait sleep: spinning threads take processor time from others.
    """
    chosen = options or onnxruntime.SessionOptions()
    chosen.add_session_config_entry("session.intra_op.allow_spinning", "0")
    chosen.log_severity_level = 4
    return onnxruntime.InferenceSession(model, chosen, providers=["CPUExecutionProvider"], disabled_optimizers=[*without])
