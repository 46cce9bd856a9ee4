"""The page of all fields of a configuration, ``docs/reference/configuration.md``, made from ``isa/config.py``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise

from isa.bounds import BOUNDS
from isa.config import REQUANT, MachineConfig
from isa.ram import RAM_FIELDS, RAM_STYLES

HEAD = """# Configuration

Made from `isa/config.py` and `isa/bounds.py`; change those, then run `python -m pytest tests/isa --update-golden`.

One object describes a machine; the generator, the simulators and the compiler all read it. It is a preset or a TOML file:

```toml
base = "nano"        # fields left out come from this preset; without it, every field must be given
name = "mine"
oc_p = 8
build_misc = false
```

| field | values | meaning |
|---|---|---|"""
TAIL = """
```console
$ printf 'base = "nano"\\nname = "mine"\\nic_p = 0\\n' > mine.toml
$ tilewright config show mine.toml
tilewright: configuration file 'mine.toml': configuration field ic_p: 0 is outside 1..64; choose a value within
$ sed -i 's/ic_p = 0/ic_p = 8/' mine.toml
$ tilewright config show mine.toml | head -4
# mine is probably beyond its chip LFE5U-25F: 41 DSP (within ...%) of 28; see tilewright size
name = "mine"
ic_p = 8
oc_p = 4
```"""


def configuration_page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(f"| `{name}` | {_values(name)} | {text} |" for name, text in _fields()), TAIL]) + "\n"


def _fields() -> Iterator[tuple[str, str]]:
    """Each field with the text below it."""
    (body,) = (node.body for node in ast.parse(inspect.getsource(MachineConfig)).body if isinstance(node, ast.ClassDef))
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            assert isinstance(text, ast.Expr), f"{field.target.id} has no docstring"
            assert isinstance(text.value, ast.Constant)
            yield field.target.id, " ".join(str(text.value.value).split()).replace("``", "`")


def _values(name: str) -> str:
    """The values that a field may have."""
    if name in BOUNDS:
        bound = BOUNDS[name]
        return f"{bound.low}..{bound.high}" + (", a power of two" if bound.power_of_two else "")
    if name in RAM_FIELDS or name == "requant":
        return ", ".join(f"`{value}`" for value in (RAM_STYLES if name in RAM_FIELDS else REQUANT))
    return "true, false" if isinstance(getattr(MachineConfig, name, None), bool) else "text"
