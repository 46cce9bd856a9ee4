"""The picture of DRAM over the steps shows what the account of memory says, from the program alone."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from compiler.driver import Compiled, compile_graph
from compiler.emit.places import ALIGN
from compiler.emit.steps import memory_tasks
from compiler.frontend.pipeline import import_model
from compiler.quantise.statistics import CalibrationWarning
from compiler.zoo.networks import networks
from isa.assembler import assemble
from isa.config import preset
from isa.instructions import Region
from isa.program import Program
from isa.program_file import load_program
from tests.tilewright.small_models import write_small_files
from tilewright.cli import main
from tilewright.profile.activity import activities, modelled
from tilewright.profile.arena import GRANULE, Arena, Held, arena
from tilewright.profile.dataflow import dataflow
from tilewright.report.arena import ROWS, arena_map, occupancy, picture_of


def drawn(program: Program) -> Arena:
    items = activities(program, modelled(program))
    return arena(program, items, dataflow(program.config, items))


def compiled(name: str, **how: int) -> Compiled:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return compile_graph(import_model(networks()[name](classes=10, **how)), preset("base"), strategy="naive")


@pytest.mark.parametrize(("name", "exact"), [("resnet18", True), ("unet", False)])
def test_bytes_in_use_are_those_of_the_account(name: str, exact: bool) -> None:
    """Parts of a concat are there from when they are written; the account has its whole storage from the first part on."""
    made = compiled(name, size=32)
    found = drawn(made.program)
    assert GRANULE == ALIGN
    assert found.sizes[Region.WORK] == made.program.work_bytes
    if not made.sharing.overlap:
        tasks = memory_tasks(made.imported.graph, made.steps)
        peak = tasks.peak(range(len(tasks)))
        assert max(found.in_use()) == peak if exact else max(found.in_use()) <= peak
    machine = [step for step in found.steps if step.startswith("group ")]
    assert len(machine) == len(made.plans)


def test_each_byte_is_held_from_its_writer_to_its_last_reader() -> None:
    """What the host wrote ends with its last reader, the result stays, and at the end nothing lies in one place twice."""
    made = compiled("squeezenet", size=64)
    found = drawn(made.program)
    last = len(found.steps) - 1
    begin_input, begin_output = found.sizes[Region.WORK], found.sizes[Region.WORK] + found.sizes[Region.INPUT]
    for each in found.held:
        assert 0 <= each.since <= each.until <= last
        byte = each.granules * GRANULE
        of_host = bool(((byte >= begin_input) & (byte < begin_output)).all())
        assert of_host == (each.writer == "host" or each.writer in found.steps)
        assert not (byte >= begin_output).any() or each.until == last
    whole = np.concatenate([each.granules for each in found.held if each.since <= last <= each.until])
    assert len(set(whole.tolist())) == len(whole)


def test_areas_and_the_peak_are_in_the_picture() -> None:
    sizes = {Region.WORK: 192, Region.INPUT: 0, Region.OUTPUT: 0}
    held = [Held("host", 0, 0, np.array([0])), Held("a", 0, 1, np.array([1])), Held("b", 1, 1, np.array([0, 2]))]
    made = Arena(["group 1", "group 2"], sizes, held)
    assert made.in_use() == [128, 192]
    grid = occupancy(made, {"a": 0, "b": 1})
    assert grid.shape == (ROWS, 2)
    assert [grid[row, 0] for row in (0, ROWS // 2, ROWS - 1)] == [2, 0, -1]
    assert [grid[row, 1] for row in (0, ROWS // 2, ROWS - 1)] == [1, 0, 1]
    text = arena_map(made, {"a": 0, "b": 1})
    assert "peak: 192 of 192 bytes of WORK in group 2" in text
    assert set(re.findall(r"<title>(\w+)</title>", text)) == {"host", "a", "b"}


def test_names_of_small_regions_do_not_meet_and_no_peak_is_told_of_nothing() -> None:
    held = [Held("host", 0, 0, np.array([156])), Held("a", 0, 0, np.array([157]))]
    sizes = {Region.WORK: 10_000 - 10_000 % GRANULE, Region.INPUT: GRANULE, Region.OUTPUT: GRANULE}
    text = arena_map(Arena(["group 1"], sizes, held), {"a": 0})
    heights = [float(y) for y in re.findall(r'y="([\d.]+)">(?:WORK|INPUT|OUTPUT)<', text)]
    assert len(heights) == 3
    assert all(below - above >= 15 for above, below in pairwise(heights))
    assert "peak" not in text


def test_compile_draws_a_file_that_needs_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One whole SVG document; every writer of the program is in its legend, and the peak that WORK was made for."""
    write_small_files(tmp_path)
    model, chart = tmp_path / "model.onnx", tmp_path / "arena.svg"
    how = ("--config", "nano", "--calibrate", str(tmp_path / "calibration.npz"), "--strategy", "naive", "--arena", str(chart))
    assert main(["compile", str(model), *how, "-o", str(tmp_path / "model.elf")]) == 0
    capsys.readouterr()
    root = ElementTree.parse(chart).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    told = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    program = load_program(tmp_path / "model.elf")
    found = drawn(program)
    assert f"peak: {max(found.in_use()):,} of {program.work_bytes:,} bytes of WORK" in " ".join(told)
    assert {each.writer for each in found.held} <= set(told)


def test_a_picture_that_cannot_be_written_is_refused_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_small_files(tmp_path)
    assert main(["compile", str(tmp_path / "model.onnx"), "-o", str(tmp_path / "x.elf"), "--arena", str(tmp_path)]) == 2
    assert "cannot be written: it is a folder" in capsys.readouterr().err
    assert not (tmp_path / "x.elf").exists()


def test_a_program_without_maps_in_dram_has_no_picture() -> None:
    program = Program(preset("nano"), tuple(assemble("START config=CONFIG\nEND\n", config=preset("nano"))))
    assert "No feature map lies in DRAM." in picture_of(program)
    assert arena_map(drawn(program), {}) == '<p class="note">No feature map lies in DRAM.</p>'
