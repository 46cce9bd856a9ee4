"""Products of recurrent layers: of every step of a sequence, every gate and both directions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.frontend.quantised_models import model, node, weights
from tilewright.compiling import compile_model
from tilewright.profile.network import macs_of_nodes

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("op_type", GATES)
def test_macs(op_type: str, directions: int) -> None:
    steps, wide, hidden = 5, 6, 7
    table = {"w": weights(directions, GATES[op_type] * hidden, wide), "r": weights(directions, GATES[op_type] * hidden, hidden)}
    way = "bidirectional" if directions == 2 else "forward"
    layer = node(op_type, "x w r", "y", hidden_size=hidden, direction=way)
    program = compile_model(model([layer], (steps, 1, wide), table), "nano", cache=False).program
    expected = steps * directions * GATES[op_type] * hidden * (wide + hidden)
    assert list(macs_of_nodes(program).values()) == [expected]
    assert np.prod(table["w"].shape) == directions * GATES[op_type] * hidden * wide
