"""The networks that a machine is for, and the weight of each."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, log
from pathlib import Path
from typing import Any

import onnx

from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.idle import NothingOnMachine
from compiler.frontend.pipeline import ImportedModel
from compiler.quantise.statistics import CalibrationWarning
from isa.errors import TilewrightError
from isa.files import write_atomically
from isa.names import nearest
from isa.program import HostTensor
from tilewright.compiling import imported_as
from tilewright.exploring.store import compiler_digest, explore_folder
from tilewright.profile.network import Network

Model = Path | str | onnx.ModelProto
MEANS = ("runs", "geometric")
ALL_EXTRAS = Extras(rows=True, products=True)
IN_MEMORY = 4
"""The imported models that a process holds."""


@dataclass(frozen=True)
class Net:
    """One imported network. The imported model lies in the cache folder, where workers find it."""

    name: str
    weight: float
    """The share of the runs that run this network."""
    digest: str
    macs: int
    """The multiply-accumulates on the machine."""
    on_cpu: int
    """The nodes that no machine of the space computes."""
    path: Path
    """The path of the imported model."""


@dataclass(frozen=True)
class Workload:
    nets: tuple[Net, ...]
    extras: Extras
    """The optional parts that machines have because more of the networks' nodes then run on them."""
    geometric: bool = False
    """Whether the mean is geometric, so that each network counts alike however long it runs."""

    def mean(self, values: Sequence[float]) -> float:
        """The mean of a figure of each network: over the runs, or geometric."""
        if not self.geometric:
            return sum(net.weight * value for net, value in zip(self.nets, values, strict=True))
        if min(values) <= 0:
            return 0.0
        return exp(sum(net.weight * log(value) for net, value in zip(self.nets, values, strict=True)))


def workload_of(
    models: Mapping[str, Model], weights: Sequence[float] | None = None, how: Mapping[str, Any] | None = None,
    extras: Extras | None = None, mean: str = MEANS[0],
) -> Workload:  # fmt: skip
    """Imports the models, by name. ``how``: arguments of ``tilewright.compiling.imported_as``. ``extras``: with None those that
    help."""
    if mean not in MEANS:
        raise TilewrightError(f"explore --average: {mean!r} is unknown{nearest(mean, MEANS)}; known are {', '.join(MEANS)}")
    if not models:
        raise TilewrightError("explore: no model; give --model FILE, once for each network")
    given = [1.0] * len(models) if weights is None else list(weights)
    if len(given) != len(models):
        raise TilewrightError(f"explore --weight: {len(given)} weights for {len(models)} models; give one for each, as 2:1")
    if not all(0 < weight < float("inf") for weight in given):
        raise TilewrightError(f"explore --weight: {':'.join(f'{w:g}' for w in given)}; expected numbers above 0")
    arguments = dict(how or {})
    chosen = NO_EXTRAS if extras is None else extras
    imports = {name: _imported(model, arguments, chosen) for name, model in models.items()}
    if extras is None and any(imported.reasons for imported in imports.values()):
        others = {name: _imported(model, arguments, ALL_EXTRAS) for name, model in models.items()}
        if any(len(others[name].reasons) < len(imports[name].reasons) for name in models):
            chosen, imports = ALL_EXTRAS, others
    found = [
        _net(name, weight / sum(given), imported, arguments)
        for (name, imported), weight in zip(imports.items(), given, strict=True)
    ]
    return Workload(tuple(found), chosen, mean == MEANS[1])


def _imported(model: Model, how: Mapping[str, Any], extras: Extras) -> ImportedModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        warnings.simplefilter("ignore", NothingOnMachine)
        return imported_as(model, extras=extras, **how)


def _net(name: str, weight: float, imported: ImportedModel, how: Mapping[str, Any]) -> Net:
    kept = replace(imported, float_model=None, quantised_model=None, statistics={})
    inputs = tuple(
        HostTensor(each.name, tuple(d.dim_value for d in each.type.tensor_type.shape.dim), "")
        for each in imported.oracle.graph.input
    )
    macs = Network(imported.oracle, inputs).macs
    state = hashlib.sha256(imported.oracle.SerializeToString(deterministic=True))
    state.update(repr((sorted(imported.reasons), imported.extras, sorted(map(repr, how.items())), compiler_digest())).encode())
    on_machine = sum(count for node, count in macs.items() if node not in imported.reasons)
    digest = state.hexdigest()[:32]
    net = Net(name, weight, digest, on_machine, len(imported.reasons), explore_folder() / "models" / f"{digest}.pickle")
    if not imported.graph.ops or on_machine == 0:
        raise TilewrightError(f"model {name}: no layer of it is for the machine, so no machine is better than another")
    net.path.parent.mkdir(parents=True, exist_ok=True)
    if not net.path.exists():
        write_atomically(net.path, pickle.dumps(kept))
    return net


@lru_cache(maxsize=IN_MEMORY)
def imported_from(path: Path) -> ImportedModel:
    """The imported model of that file, in a worker. Only this user's cache folder is read."""
    found = pickle.loads(path.read_bytes())
    assert isinstance(found, ImportedModel)
    return found
