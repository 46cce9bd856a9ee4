"""The tables of a paper beside ours: ``python -m bench.papers PAPER [network ...]``.

PAPER is dnnvm, optimus, neocpu, memory_scheduling or deep_fusion. Everything of ours is measured now; without networks, of
those that take seconds. What of the paper is in which file stands in ``compiler/papers/<paper>/README.md``.
"""

from __future__ import annotations

import sys

from bench.command import command
from bench.papers import deep_fusion, dnnvm, memory_scheduling, neocpu, optimus
from compiler.zoo.networks import networks

PAPERS = {
    "dnnvm": dnnvm, "optimus": optimus, "neocpu": neocpu, "memory_scheduling": memory_scheduling, "deep_fusion": deep_fusion,
}  # fmt: skip


def main(arguments: list[str]) -> None:
    parser = command("papers", __doc__)
    parser.add_argument("paper", choices=PAPERS)
    parser.add_argument("networks", nargs="*", metavar="network", choices=[[], *networks()])
    asked = parser.parse_args(arguments)
    for table in PAPERS[asked.paper].tables(asked.networks or PAPERS[asked.paper].NETWORKS):
        for line in table.lines():
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
