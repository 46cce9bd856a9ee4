"""Handwritten digits from a folder of PNG files: calibrate, compile, compare with onnxruntime, count right answers."""

from pathlib import Path

import numpy as np
from PIL import Image

import tilewright as tw

DEMO = Path("demo")


def write_images(folder: Path) -> None:
    """The calibration data of the demo as PNG files, as a user would have them."""
    folder.mkdir(exist_ok=True)
    for number, image in enumerate(np.load(DEMO / "digits_calibration.npz")["image"]):
        Image.fromarray(np.rint(255 * image[0]).astype(np.uint8)).save(folder / f"{number:02}.png")


write_images(Path("images"))
compiled = tw.compile(DEMO / "digits.onnx", "base", calibration="images")
print("onnxruntime:", compiled.check())
test = np.load(DEMO / "digits_test.npz")
session = tw.Session(compiled)
answers = [int(session.run(None, {"image": image[None]})[0].argmax()) for image in test["image"][:100]]
print("right:", sum(int(a == b) for a, b in zip(answers, test["labels"][:100], strict=True)), "of 100")
print("end to end:", compiled.time.told)
