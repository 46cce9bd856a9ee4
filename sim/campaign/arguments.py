"""The options of a campaign for scripts. Those of commands are in ``tilewright.options``."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim.campaign.cores import all_cores
from sim.campaign.run import How


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=int, default=all_cores(), help="processes that share the work; else all cores")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers share the work")
    parser.add_argument("--record", type=Path, help="file for results as they come")
    parser.add_argument("--resume", action="store_true", help="take what the record holds, and go on with the rest")


def how_of(chosen: argparse.Namespace) -> How:
    return How(max(1, chosen.workers), chosen.scheduler, chosen.record, chosen.resume)
