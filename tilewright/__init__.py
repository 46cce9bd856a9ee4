"""Tilewright in Python.

    import tilewright as tw

    compiled = tw.compile("model.onnx", "base", calibration="images.npz")
    print(compiled.summary)                       # cycles, time end to end, what is on the CPU and why
    compiled.save("model.elf")
    compiled.report("report")
    assert compiled.check().equal                 # every output bit beside onnxruntime's
    answers = tw.Session("model.elf").run(None, {"image": image})

Names are imported when they are asked for: the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isa.errors import TilewrightError as TilewrightError
from tilewright.version import VERSION as __version__

if TYPE_CHECKING:
    from compiler.frontend.edges import Edges as Edges
    from tilewright.api import Compiled as Compiled
    from tilewright.api import Loaded as Loaded
    from tilewright.api import compile as compile
    from tilewright.api import load as load
    from tilewright.checking import Check as Check
    from tilewright.configuration import Config as Config
    from tilewright.explain.explained import Explanation as Explanation
    from tilewright.exploring.exploration import explore as explore
    from tilewright.exploring.result import Exploration as Exploration
    from tilewright.images import Images as Images
    from tilewright.profile.whole import WholeTime as WholeTime
    from tilewright.session import Session as Session
    from tilewright.summary import Summary as Summary

_HOMES = {
    "Session": "tilewright.session", "compile": "tilewright.api", "Compiled": "tilewright.api", "load": "tilewright.api",
    "Loaded": "tilewright.api", "Config": "tilewright.configuration", "Images": "tilewright.images",
    "Edges": "compiler.frontend.edges", "Summary": "tilewright.summary", "WholeTime": "tilewright.profile.whole",
    "Check": "tilewright.checking", "Explanation": "tilewright.explain.explained",
    "explore": "tilewright.exploring.exploration", "Exploration": "tilewright.exploring.result",
}  # fmt: skip
"""The public names in the order of the reference page, and the module of each."""

__all__ = [*_HOMES, "TilewrightError", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
