"""A machine between two presets: what it takes of its chip, and what the digits cost on each."""

import tilewright as tw

mine = tw.Config("nano", name="mine", ic_p=8, oc_p=8)
for config in (tw.Config("nano"), mine):
    lut = config.size()["LUT"]
    compiled = tw.compile("demo/digits.onnx", config, calibration="demo/digits_calibration.npz", cpu="this")
    print(f"{config.name}: {config.macs_per_cycle} MAC/cycle, {lut.number:,.0f} LUT, {compiled.summary.cycles:,} cycles")
