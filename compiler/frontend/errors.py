"""What can be wrong with a model that a user gives."""

from __future__ import annotations

from isa.errors import TilewrightError


class ModelError(TilewrightError):
    """A model that cannot be read, or that contradicts itself."""
