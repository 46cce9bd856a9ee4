"""Models in a program file that somebody else has made."""

from __future__ import annotations

import pytest

from isa.program import ProgramError
from tests.tilewright.small_models import float_model
from tilewright.profile.parts import parsed


def test_a_model_is_read() -> None:
    model = float_model()
    assert parsed("whole", model.SerializeToString()) == model


@pytest.mark.parametrize("damage", ["no protocol buffer", "a name that is no text"])
def test_what_is_no_model_is_refused(damage: str) -> None:
    whole = float_model().SerializeToString()
    name = float_model().graph.node[0].output[0].encode()
    blob = b"\xff" + whole if damage == "no protocol buffer" else whole.replace(name, b"\xff" * len(name))
    with pytest.raises(ProgramError, match="model 'whole' of the program: not ONNX; compile the network again"):
        parsed("whole", blob)
