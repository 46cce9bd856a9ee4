"""Host code: the same lines run a program on the simulator and on a board.

    python examples/board_host/run.py                   # the functional simulator
    python examples/board_host/run.py uio:/dev/uio0     # a machine on a board, as root
"""

import sys

import numpy as np

import tilewright as tw

engine = sys.argv[1] if len(sys.argv) > 1 else "functional"
tw.compile("demo/digits.onnx", "base", calibration="demo/digits_calibration.npz").save("digits.elf")

session = tw.Session("digits.elf", engine)
test = np.load("demo/digits_test.npz")
right = 0
for image, label in zip(test["image"][:20], test["labels"][:20], strict=True):
    (scores,) = session.run(["logits"], {"image": image[None]})
    right += int(scores.argmax() == label)
print(f"{right} of 20 right on {engine}")
cycles = session.measured.cycles
print("this engine knows no cycles" if cycles is None else f"{cycles:,} cycles for the last image")
