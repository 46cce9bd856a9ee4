"""Breaks parts on purpose: a proof that does not notice proves nothing."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from amaranth.asserts import AnySeq

from isa.errors import TilewrightError


class ProofError(TilewrightError):
    """Raised for a proof that cannot be carried out."""


@dataclass(frozen=True)
class Fault:
    """One change of a part's source: ``old``, which occurs once in it, becomes ``new``."""

    module: str
    old: str
    new: str


@contextmanager
def freed(functions: Sequence[Callable[..., Any]]) -> Iterator[None]:
    """Makes each of these functions of ``hw`` return a bit that may be anything, as long as the context lasts. The proof then
    holds whatever it computes."""
    kept = [
        (module, name, value)
        for module in list(sys.modules.values())
        if module.__name__.startswith("hw.")
        for name, value in vars(module).items()
        if any(value is function for function in functions)
    ]
    for module, name, _ in kept:
        setattr(module, name, lambda *_: AnySeq(1))
    try:
        yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


@contextmanager
def broken(fault: Fault | None) -> Iterator[None]:
    """Makes the classes and functions of the fault's module behave as the changed source says, as long as the context lasts."""
    if fault is None:
        yield
        return
    module = importlib.import_module(fault.module)
    source = inspect.getsource(module)
    if source.count(fault.old) != 1:
        raise ProofError(
            f"{fault.module}: {fault.old!r} occurs {source.count(fault.old)} times, expected once; "
            f"say in sim/proof what breaks the part as it is now"
        )
    changed = ModuleType(fault.module)
    changed.__package__ = module.__package__
    exec(compile(source.replace(fault.old, fault.new), f"<broken {fault.module}>", "exec"), changed.__dict__)
    kept = []
    codes = []
    for name, original in vars(module).items():
        if inspect.isclass(original) and original.__module__ == fault.module:
            for method, function in vars(getattr(changed, name)).items():
                if method != "__init__" and isinstance(function, (FunctionType, staticmethod)):
                    kept.append((original, method, vars(original)[method]))
                    setattr(original, method, function)
        elif isinstance(original, FunctionType) and original.__module__ == fault.module:
            # Whoever imported the function by its name has it as an object: that very object changes.
            codes.append((original, original.__code__))
            original.__code__ = getattr(changed, name).__code__
    try:
        yield
    finally:
        for function, code in codes:
            function.__code__ = code
        for owner, method, function in kept:
            setattr(owner, method, function)
