"""Components that the emitted machine has once as a module, however many of them it has."""

from __future__ import annotations

from typing import Any, TypeVar

from amaranth.lib import wiring

C = TypeVar("C", bound=type[wiring.Component])


def one_module(component: C) -> C:
    """A class whose components are all alike in one machine if their signatures are: a platform with ``one_module``
    elaborates the first of them for all. No register of theirs may have a reset, for what resets a unit does not reach into
    such a module."""
    own = component.elaborate

    def elaborate(self: wiring.Component, platform: Any) -> Any:
        shared = getattr(platform, "one_module", None)
        return own(self, platform) if shared is None else shared(self, own)

    component.elaborate = elaborate
    return component
