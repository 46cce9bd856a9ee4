"""Networks as PyTorch exports them: valid, whole in their products on the machine, and in few segments.

At reduced size here; ``python -m bench.exports`` has the table of the whole ones.
"""

from __future__ import annotations

from typing import Any

import onnx
import pytest

from bench.exports import macs_of, segments_of
from compiler.driver import compile_graph
from compiler.emit.grouping import machine_ops
from compiler.zoo.convnext import layer_norms
from compiler.zoo.exports import exports
from isa.config import preset
from tests.compiler.frontend.quantised_models import check_exact, imported
from tests.compiler.zoo.model_runs import root_mean_squares, run_all

REDUCED: dict[str, dict[str, Any]] = {
    "convnext_tiny": {"size": 64, "widths": (16, 32, 48, 64), "depths": (1, 1, 2, 1)},
    "densenet121": {"size": 64, "blocks": (2, 3, 2, 2)},
    "efficientnet_b0": {"size": 32},
    "mobilenet_v3_large": {"size": 32},
    "mixer_s16": {"size": 64, "width": 32, "depth": 2},
    "shufflenet_v2": {"size": 64, "widths": (24, 48, 96), "repeats": (2, 2, 2)},
    "swin_tiny": {"size": 112, "width": 32, "depths": (2, 2)},
    "vit_tiny": {"size": 64, "width": 48, "depth": 2},
}
MOST_SEGMENTS = {
    "convnext_tiny": layer_norms((1, 1, 2, 1)) + 2, "densenet121": 1, "efficientnet_b0": 1, "mobilenet_v3_large": 1,
    "shufflenet_v2": 1,
}  # fmt: skip


def test_every_export_is_tested() -> None:
    assert set(REDUCED) == set(exports())


@pytest.mark.parametrize("name", REDUCED)
def test_values_stay_in_range(name: str) -> None:
    """Shares of attention are small by nature."""
    model = exports()[name](**REDUCED[name])
    onnx.checker.check_model(model, full_check=True)
    levels = root_mean_squares(run_all(model))
    assert min(levels.values()) > 0.01
    assert max(levels.values()) < 16


@pytest.mark.parametrize("name", REDUCED)
def test_products_are_on_the_machine_in_few_segments_and_exact(name: str) -> None:
    found = imported(exports()[name](**REDUCED[name]))
    total, kept = macs_of(found)
    assert kept == total > 0
    compiled = compile_graph(found, preset("base"), strategy="naive")
    assert segments_of(compiled) <= MOST_SEGMENTS.get(name, 99)
    check_exact(found, seeds=1)


def test_features_of_a_dense_block_lie_in_place() -> None:
    """Each layer joins all features anew; none is copied."""
    found = imported(exports()["densenet121"](**REDUCED["densenet121"]))
    assert not [op.name for op in machine_ops(found.graph) if "/copy" in op.name]
