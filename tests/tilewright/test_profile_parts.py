"""Models in a program file that somebody else has made."""

from __future__ import annotations

import pytest

from isa.config import preset
from isa.program import WHOLE_MODEL, CpuGraph, Program, ProgramError
from tests.tilewright.small_models import float_model
from tilewright.noise import KEY, noise_of
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


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"conv": "loud"}', '{"conv": [1]}', "[" * 100_000])
def test_signal_to_noise_that_is_none_is_refused(text: str) -> None:
    model = float_model()
    model.metadata_props.add(key=KEY, value=text)
    program = Program(preset("nano"), (2,), cpu_graphs=(CpuGraph(WHOLE_MODEL, model.SerializeToString()),))
    with pytest.raises(ProgramError, match="signal to noise in the program: not a number for each layer; compile the network"):
        noise_of(program)
