"""The error for a model that cannot be used."""

from __future__ import annotations

from isa.errors import TilewrightError


class ModelError(TilewrightError):
    """A model that cannot be read, or that contradicts itself."""
