"""The Verilog cut into modules."""

from __future__ import annotations

from collections import Counter

import pytest

from sim.synthesis.design import split_design
from sim.synthesis.tools import SynthesisError
from tests.sim.synthesis.designs import LEAF, TOP, VERILOG

DESIGN = split_design(VERILOG)


def test_modules_and_their_instances() -> None:
    assert DESIGN.top == "top"
    assert {name: module.instances for name, module in DESIGN.modules.items()} == {
        "top": {"first": "leaf", "second.leaf": "leaf", "odd$1": "odd$1"},
        "leaf": {},
        "odd$1": {},
    }
    assert DESIGN.modules["top"].text == TOP


def test_a_stub_is_the_ports_alone() -> None:
    assert DESIGN.modules["leaf"].stub.splitlines() == [
        "(* blackbox *)",
        *LEAF.splitlines()[:2],
        *(f"  input {port};" for port in ("[7:0] b", "clk", "rst")),
        "  output [7:0] q;",
        "endmodule",
    ]


def test_a_stub_of_ports_declared_in_the_header() -> None:
    head = "module leaf (\n  input wire clk,\n  output reg q\n);\n"
    stub = split_design(f"{head}  always @(posedge clk) q <= ~q;\nendmodule\n").modules["leaf"].stub
    assert stub == f"(* blackbox *)\n{head}endmodule\n"


def test_counts_are_products_along_the_paths() -> None:
    text = VERILOG + "\nmodule two(a);\n" + "".join(f"  top t{i} (\n  );\n" for i in range(2)) + "endmodule\n"
    assert split_design(text).counts("two") == Counter({"two": 1, "top": 2, "leaf": 4, "odd$1": 2})


def test_a_text_without_modules_is_refused() -> None:
    with pytest.raises(SynthesisError, match="expected modules, found none"):
        split_design("// nothing\n")
