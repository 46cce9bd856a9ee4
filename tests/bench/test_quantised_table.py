"""The sentence below the table of quantised networks."""

from __future__ import annotations

from bench.quantised import told


def row(network: str, differ: int) -> dict[str, str]:
    return {"network": network, "differ": str(differ)}


def test_it_counts_rows_and_names_who_differs() -> None:
    assert told([row("a", 0), row("a", 0)]) == "No element differs in 2 of 2 rows, of 1 networks."
    text = told([row("a", 0), row("b", 3), row("b", 0), row("b --exact", 0), row("c", 1)])
    assert text == (
        "No element differs in 3 of 5 rows, of 3 networks. Those of b and c do, which have operations with inexact cases. "
        "With these on the CPU (`--exact`) no element of b differs."
    )
