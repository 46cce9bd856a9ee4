"""Registers, faults and instructions as JSON and as a C header: the same numbers as in Python."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

from isa.capabilities import CAPABILITIES
from isa.codec import Op, encode
from isa.export import c_header, tables
from isa.faults import Fault
from isa.instructions import BY_NAME, INSTRUCTIONS, Unit
from isa.registers import Control, Counter, Register, Status, counter_offset

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def macros() -> dict[str, int]:
    return {name: int(value, 0) for name, value in re.findall(r"^#define TW_(\w+) (\w+?)u(?: |$)", c_header(), re.MULTILINE)}


def compiled(folder: Path, body: str) -> str:
    """What a C program with this body prints; the header must compile without a warning, twice included."""
    (folder / "tilewright.h").write_text(c_header())
    text = f'#include "tilewright.h"\n#include "tilewright.h"\n#include <stdio.h>\nint main(void)\n{{\n{body}\nreturn 0;\n}}\n'
    (folder / "main.c").write_text(text)
    subprocess.run(["gcc", *WARNINGS, "main.c", "-o", "main"], cwd=folder, check=True)
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout


def test_json_can_be_read_back_and_names_everything() -> None:
    data = json.loads(json.dumps(tables()))
    assert {r["name"]: r["offset"] for r in data["registers"]} == {r.name: r.value for r in Register}
    assert {f["name"]: f["code"] for f in data["faults"]} == {f.name: f.value for f in Fault}
    assert {b["name"]: 1 << b["bit"] for b in data["status"]} == {s.name: s.value for s in Status}
    assert {i["name"]: (i["opcode"], i["words"]) for i in data["instructions"]} == {
        row.name: (row.opcode, row.length) for row in INSTRUCTIONS
    }
    assert {c["name"] for c in data["capabilities"]} == {c.name for c in CAPABILITIES}
    everything = [*data["registers"], *data["faults"], *data["status"], *data["control"], *data["capabilities"]]
    assert all(entry["doc"] for entry in everything)


def test_an_assembler_made_from_the_json_alone_writes_the_same_words() -> None:
    rng = random.Random(4)
    data = tables()
    for row in data["instructions"]:
        values, words = {}, [0] * row["words"]
        header = {"opcode": row["opcode"], "length": row["words"], "wait": 0, "signal": 0}
        for field in row["fields"]:
            low = -(1 << field["bits"] - 1) if field["signed"] else 0
            values[field["name"]] = rng.randrange(low, low + (1 << field["bits"]))
        for field, value in [
            *((field, header[field["name"]]) for field in data["header"]),
            *((field, values[field["name"]]) for field in row["fields"]),
        ]:
            words[field["word"]] |= (value & (1 << field["bits"]) - 1) << field["lsb"]
        assert words == encode(Op(row["name"], values))


def test_the_macros_are_the_numbers_of_the_tables() -> None:
    found = macros()
    expected = {
        **{f"REG_{r.name}": r.value for r in Register},
        **{f"CONTROL_{c.name}": c.value for c in Control},
        **{f"STATUS_{s.name}": s.value for s in Status},
        **{f"FAULT_{f.name}": f.value for f in Fault},
        **{f"UNIT_{u.name}": u.value for u in Unit},
        **{f"{row.name}_OPCODE": row.opcode for row in INSTRUCTIONS},
        **{f"{row.name}_{p.field.name.upper()}_LSB": p.lsb for row in INSTRUCTIONS for p in row.placed},
        **{f"{row.name}_{p.field.name.upper()}_WORD": p.word for row in INSTRUCTIONS for p in row.placed},
        **{f"{row.name}_{p.field.name.upper()}_BITS": p.field.bits for row in INSTRUCTIONS for p in row.placed},
        **{f"{row.name}_{p.field.name.upper()}_SIGNED": p.field.signed for row in INSTRUCTIONS for p in row.placed},
    }
    assert {name: found.get(name) for name in expected} == expected


def test_no_macro_is_defined_twice() -> None:
    names = re.findall(r"^#define (\w+)", c_header(), re.MULTILINE)
    assert len(names) == len(set(names))


def test_the_compiler_takes_the_header_and_sees_the_same_numbers(tmp_path: Path) -> None:
    found = macros()
    lines = (f'printf("{name} %llu\\n", (unsigned long long)TW_{name});' for name in found)
    printed = dict(line.split() for line in compiled(tmp_path, "\n".join(lines)).splitlines())
    assert {name: int(value) for name, value in printed.items()} == found


def test_the_header_s_functions_encode_as_python_does(tmp_path: Path) -> None:
    rng = random.Random(2)
    row = BY_NAME["MISC"]
    values = {name: rng.randint(f.low, f.high) for name, f in row.fields.items()}
    words = encode(Op("MISC", values))
    body = f"uint32_t words[{row.length}] = {{0}};\n"
    for name, value in {"opcode": row.opcode, "length": row.length}.items():
        body += f"TW_SET(words, HEADER_{name.upper()}, {value});\n"
    body += "".join(f"TW_SET(words, MISC_{name.upper()}, {value});\n" for name, value in values.items())
    body += f'for (int i = 0; i < {row.length}; i++) printf("%u\\n", (unsigned)words[i]);\n'
    body += "".join(f'printf("%lld\\n", (long long)TW_GET(words, MISC_{name.upper()}));\n' for name in values)
    body += 'printf("%u\\n", TW_COUNTER(TW_UNIT_CONV, TW_COUNTER_ACTIVE));\n'
    printed = [int(line) for line in compiled(tmp_path, body).splitlines()]
    assert printed == [*words, *values.values(), counter_offset(Unit.CONV, Counter.ACTIVE)]
