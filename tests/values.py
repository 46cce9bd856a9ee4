"""Which data classes of a package can be changed once they are made."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def changeable(package: ModuleType) -> set[str]:
    found = set()
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for name, value in vars(importlib.import_module(info.name)).items():
            own = isinstance(value, type) and value.__module__ == info.name and "__dataclass_params__" in vars(value)
            if own and not value.__dataclass_params__.frozen:
                found.add(name)
    return found
