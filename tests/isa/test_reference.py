"""``docs/reference/isa.md`` is current and says everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from isa.capabilities import CAPABILITIES
from isa.faults import Fault
from isa.instructions import INSTRUCTIONS
from isa.reference import reference
from isa.registers import Control, Counter, Register, Status

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "isa.md"


def test_the_page_is_current(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, reference())


def test_every_field_register_and_fault_has_a_row_with_a_meaning() -> None:
    rows = [line.strip("|").split("|") for line in reference().splitlines() if line.startswith("|")]
    meanings = {cell.strip(" `"): cells[-1].strip() for cells in rows for cell in cells[:-1]}
    expected = {name for row in INSTRUCTIONS for name in row.fields}
    expected |= {m.name or "" for m in (*Register, *Counter, *Control, *Status, *Fault)}
    expected |= {c.name for c in CAPABILITIES}
    missing = {name for name in expected if not meanings.get(name)}
    assert missing == set()


def test_bits_are_those_of_the_encoding() -> None:
    conv = reference().split("### CONV")[1].split("### POOL")[0]
    assert "| 1 | 20-25 | `s_y` | vertical stride; at least 1 |" in conv
    assert "| 14 | 0-7 | `zp` | zero-point of the output, added after rounding; signed, -128..127 |" in conv
    assert "| 14 | 24 | `act` | activation; 0 NONE, 1 TABLE |" in conv
