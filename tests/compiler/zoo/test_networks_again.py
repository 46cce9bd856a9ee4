"""Every network that is quick enough: its schedule, and its graphs, written, read and compiled again, give the same program."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from compiler.driver import compile_graph
from compiler.emit.described import schedule_text
from compiler.frontend.pipeline import import_model
from compiler.passes.pipeline import PASSES
from compiler.quantise.statistics import CalibrationWarning
from compiler.schedule.reading import parse_schedule
from compiler.xgraph.graph import XGraph
from compiler.xgraph.printer import print_graph
from compiler.xgraph.stored import CONSTANTS, read_graph
from compiler.zoo.networks import networks
from isa.config import preset
from isa.program_file import program_bytes
from tests.compiler.zoo.test_zoo_networks import REDUCED
from tilewright.dump import Dump

BASE = preset("base")
SLOW = {
    "densenet": "248 operations take 3 s",
    "hrnet_w18_small": "151 operations take 6 s; hrnet_w18_small_v2 has its blocks",
    "nasnet_a": "630 operations take 12 s; nasnet_a_cifar and nasnet_a_large have its cells",
    "resnet152": "210 operations take 6 s; resnet50 has its blocks",
    "resnet152_v1": "210 operations take 7 s; resnet50_v1 has its blocks",
    "vgg16": "takes 3 s; vgg16_convolutions has its convolutions, alexnet such dense layers",
    "vgg19": "takes 3 s; vgg19_convolutions has its convolutions, alexnet such dense layers",
}
"""Left to the whole suite: why, with seconds of one core."""
AS_THEY_ARE = ("alexnet", "deeplab", "inception_resnet_v2", "inception_v3", "nasnet_a_large")
"""Too deep for smaller images."""
WITHOUT_CLASSES = ("deeplab", "unet", "unet_resize", "vgg16_convolutions", "vgg19_convolutions", "yolov3_tiny")


def reduced(name: str) -> dict[str, Any]:
    how = {key: value for key, value in REDUCED[name][0].items() if key != "batch"}
    size = {} if name in AS_THEY_ARE else {"size": min(how["size"], 32)}
    return {**how, **size, **({} if name in WITHOUT_CLASSES else {"classes": 10})}


def test_what_is_slow_exists() -> None:
    assert SLOW.keys() < networks().keys()


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in networks()])
def test_the_same_program_of_what_was_written(name: str, tmp_path: Path) -> None:
    watched = Dump()

    def watch(stage: str, graph: XGraph) -> None:
        if stage in ("import", PASSES[-1].__name__):
            watched.graph(stage, graph)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        imported = import_model(networks()[name](**reduced(name)), watch=watch)
    found = compile_graph(imported, BASE, strategy="naive")
    texts = {path: content for path, content in watched.files(found) if path.endswith((".xgraph", CONSTANTS))}
    for path, content in texts.items():
        (tmp_path / path).write_bytes(content)
    graphs = [path for path in texts if path != CONSTANTS]
    for path in graphs:
        assert print_graph(read_graph(tmp_path / path)).text.encode() == texts[path]
    schedule = schedule_text(BASE, found.imported.graph, found.steps, found.sharing)
    again = replace(found.imported, graph=read_graph(tmp_path / max(graphs)))
    repeated = compile_graph(again, BASE, schedule=parse_schedule(schedule))
    assert program_bytes(repeated.program) == program_bytes(found.program)
    assert repeated.schedule == found.schedule
