"""All sentences that scripts draw from tables, made again out of the tables as they are: ``python -m bench.sentences``.

For what one table says of another's rows; a script that measures makes those of its own table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from bench import (
    architectures,
    bounds,
    chosen_groups,
    compared,
    compile_times,
    deep_fusion,
    latency,
    least_cycles,
    like_for_like,
    networks,
    networks_rtl,
    plan_error,
    resources,
    scheme_limits,
    schemes,
    since_first,
)
from bench.command import command
from bench.network_table import COMPILATION, CYCLES, DRAM, HARDWARE, MODEL, PAGE, PAPERS, put_text, text_of

SENTENCES: dict[tuple[Path, str], Callable[[], str]] = {
    (PAGE, networks.TITLE): networks.told,
    (PAGE, networks_rtl.TITLE): networks_rtl.told,
    (CYCLES, compared.CYCLES): compared.cycles_told,
    (CYCLES, since_first.TITLE): since_first.told,
    (DRAM, compared.DRAM): compared.dram_told,
    (PAPERS, like_for_like.TITLE): like_for_like.sentences,
    (PAPERS, architectures.TITLE): architectures.told,
    (PAPERS, deep_fusion.TITLE): deep_fusion.told,
    (DRAM, bounds.TITLE): bounds.told,
    (PAPERS, schemes.TITLE): schemes.order_told,
    (PAPERS, schemes.FLOW): schemes.flow_told,
    (PAPERS, scheme_limits.TITLE): scheme_limits.told,
    (DRAM, compared.SEARCH_TIME): compared.search_told,
    (COMPILATION, compile_times.TITLE): compile_times.told,
    (CYCLES, chosen_groups.TITLE): chosen_groups.told,
    (CYCLES, chosen_groups.MODEL): chosen_groups.model_told,
    (CYCLES, least_cycles.TITLE): least_cycles.text,
    (HARDWARE, latency.TITLE): latency.told,
    (MODEL, plan_error.TITLE): plan_error.told,
    (HARDWARE, resources.TITLE): resources.text,
}
"""The function that makes the sentences below each table, by page and heading."""


def main(arguments: list[str]) -> None:
    command("sentences", __doc__).parse_args(arguments)
    for (page, title), told in SENTENCES.items():
        text = told()
        if text != text_of(title, page):
            put_text(title, text, page)
            print(f"## {title}\n{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
