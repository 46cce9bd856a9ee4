"""Every network: its schedule, and its graphs, written, read and compiled again, give the same program."""

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
QUICK = ("squeezenet", "mobilenet_v2", "googlenet", "unet", "nasnet_a_cifar")
"""The others are left to the whole suite: a network takes 1 to 12 s."""
AS_THEY_ARE = ("alexnet", "deeplab", "inception_resnet_v2", "inception_v3", "nasnet_a_large")
"""Too deep for smaller images."""
WITHOUT_CLASSES = ("deeplab", "unet", "unet_resize", "vgg16_convolutions", "vgg19_convolutions", "yolov3_tiny")


def reduced(name: str) -> dict[str, Any]:
    how = {key: value for key, value in REDUCED[name][0].items() if key != "batch"}
    size = {} if name in AS_THEY_ARE else {"size": min(how["size"], 32)}
    return {**how, **size, **({} if name in WITHOUT_CLASSES else {"classes": 10})}


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in networks()])
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
