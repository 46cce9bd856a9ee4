"""Resets as registered trees. No register drives the resets of more bits than a chip carries across in a cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth import Const, Elaboratable, Module, Signal, Value
from amaranth.hdl import Fragment
from amaranth.hdl._ast import Switch
from amaranth.hdl._xfrm import FragmentTransformer, LHSMaskCollector

from hw.copies import PINS, Copy

DOMAIN = "sync"
LEAF_BITS = PINS
"""The register bits that a leaf resets."""


class ResetTree(Elaboratable):
    """A part that only ``reset`` resets, all of it in the same cycle. The reset comes ``RESET`` cycles later than a plain
    synchronous one and lasts as many cycles as ``reset``.

    ::

        reset --- root --+-- leaf -- up to LEAF_BITS register bits: a module and all in it,
                         +-- leaf -- or some of the registers of a larger module
                         ...

    Every leaf is a ``Copy``. The leaf of a register depends only on the register's module and what is in it, so equal modules
    stay equal.
    """

    def __init__(self, part: Elaboratable, reset: Value) -> None:
        self._part, self._reset = part, reset

    def elaborate(self, platform: Any) -> Fragment:
        root = Signal(name="reset_root", reset_less=True)
        inside = Fragment.get(self._part, platform)
        holder = Module()
        holder.d[DOMAIN] += root.eq(self._reset)
        tree = _Leaves(root)(inside)
        for domain, statements in Fragment.get(holder, platform).statements.items():
            tree.add_statements(domain, *statements)
        return tree


class _Leaves(FragmentTransformer):
    """Adds the leaves to a fragment and to those in it."""

    def __init__(self, root: Signal) -> None:
        self._root = root
        self._shared: Value | None = None
        """The leaf of the fragment that contains this one."""

    def on_fragment(self, fragment: Fragment) -> Fragment:
        outside = self._shared
        groups = list(_groups(fragment))
        leaves: list[Copy] = []
        if outside is None and _bits_below(fragment) <= LEAF_BITS and fragment.subfragments:
            leaves.append(Copy(1, reset_less=True))
            self._shared = leaves[0].o
        changed = super().on_fragment(fragment)
        for registers in groups:
            if self._shared is not None:
                reset = self._shared
            else:
                leaves.append(Copy(1, reset_less=True))
                reset = leaves[-1].o
            statements = [part.eq(init) for part, init in registers]
            changed.add_statements(DOMAIN, Switch(reset, [(1, statements, None)]))
        for signal, _, _ in _registers(fragment):
            signal._reset_less = True
        self._shared = outside
        for number, leaf in enumerate(leaves):
            holder = Module()
            holder.d.comb += leaf.i.eq(self._root)
            for domain, statements in Fragment.get(holder, None).statements.items():
                changed.add_statements(domain, *statements)
            changed.add_subfragment(Fragment.get(leaf, None), f"reset{number or ''}")
        return changed


def _registers(fragment: Fragment) -> Iterator[tuple[Signal, int, int | None]]:
    """The signals, or bits of them, that are driven in the fragment and have a reset."""
    driven = LHSMaskCollector()
    driven.visit_stmt(fragment.statements.get(DOMAIN, ()))
    yield from (chunk for chunk in driven.chunks() if not chunk[0].reset_less)


def _bits_below(fragment: Fragment) -> int:
    """The number of register bits with a reset, in the fragment and all in it."""
    own = sum(len(signal[start:stop]) for signal, start, stop in _registers(fragment))
    return own + sum(_bits_below(inner) for inner, _, _ in fragment.subfragments)


def _groups(fragment: Fragment) -> Iterator[list[tuple[Value, Const]]]:
    """The fragment's registers with their initial values, in groups of at most ``LEAF_BITS``. A register that fits into a group
    is not split, so it stays one register in the Verilog."""
    group: list[tuple[Value, Const]] = []
    room = LEAF_BITS
    for signal, start, stop in _registers(fragment):
        end = len(signal) if stop is None else stop
        for first in range(start, end, LEAF_BITS):
            past = min(first + LEAF_BITS, end)
            if past - first > room:
                yield group
                group, room = [], LEAF_BITS
            size = past - first
            group.append((signal[first:past], Const(signal.init >> first & ((1 << size) - 1), size)))
            room -= size
    if group:
        yield group
