"""Nothing of the driver is left out by the tests of what is wrong: every branch is taken both ways, every argument is refused.

A new function, or a new check in one, fails here until there is a case for it.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from driver.sources import LINUX
from isa.flat_image import flat_image
from isa.program_file import program_bytes
from sim.rtl.board import BOARD_HEADER
from tests.driver.building import HERE, digits, run, write_driver
from tests.driver.test_driver_images import edge_images, shared_image, spoiled

SOURCES = LINUX.parent / "src"
OPTIONAL = {
    ("tw_layout", "image_bus"), ("tw_begin", "part"), ("tw_begin", "context"), ("tw_infer", "part"), ("tw_infer", "context"),
    ("tw_linux_open_uio", "sysfs"), ("tw_onnxruntime_open", "options"),
}  # fmt: skip
"""Arguments that may be NULL."""


def covered(folder: Path) -> Iterator[Path]:
    """Runs the programs that test what is wrong; the files that tell which branches were taken."""
    sources = write_driver(folder)
    for source in sources:
        subprocess.run(["gcc", "-std=c99", "-O0", "--coverage", "-c", source.name], cwd=folder, check=True)
    objects = [folder / f"{source.stem}.o" for source in sources]
    images = [folder / f"digits{number}" for number in range(2)]
    for path, form in zip(images, (program_bytes, flat_image), strict=True):
        path.write_bytes(form(digits()))
    wrong = [folder / f"wrong{number}" for number in range(len(spoiled()))]
    for path, (image, _) in zip(wrong, spoiled().values(), strict=True):
        path.write_bytes(image)
    edges = [edge_images(folder, form) for form in ("file", "flat")]
    alone = [[image] for image in images]
    both = [shared_image(folder, form) for form in ("file", "flat")]
    for name, runs in {"bad_input": alone, "refusals": alone, "edges": edges, "opens": [wrong], "shared": both}.items():
        tests = [HERE / f"{part}.c" for part in ("harness", "mock", name)]
        includes = ["-I", folder, "-I", HERE, "-I", BOARD_HEADER.parent]
        command = ["gcc", "-std=c99", "--coverage", *includes, *tests, *objects, "-o", folder / name]
        subprocess.run([str(word) for word in command], cwd=folder, check=True)
        for arguments in runs:
            run(folder / name, *arguments)
    for path in objects:
        tells = ["gcov", "--branch-probabilities", "--json-format", path.name]
        subprocess.run(tells, cwd=folder, capture_output=True, check=True)
        yield next(folder.glob(f"{path.stem}*.gcov.json.gz"))


def test_every_branch_is_taken(tmp_path: Path) -> None:
    missed: set[tuple[str, str]] = set()
    branches = 0
    for path in covered(tmp_path):
        for found in json.loads(gzip.decompress(path.read_bytes()))["files"]:
            if not (SOURCES / found["file"]).exists():
                continue  # the header of the registers, which is made
            text = (SOURCES / found["file"]).read_text(encoding="utf-8").splitlines()
            for line in found["lines"]:
                counts = [branch["count"] for branch in line["branches"]]
                branches += len(counts)
                if line["count"] == 0 or 0 in counts:
                    missed.add((found["file"], text[line["line_number"] - 1].strip()))
    assert missed == set()
    assert branches > 600


def functions() -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Every public function: what it answers, its name, and its arguments by type and name."""
    for path in (SOURCES / "tilewright_driver.h", *LINUX.glob("*.h")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for answer, name, arguments in re.findall(r"^([\w ]+[ *])(tw_\w+)\(([^()]*)\);", text, re.MULTILINE):
            parts = [re.fullmatch(r"(.*?[ *])(\w+)", " ".join(part.split())) for part in arguments.split(",")]
            yield answer.strip(), name, [(part[1], part[2]) for part in parts if part is not None]


def calls() -> Iterator[tuple[str, str, list[str]]]:
    """Every call of the driver in the tests: the answer that it has to get, if that is said; the function; the arguments."""
    for path in HERE.glob("*.c"):
        text = path.read_text(encoding="utf-8")
        for found in re.finditer(r"(?:(?:X|EXPECT)\((TW_\w+), )?\b(tw_\w+)\(", text):
            arguments, depth = [""], 1
            for letter in text[found.end() :]:
                depth += (letter == "(") - (letter == ")")
                if depth == 0:
                    break
                if depth == 1 and letter == ",":
                    arguments.append("")
                else:
                    arguments[-1] += letter
            yield found[1] or "", found[2], [argument.strip() for argument in arguments]


def wrong(types: list[tuple[str, str]]) -> set[str]:
    """What a function with these arguments must be asked with, beside NULL: one answer of each set."""
    found: set[str] = set()
    for kind, name in types:
        found |= {"TW_TOO_SMALL TW_SHORT_IMAGE"} if name == "bytes" and "*" not in kind else set()
        found |= {"TW_ARGUMENT TW_NO_PART"} if name in {"set", "sets", "number", "name"} else set()
        found |= {"TW_NO_MACHINE", "TW_STUCK"} if name == "ticks" else set()
        found |= {"TW_MISALIGNED"} if kind.endswith("float *") or kind in {"const tw_array *", "const tw_place *"} else set()
    return found


def test_every_argument_is_refused() -> None:
    asked = list(calls())
    lacking = []
    declared = list(functions())
    for answer, name, types in declared:
        mine = [(told, arguments) for told, function, arguments in asked if function == name]
        for place, (kind, argument) in enumerate(types):
            if ("*" not in kind and kind.strip() != "tw_part") or (name, argument) in OPTIONAL:
                continue
            expected = "TW_NULL_POINTER" if answer == "tw_result" else ""
            if not any(said == expected and given[place] == "NULL" for said, given in mine):
                lacking.append(f"{name}: {argument} NULL")
        if answer == "tw_result":
            told = {said for said, _ in mine}
            lacking += [f"{name}: {one}" for one in wrong(types) if not told & set(one.split())]
    assert lacking == []
    assert len(declared) > 40
