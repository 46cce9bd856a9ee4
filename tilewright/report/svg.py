"""Small pieces of SVG and HTML that the report's parts share."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from html import escape

NAME_LENGTH = 34


def element(tag: str, content: str = "", /, **attributes: object) -> str:
    """An element. ``class_`` and ``stroke_width`` become ``class`` and ``stroke-width``."""
    text = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"' for key, value in attributes.items())
    return f"<{tag}{text}>{content}</{tag}>"


def _text(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def prose(text: str) -> str:
    """A sentence as HTML. Text between backticks becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def titled(text: str) -> str:
    """The text that the browser shows when the pointer rests on an element."""
    return element("title", escape(text))


def picture(width: int, height: int, parts: Iterable[str], label: str) -> str:
    return element("svg", "".join(parts), viewBox=f"0 0 {width} {height}", role="img", aria_label=label)


def hue(number: int) -> str:
    """A colour for each number. Neighbours differ clearly."""
    return f"hsl({number * 137.508 % 360:.0f} 55% {(58, 48, 66)[number % 3]}%)"


def short(name: str, length: int = NAME_LENGTH) -> str:
    """A name that fits a column: the last part of a name that converters have joined."""
    last = name.split(";")[-1] or name
    kept = length // 3 + 1
    return last if len(last) <= length else f"{last[:kept]}...{last[-(length - kept - 3) :]}"


def count(value: float) -> str:
    """A number as people read it: 12.3 M."""
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor and abs(value) >= 1e4:
            scaled = value / factor
            return f"{scaled:.0f} {unit}" if scaled >= 999.5 else f"{scaled:.3g} {unit}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"


def size(value: float) -> str:
    """Bytes as people read them: 12.3 kB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= 0.9995 * factor:
            return f"{value / factor:.3g} {unit}" if value < 999.5 * factor else f"{value / factor:.0f} {unit}"
    return f"{value:.0f} B"


def ticks(limit: float, about: int = 6) -> list[float]:
    """Round numbers from 0 to a limit."""
    if limit <= 0:
        return [0.0]
    rough = limit / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * f for f in (1, 2, 5, 10) if power * f >= rough)
    return [n * step for n in range(int(limit / step) + 1)]
