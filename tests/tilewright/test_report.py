"""The report: what the page says is what the program does, and it loads nothing."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper

from bench.png import read_png
from compiler.driver import Compiled
from isa.assembler import assemble
from isa.config import preset
from isa.instructions import Unit
from isa.program import Program
from isa.program_file import save_program
from tests.tilewright.small_models import float_model, images
from tests.tools import needs, path_of
from tilewright.cli import main
from tilewright.compiling import compile_model
from tilewright.processors import PROCESSORS
from tilewright.profile.activity import activities, modelled
from tilewright.profile.dataflow import Resident, dataflow
from tilewright.profile.network import network_of
from tilewright.profile.whole import whole_time
from tilewright.report.layers import LayerRow, group_rows, layer_rows
from tilewright.report.memory import COLUMNS, ROWS, occupancy, rectangles
from tilewright.report.page import page
from tilewright.report.roofline import roofline
from tilewright.report.strips import UNIT_COLOURS
from tilewright.report.svg import count, short, ticks
from tilewright.report.table import layer_shapes

NANO = preset("nano")
VOID = {"meta", "br"}


class Outline(HTMLParser):
    """Refuses elements that are not closed in order; collects ids, anchors and whatever could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.anchors: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.anchors += [given["href"] or ""] if tag == "a" else []
        self.loads += [tag] if tag in ("script", "link", "img", "iframe") or "src" in given else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(program: Program, title: str, cpu: str = "cortex-a53") -> str:
    timing = modelled(program)
    return page(program, timing, whole_time(program, timing.steps, PROCESSORS[cpu]), title)


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_model(float_model(), "nano", calibration={"image": images(8)}, strategy="naive")


def test_page_is_whole_and_loads_nothing(compiled: Compiled) -> None:
    text = page_of(compiled.program, "small <model>")
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert outline.loads == []
    assert "url(" not in text
    assert "small &lt;model&gt;" in text
    assert len(set(outline.ids)) == len(outline.ids)
    assert {anchor[1:] for anchor in outline.anchors} <= set(outline.ids), "every link leads somewhere on the page"
    for heading in ("Partition", "Layers", "Roofline", "Units over time", "Feature-map buffer over time", "Instructions"):
        assert f"<h2>{heading}</h2>" in text
    assert len(re.findall(r"^ *\d+ +\d+  0x", re.sub("<pre>", "\n", text), re.MULTILINE)) == len(compiled.program.debug)


