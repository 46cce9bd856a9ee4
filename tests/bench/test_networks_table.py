"""What is said below the table of networks on the functional simulator."""

from __future__ import annotations

from bench.networks import differences


def row(network: str, power_of_two: str, free: str, inexact: str) -> dict[str, str]:
    cells = {"power of two: differ": power_of_two, "free scales: differ": free, "inexact operations": inexact}
    return {"network": network, **cells}


def said(*rows: dict[str, str]) -> str:
    return differences(rows).replace("\n", " ")


def test_networks_that_do_not_differ_are_counted_and_those_that_came_quantised_have_no_free_scales() -> None:
    found = said(row("a", "0", "0", "0"), row("b", "0", "-", "-"))
    assert found == "No element differs in 2 of 2 networks with power-of-two scales, and in 1 of 1 with free scales."


def test_a_network_that_differs_has_inexact_operations() -> None:
    found = said(row("a", "0", "0", "2"), row("b", "0", "7", "1"))
    assert "in 1 of 2 with free scales." in found
    assert found.endswith("With these b (7 elements) differ, of which the compiler tells inexact operations.")


def test_else_it_is_a_fault() -> None:
    assert said(row("a", "3", "0", "0"), row("b", "0", "7", "0")).endswith("That a and b differ is a fault.")
