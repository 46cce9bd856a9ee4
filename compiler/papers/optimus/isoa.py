"""Finds maps of a group that need to be on chip in some channels only: invoking the subsequent operator in advance.

Optimus section 5.2, Algorithm 2. An operator may start as soon as some channels of its input are there: only a tile of channels
of that map is then kept. But an operator that reads some channels at a time makes sums that must all stay on chip. So only one
of two successive maps can be kept so. In reversed topological order

    dp[l][1] = some channels of l + sum over successors s of dp[s][0]
    dp[l][0] = all channels of l  + sum over successors s of min(dp[s][0], dp[s][1])

and then forwards, each map takes the cheaper way, if its makers leave the choice. On chains that is the least. Where branches
join, the paper's sums count everything behind the join once for each branch, so it may not be the least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def in_advance(
    maps: Sequence[str], readers: Mapping[str, Sequence[str]], whole: Mapping[str, int], part: Mapping[str, int]
) -> frozenset[str]:
    """The maps of which some channels are enough (Optimus' ``phi``); ``maps`` are in topological order.

    ``readers`` are the maps that are made of each map. ``whole`` and ``part`` are the sizes of each with all channels, and with
    a tile of them.
    """
    some: dict[str, int] = {}
    every: dict[str, int] = {}
    for name in reversed(maps):
        some[name] = part[name] + sum(every[reader] for reader in readers[name])
        every[name] = whole[name] + sum(min(some[reader], every[reader]) for reader in readers[name])
    chosen: set[str] = set()
    barred: set[str] = set()
    for name in maps:
        if name not in barred and some[name] < every[name]:
            chosen.add(name)
            barred.update(readers[name])
    return frozenset(chosen)
