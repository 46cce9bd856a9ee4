"""All strategies by name."""

from __future__ import annotations

from compiler.search.as_written import dnnvm_as_written, optimus_as_written, optimus_online_as_written
from compiler.search.best import best
from compiler.search.dnnvm import dnnvm
from compiler.search.efficient_s import efficient_s
from compiler.search.fuse_and_shrink import fuse_and_shrink
from compiler.search.greedy import greedy
from compiler.search.naive import naive
from compiler.search.neocpu import neocpu
from compiler.search.optimus import optimus
from compiler.search.optimus_online import optimus_online
from compiler.search.partition import Strategy

CONTENDERS: dict[str, Strategy] = {
    "naive": naive,
    "greedy": greedy,
    "dnnvm": dnnvm,
    "fuse-and-shrink": fuse_and_shrink,
    "optimus-online": optimus_online,
    "best": best,
}
"""Those of which the last choice times the programs (``compiler/fastest.py``). The groups of the others are such as ``best``
grows, and planning all of theirs would take as long as the rest of the search."""
STRATEGIES = CONTENDERS | {
    "efficient-s": efficient_s,
    "optimus": optimus,
    "optimus-as-written": optimus_as_written,
    "optimus-online-as-written": optimus_online_as_written,
    "dnnvm-as-written": dnnvm_as_written,
    "neocpu": neocpu,
}
"""All that can be asked for."""
