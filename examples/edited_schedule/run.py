"""Groups decided by hand: every layer alone, beside what the search chose."""

import subprocess
import sys

import tilewright as tw

DIGITS = {"model": "demo/digits.onnx", "calibration": "demo/digits_calibration.npz"}

found = tw.compile(**DIGITS, config="nano")
layers = [layer.op.name for plan in found.plans for layer in plan.group.layers]
alone = tw.compile(**DIGITS, config="nano", groups=[[name] for name in layers])
pairs = {"the search's": found, "each layer alone": alone}
for name, compiled in pairs.items():
    summary = compiled.summary
    print(f"{name}: {summary.groups} groups, {summary.cycles:,} cycles, {summary.dram_bytes:,} bytes of DRAM", flush=True)
found.save("before.elf")
alone.save("after.elf")
subprocess.run([sys.executable, "-m", "tilewright", "report", "before.elf", "after.elf", "-o", "compared"], check=True)
