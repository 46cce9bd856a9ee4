"""The types of fields of operations, tensors and their parts; text is read back by them."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np


@cache
def types_of(kind: type) -> Mapping[str, Any]:
    """The types of all fields of a dataclass, by name."""
    found = get_type_hints(kind)
    return {field.name: found[field.name] for field in dataclasses.fields(kind)}


def parts_of(kind: type) -> Iterator[type]:
    """The dataclasses and enumerations that a type is made of, and the type itself."""
    yield kind
    if dataclasses.is_dataclass(kind):
        for hint in types_of(kind).values():
            for part in _named(hint):
                yield from parts_of(part)


def _named(hint: Any) -> Iterator[type]:
    for inner in get_args(hint):
        yield from _named(inner)
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, enum.Enum)):
        yield hint


def made(kind: type, fields: Mapping[str, Any]) -> Any:
    """A dataclass with these fields; a field of the wrong type is refused."""
    hints = types_of(kind)
    for name, value in fields.items():
        if name in hints and not _fits(value, hints[name]):
            raise ValueError(f"{name} of {kind.__name__} is {_short(value)}, expected {_told(hints[name])}")
    return kind(**fields)


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):  # the statement ``type`` makes such an alias, as for NDArray from NumPy 2.5 on
        return _fits(value, origin.__value__[inner])
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = [inner[0]] * len(value) if inner[1:] == (...,) else inner
        return len(value) == len(each) and all(map(_fits, value, each))
    if origin is dict:
        return isinstance(value, dict) and all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in value.items())
    if origin is np.ndarray:
        (item,) = get_args(inner[1])
        return isinstance(value, np.ndarray) and value.dtype == np.dtype(item)
    if hint is float:
        return isinstance(value, float | int)
    return isinstance(value, hint)


def _told(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("numpy.", "")


def _short(value: Any) -> str:
    return f"an array of {value.dtype}" if isinstance(value, np.ndarray) else repr(value)[:40]
