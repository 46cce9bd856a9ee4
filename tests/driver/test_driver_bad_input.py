"""The driver on a mock of the registers: all that callers, images and boards can do wrong, under sanitizers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isa.flat_image import flat_image
from isa.program_file import program_bytes
from tests.driver.building import RACES, build, digits, run

FUZZED = 4_000
"""Spoiled images of each kind."""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("images")
    program = digits()
    found = {"file": folder / "digits.elf", "flat": folder / "digits.bin"}
    found["file"].write_bytes(program_bytes(program))
    found["flat"].write_bytes(flat_image(program))
    return found


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: build(tmp_path_factory.mktemp(name), name, "mock") for name in ("bad_input", "refusals", "fuzz")}


@pytest.mark.parametrize("kind", ["file", "flat"])
def test_everything_wrong_has_its_answer(kind: str, images: dict[str, Path], programs: dict[str, Path]) -> None:
    assert run(programs["bad_input"], images[kind]) == "all as expected\n"
    assert int(run(programs["refusals"], images[kind]).split()[0]) > 100


@pytest.mark.parametrize("kind", ["file", "flat"])
def test_spoiled_images_do_no_harm(kind: str, images: dict[str, Path], programs: dict[str, Path]) -> None:
    """A good part of them is not refused at the door: their checksums are made right again."""
    printed = run(programs["fuzz"], images[kind], FUZZED, 1)
    opened, loaded, ran, in_place = map(int, re.findall(r"\d+", printed))
    assert FUZZED > opened >= loaded >= ran > FUZZED // 10
    assert in_place > FUZZED // 10


def test_threads_with_machines_of_their_own_share_a_program(images: dict[str, Path], tmp_path: Path) -> None:
    """Under ThreadSanitizer: nothing of the driver is global, and a program that is open is only read."""
    program = build(tmp_path, "threads", "mock", libraries=["-lpthread"], sanitizers=RACES)
    assert run(program, images["flat"]) == "all as expected\n"
