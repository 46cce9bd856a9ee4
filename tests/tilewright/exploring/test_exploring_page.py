"""The page of an exploration: what it holds, that it loads nothing, and how it looks."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

from isa.config import config_from_dict, load_config
from tests.tilewright.exploring.small_search import search
from tests.tilewright.looked_at import faults
from tests.tilewright.small_models import work_beside_small_files
from tests.tools import needs
from tilewright.cli import main
from tilewright.exploring.page import PAGE_FILE, files_of
from tilewright.exploring.result import Exploration


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Exploration:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "explored"))
        return search(sensitive=True, constraints=["fps(one) >= 1"], objective="latency")


def test_the_page_shows_the_front_and_loads_nothing(found: Exploration) -> None:
    files = files_of(found)
    page = files[PAGE_FILE]
    assert "<script" not in page
    assert not re.search(r"""(?:src|href)=["']?https?:""", page)
    assert found.chosen.name in page
    for point in found.front:
        assert page.count(f'href="#machine-{point.name}"') == 3, "scatter, fields and table lead to it"
        assert f'id="machine-{point.name}"' in page
        assert config_from_dict(tomllib.loads(files[f"{point.name}.toml"]), origin="page") == point.config
    saved = re.findall(r'href="data:application/toml,([^"]*)"', page)
    assert [unquote(text) for text in saved] == [point.config.to_toml() for point in found.front]
    for title in ("Front", "Fields", "What binds", "One more of something", "Layers of one", "Layers of chain", "Machines"):
        assert f"<h2>{title}</h2>" in page
    assert "fps(one) &gt;= 1" in page


def test_what_one_more_brings_is_found_again_by_a_search(found: Exploration) -> None:
    assert found.changes
    assert [change.gain for change in found.changes] == sorted((change.gain for change in found.changes), reverse=True)
    wider = next(change for change in found.changes if change.what == "twice the bus")
    doubled = {"axi_data_bits": (2 * found.chosen.config.axi_data_bits,)}
    fields = {name: (getattr(found.chosen.config, name),) for name in ("ic_p", "oc_p", "px_p", "conv_finish", "fm_banks")}
    alone = search(space={**fields, **doubled}, objective="latency")
    assert wider.gain == pytest.approx(1 - alone.chosen.latency / found.chosen.latency, abs=1e-4)


def test_the_command_writes_page_and_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work_beside_small_files(tmp_path, monkeypatch)
    (tmp_path / "space.toml").write_text("oc_p = [4, 8]\n")
    asked = ["explore", "--model", "model.onnx", "--calibrate", "calibration.npz", "--chip", "LFE5U-85F", "--config", "nano",
             "--space", "space.toml", "--effort", "quick", "--workers", "1"]  # fmt: skip
    assert main([*asked, "--json", "-o", "new"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["format"] == 1
    assert {Path(name).name for name in told["files"]} == {path.name for path in (tmp_path / "new").iterdir()}
    first = told["front"][0]
    written = load_config(f"new/{first['name']}.toml")
    assert first["config"]["oc_p"] == written.oc_p
    assert main([*asked, "--toml", "1"]) == 0
    assert capsys.readouterr().out == written.to_toml()
    assert main([*asked, "--toml", "9"]) == 2
    assert "--toml: 9; the front has machines 1 to" in capsys.readouterr().err
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["machine", "fps", "ms"]
    assert first["name"] in lines[1]
    assert f"model: {told['nodes_on_cpu'][0]} nodes on the CPU, whose time is not counted" in lines


@pytest.mark.slow
@needs("chromium")
@pytest.mark.parametrize(("width", "dark"), [(520, False), (1400, True)], ids=["narrow and light", "wide and dark"])
def test_nothing_of_the_page_is_cut_off_or_covered(width: int, dark: bool, found: Exploration, tmp_path: Path) -> None:
    assert faults({"explored": files_of(found)[PAGE_FILE]}, width, dark, tmp_path) == {"explored": []}
