"""Accuracy before and after quantisation, where labels are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.model import Model, to_proto
from compiler.frontend.session import run_session, session
from compiler.quantise.statistics import batches

Array = NDArray[Any]


@dataclass(frozen=True)
class Accuracy:
    """The numbers of labelled inputs: all ``samples``, those that each model gets right, and those on which the two agree."""

    samples: int
    float_right: int
    quantised_right: int
    same: int

    def __str__(self) -> str:
        return (
            f"{self.samples} samples: float {self.float_right} right, quantised {self.quantised_right} right, "
            f"same answer for {self.same}"
        )


def accuracy(float_model: Model, quantised: Model, data: Mapping[str, Array], labels: Array) -> Accuracy:
    """The top-1 accuracy of both models on the labelled data, by their first output."""
    loaded = [session(to_proto(float_model)), session(to_proto(quantised))]
    output = float_model.outputs[0]
    answers: list[list[Array]] = [[], []]
    for feeds in batches(float_model, data):
        for found, one in zip(answers, loaded, strict=True):
            value = run_session(one, feeds, [output])[output]
            found.append(value.reshape(len(value), -1).argmax(axis=1))
    before, after = (np.concatenate(found) for found in answers)
    truth = np.asarray(labels).reshape(-1)[: len(before)]
    return Accuracy(len(before), int((before == truth).sum()), int((after == truth).sum()), int((before == after).sum()))
