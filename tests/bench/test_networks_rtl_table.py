"""What is said below the table of networks on the RTL."""

from __future__ import annotations

from bench.networks_rtl import summary


def row(network: str, groups: str, cycles: int, off: str, read: str, differ: str = "0") -> dict[str, str]:
    return {
        "network": network, "configuration": "base", "groups": groups, "bytes that differ": differ, "cycles": str(cycles),
        "model off by": off, "DRAM MB read": read, "written": "1.000",
    }  # fmt: skip


def said(*rows: dict[str, str]) -> str:
    return summary(rows).replace("\n", " ")


def test_short_programs_have_a_worst_error_of_their_own() -> None:
    long = row("a", "best", 100_000, "+0.20 %", "1"), row("b", "best", 200_000, "-0.50 %", "1")
    found = said(*long, row("c", "best", 99_999, "-3.00 %", "1"))
    assert "In those of 100,000 cycles and more the cycle model is off by at most 0.50 % (b on `base`)." in found
    assert "In those of fewer the cycle model is off by at most 3.00 % (c on `base`)." in found


def test_bytes_are_compared_where_both_programs_ran() -> None:
    both = row("a", "best", 1, "+0 %", "1.000"), row("a", "naive", 1, "+0 %", "3.000")
    found = said(*both, row("b", "best", 1, "+0 %", "1.000"))
    assert "moves 50 % (a on `base`) to 50 % (a on `base`)" in found


def test_a_program_with_a_wrong_byte_is_named() -> None:
    assert said(row("a", "best", 1, "+0 %", "1"), row("b", "best", 1, "+0 %", "1", differ="3")).startswith(
        "Programs of which a byte differs, of 2: b on `base`."
    )
