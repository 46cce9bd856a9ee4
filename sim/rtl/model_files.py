"""Changes the C++ that Verilator writes of a model, and gathers it for the compiler."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_SHORT = re.compile(r"^( +)([CS]Data/\*\d+:\d+\*/ \w+;)$", re.MULTILINE)
SLOW = "__Slow.cpp"
"""The end of the names of files that run once, and are not optimised."""


def quickened(header: str) -> str:
    """The header of Verilator's class with every signal of up to 16 bits in a word of its own, and with ``signs.h``.

    AMD's Zen 5 may take a byte that is read for one that was just written if both are in one word, and starts again when it
    sees its mistake. This costs much of a simulation's time.
    """
    return _SHORT.sub(r"\1alignas(4) \2", header) + '\n#include "signs.h"\n'


def gathered(objects: Path, prefix: str, own: Iterable[Path], parts: int) -> list[str]:
    """Writes few files that include all others, and ``own``; returns the settings with which make compiles these alone.

    Every file costs the time to read Verilator's headers, or less once they are compiled, which takes time as well. ``parts``:
    the number of files for what is optimised.
    """
    written = sorted(objects.glob("*.cpp"), key=lambda path: (list(map(int, re.findall(r"__(\d+)", path.stem))), path.name))
    slow = [path for path in written if path.name.endswith(SLOW)]
    fast = [path for path in written if path not in slow]
    # The files stay in Verilator's order, so code that runs in sequence also lies in sequence.
    whole, so_far = sum(path.stat().st_size for path in fast), 0
    shares: list[list[Path]] = [[] for _ in range(parts)]
    for path in fast:
        shares[min(so_far * parts // whole, parts - 1)].append(path)
        so_far += path.stat().st_size
    shares[-1] += own
    groups = {"gathered_slow": slow} | {f"gathered_{number}": share for number, share in enumerate(shares)}
    for name, paths in groups.items():
        (objects / f"{name}.cpp").write_text("".join(f'#include "{path}"\n' for path in paths))
    optimised = " ".join(name for name in groups if name != "gathered_slow")
    # The optimised files pass as the user's, which are linked as they are. The model's go into an archive, from which a shared
    # library would take nothing.
    return [
        f"VM_USER_CLASSES={optimised}", "VM_CLASSES_FAST=", "VM_SUPPORT_FAST=", "VM_CLASSES_SLOW=gathered_slow",
        "VM_SUPPORT_SLOW=", "VM_PARALLEL_BUILDS=1", f"--old-file={prefix}__pch.h.slow.gch", "VK_PCH_I_SLOW=",
    ]  # fmt: skip
