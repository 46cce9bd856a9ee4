"""What hardware and simulators share is told once: another number here is another number there."""

from __future__ import annotations

import os
import subprocess
import sys

CHANGED = """
import isa.depths, isa.latency
isa.depths.IN_FLIGHT, isa.depths.SAVE_WORDS = 7, 9
isa.depths.MISC_AHEAD, isa.depths.MISC_ANSWERS, isa.latency.BANK_LATENCY, isa.depths.FETCH_BEATS = 5, 10, 4, 8
import hw.axi.read_engine, hw.control.fetch, hw.control.receiver, hw.move.reader, hw.misc.operand, hw.buffers.read_port
from isa.config import preset
from sim.cycle import control, lanes, timing, words
from sim.cycle.native.layout import header
print(timing.SAVE_AHEAD_BEATS, "SAVE_AHEAD_BEATS = 29;" in header())
print(hw.control.receiver.IN_FLIGHT, control.IN_FLIGHT, hw.move.reader.SAVE_WORDS)
print(hw.misc.operand.MISC_AHEAD, words.MISC_AHEAD, hw.misc.operand.MISC_ANSWERS, words.MISC_ANSWERS, lanes.MISC_ANSWERS)
print(hw.buffers.read_port.BANK_LATENCY, words.ANSWER, timing.READ_TO_BEAT)
nano = preset("nano")
print(hw.control.fetch.Fetch(nano).burst, control.words_per_burst(nano) * 4 // nano.axi_bytes)
"""


def test_hardware_and_cycle_model_take_depths_from_one_place() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", CHANGED], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["29 True", "7 7 9", "5 5 10 10 10", "4 5 5", "8 8"]
