"""What is said below the table of networks on the functional simulator."""

from __future__ import annotations

from bench.networks import differences


def row(network: str, power_of_two: str, free: str, inexact: str) -> dict[str, str]:
    cells = {"power of two: differ": power_of_two, "free scales: differ": free, "inexact operations": inexact}
    return {"network": network, **cells}


def said(*rows: dict[str, str]) -> str:
    return differences(rows).replace("\n", " ")


def test_networks_that_do_not_differ_are_counted_and_those_that_came_quantised_have_their_own_scales() -> None:
    found = said(row("a", "0", "0", "0"), row("b", "-", "0", "-"))
    expected = "2 of 2 networks with free scales, or with those that they came with, and in 1 of 1 with power-of-two scales."
    assert found == f"No element differs in {expected}"


def test_a_network_that_differs_has_inexact_operations() -> None:
    found = said(row("a", "0", "0", "2"), row("b", "0", "7", "1"))
    assert "in 1 of 2 networks with free scales," in found
    assert found.endswith("With these b (7 elements) differ, of which the compiler tells inexact operations.")


def test_else_it_is_a_fault() -> None:
    assert said(row("a", "3", "0", "0"), row("b", "0", "7", "0")).endswith("That a and b differ is a fault.")
