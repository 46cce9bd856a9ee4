"""A folder of images as calibration data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isa.errors import TilewrightError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
FULL = 255.0


@dataclass(frozen=True)
class Images:
    """All images below a folder, in the order of their paths, as NCHW floats: ``(pixel / 255 - mean) / std``.

    ``size``: the shorter side is scaled to it, and the middle is cut out; one number, or height and width. None: the size of
    the model's input. Reading images takes Pillow: ``pip install pillow``.
    """

    folder: str | Path
    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0
    size: int | tuple[int, int] | None = None
    most: int = 256
    """The most images."""

    def arrays(self, shape: Sequence[int]) -> NDArray[Any]:
        """The images for an input of this shape, NCHW; 0 where it is open."""
        from PIL import Image

        if len(shape) != 4 or shape[1] not in (0, 1, 3):
            expected = "batch, 1 or 3 channels, height, width"
            raise TilewrightError(f"images {self.folder}: the input is {list(shape)}, expected {expected}")
        channels = shape[1] or 3
        mean, std = (_by_channel(name, value, channels) for name, value in (("mean", self.mean), ("std", self.std)))
        if (std <= 0).any():
            raise TilewrightError(f"std {self.std}: expected positive numbers")
        height, width = self._extent(shape)
        pictures = []
        for path in self.paths():
            try:
                with Image.open(path) as opened:
                    pictures.append(_cut(opened.convert("RGB" if channels == 3 else "L"), height, width))
            except OSError as error:
                raise TilewrightError(f"{path}: not an image that can be read: {error}") from None
        pixels = np.stack(pictures).reshape(-1, height, width, channels).transpose(0, 3, 1, 2).astype(np.float32) / FULL
        return ((pixels - mean[:, None, None]) / std[:, None, None]).astype(np.float32)

    def paths(self) -> list[Path]:
        if not Path(self.folder).is_dir():
            raise TilewrightError(f"images {self.folder}: no folder; expected one that holds images")
        found = sorted(path for path in Path(self.folder).rglob("*") if path.suffix.lower() in SUFFIXES)
        if not found:
            raise TilewrightError(f"images {self.folder}: no image in it; expected files that end in {', '.join(SUFFIXES)}")
        return found[: self.most]

    def _extent(self, shape: Sequence[int]) -> tuple[int, int]:
        if self.size is not None:
            height, width = (self.size, self.size) if isinstance(self.size, int) else self.size
        else:
            height, width = shape[2], shape[3]
        if height < 1 or width < 1:
            raise TilewrightError(f"size {self.size}: the model leaves a side open; expected one or two numbers from 1")
        if any(0 < known != given for known, given in zip(shape[2:], (height, width), strict=True)):
            raise TilewrightError(f"size {height} x {width}: the model takes {shape[2]} x {shape[3]}; leave it out")
        return height, width


def _by_channel(name: str, value: float | Sequence[float], channels: int) -> NDArray[np.float32]:
    numbers = np.atleast_1d(np.asarray(value, np.float32))
    if numbers.ndim != 1 or len(numbers) not in (1, channels):
        raise TilewrightError(f"{name} {value}: {len(numbers)} numbers, expected one, or one for each of {channels} channels")
    return np.broadcast_to(numbers, (channels,))


def _cut(image: Any, height: int, width: int) -> NDArray[np.uint8]:
    """The middle of the image, scaled so that one side fits and the other reaches over."""
    scale = max(height / image.height, width / image.width)
    resized = image.resize((max(width, round(image.width * scale)), max(height, round(image.height * scale))))
    left, top = (resized.width - width) // 2, (resized.height - height) // 2
    return np.asarray(resized.crop((left, top, left + width, top + height)))