@needs("chromium")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_shows_the_page_without_complaint(dark: bool, compiled: Compiled, tmp_path: Path) -> None:
    """Without a network; every unit that works is to be seen in its colour, on a page as light or dark as its reader likes."""
    (tmp_path / "page.html").write_text(page_of(compiled.program, "small"))
    shot = tmp_path / "shot.png"
    options = [
        "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}", "--window-size=700,4600",
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]  # fmt: skip
    done = subprocess.run(
        [str(path_of("chromium")), *options, f"--screenshot={shot}", (tmp_path / "page.html").as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    pixels = read_png(shot)[:, :, :3].astype(np.int32)
    assert (pixels[2, 2].max() < 60) if dark else (pixels[2, 2].min() > 230)
    for unit in (Unit.LOAD, Unit.SAVE, Unit.CONV, Unit.POOL):
        wanted = [int(UNIT_COLOURS[unit][n : n + 2], 16) for n in (1, 3, 5)]
        assert (abs(pixels - wanted).max(axis=2) < 4).sum() > 100, f"{unit.name} is nowhere to be seen"


def test_the_graph_shows_every_layer_and_what_stays_on_chip(compiled: Compiled) -> None:
    fused = compile_model(float_model(), "nano", calibration={"image": images(8)}, groups=[["conv", "pool"]])
    for program, stays, areas in ((compiled.program, 0, 2), (fused.program, 1, 1)):
        text = page_of(program, "small")
        graph = text[text.index('aria-label="Partitioned graph"') : text.index("<h2>Layers</h2>")]
        assert [graph.count(f'class="{kind}"') for kind in ("op", "edge stays", "edge")] == [2, stays, 1 - stays]
        assert graph.count('rx="9"') == areas
        assert re.findall(r'<text[^>]*>(\w+)</text>', graph) == ["conv", "pool"]


def test_a_program_that_was_assembled_has_no_graph() -> None:
    text = "START config=CONFIG\nLOADP signal=CONV count=1 buffer=TAPS\nEND\n"
    program = Program(NANO, tuple(assemble(text, config=NANO)))
    assert "Partitioned graph" not in page_of(program, "by hand")


def test_layers_have_all_bytes_and_macs(compiled: Compiled) -> None:
    program = compiled.program
    items = activities(program, modelled(program))
    rows = layer_rows(items, dataflow(NANO, items), network_of(program))
    assert [(row.name, row.unit, row.group) for row in rows] == [("conv", Unit.CONV, 1), ("pool", Unit.POOL, 2)]
    assert sum(row.read for row in rows) == sum(item.read for item in items)
    assert sum(row.written for row in rows) == sum(item.written for item in items)
    assert rows[0].macs == 5 * 3 * 9 * 36
    assert all(row.cycles == row.work + row.waits.total() for row in rows)
    assert rows[0].utilisation(NANO.macs_per_cycle) == rows[0].macs / rows[0].work / 16
    first, second = group_rows(rows)
    assert first.cycles + second.cycles == max(row.finish for row in rows)
    assert first.dram_bytes == rows[0].read + rows[0].written


def test_rectangles_cover_the_grid_once() -> None:
    grid = np.random.default_rng(0).integers(-1, 3, (7, 9)).astype(np.int32)
    painted = np.full_like(grid, -1)
    for number, row, column, height, width in rectangles(grid):
        assert (painted[row : row + height, column : column + width] == -1).all()
        painted[row : row + height, column : column + width] = number
    assert (painted == grid).all()


def test_equal_rows_are_one_rectangle() -> None:
    grid = np.full((4, 5), -1, np.int32)
    grid[1:3, 2:4] = 6
    assert list(rectangles(grid)) == [(6, 1, 2, 2, 2)]


def test_occupancy_places_words_and_times() -> None:
    half = np.array([[0, NANO.fm_words // 2]], np.int64)
    grid = occupancy(NANO, [Resident("a", half, 0, 50), Resident("b", half, 50, 100)], 100, {"a": 0, "b": 1})
    assert grid.shape == (ROWS, COLUMNS)
    assert (grid[: ROWS // 2, : COLUMNS // 2] == 0).all()
    assert (grid[: ROWS // 2, COLUMNS // 2 :] == 1).all()
    assert (grid[ROWS // 2 :] == -1).all()


def test_roofline_of_a_program_that_multiplies_nothing() -> None:
    row = LayerRow("copy", 1, Unit.MISC, cycles=10, read=8, finish=10)
    assert "No layer multiplies" in roofline(NANO, group_rows([row]), 10)


def test_numbers_and_names_are_short() -> None:
    assert [count(n) for n in (7, 9999, 12_345, 999_999, 2_500_000, 0.1)] == ["7", "9999", "12.3 k", "1000 k", "2.5 M", "0.1"]
    assert ticks(1978, 5) == [0, 500, 1000, 1500]
    assert ticks(0) == [0.0]
    assert short("a;b;last") == "last"
    assert len(short("x" * 200)) < 40


def test_report_command(compiled: Compiled, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_program(compiled.program, tmp_path / "small.elf")
    assert main(["report", str(tmp_path / "small.elf"), "-o", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "trace.json"]
    assert "<title>small</title>" in (tmp_path / "out" / "report.html").read_text()
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'out' / 'report.html'}: ")


def test_pieces_of_a_transposed_convolution_show_the_map_that_they_make_together() -> None:
    weights = numpy_helper.from_array(np.ones((4, 4, 2, 2), np.float32), "w")
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], "up", strides=[2, 2])
    ends = (helper.make_tensor_value_info(name, 1, (1, 4, size, size)) for name, size in (("x", 3), ("y", 6)))
    graph = helper.make_graph([node], "g", [next(ends)], [next(ends)], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    program = compile_model(model, "nano", calibration={"x": np.ones((1, 4, 3, 3), np.float32)}).program
    items = activities(program, modelled(program))
    layers = layer_rows(items, dataflow(NANO, items), network_of(program))
    assert len(layers) > 1
    assert set(layer_shapes(program, layers).values()) == {(1, 4, 6, 6)}
    assert layer_shapes(program, layers).keys() == {layer.name for layer in layers}
