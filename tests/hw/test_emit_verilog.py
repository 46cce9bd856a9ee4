"""The emitted Verilog: same bytes, plain names, and three tools that read it."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest

from hw.delivery.style import MODULE
from hw.delivery.uninitialised import without_initial_values
from hw.delivery.waivers import waiver_file
from hw.emit import MACHINE, EmitError, _repeated, _share_modules, verilog
from isa.config import preset
from isa.stages import RESET
from sim.rtl.build import core_verilog
from sim.rtl.verilator import lint_command
from sim.synthesis.tools import find_tool
from tests.tools import needs

NANO = preset("nano")
ODD = dataclasses.replace(
    NANO, name="odd", ic_p=6, oc_p=4, px_p=3, conv_finish=2, pool_finish=3, fm_banks=8, fm_depth=16, axi_data_bits=32,
    axi_addr_bits=33, build_pool=False, build_misc=False,
)  # fmt: skip
"""Lanes that fit nothing, without the units that can be left out."""


@pytest.fixture(scope="module")
def nano() -> str:
    return core_verilog(NANO)


@pytest.fixture(scope="module")
def odd() -> str:
    return core_verilog(ODD)


@pytest.fixture(scope="module")
def three() -> str:
    """Machines on one chip; no power of two, so that there are addresses beyond the last."""
    return core_verilog(NANO, cores=3)


def ports(text: str) -> set[str]:
    header = re.search(rf"^module {MODULE}\((.*?)\);", text, re.DOTALL | re.MULTILINE)
    assert header is not None
    return set(re.split(r"[\s,]+", header[1]))


def test_a_yosys_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hw.emit.rtlil.convert_fragment", lambda *_, **__: ("no netlist\n", {}))
    with pytest.raises(EmitError, match=r"^yosys, which writes the Verilog, failed: .*; is there memory and disk enough\?$"):
        verilog(NANO)


def test_no_trace_of_where_it_was_made(nano: str) -> None:
    for word in (".py", "(* src", "verilog_backend", "Yosys", str(Path.cwd())):
        assert word not in nano


def test_ports_have_the_names_of_the_buses(nano: str, odd: str) -> None:
    expected = {"clk", "rst", "irq", "m_axi_awaddr", "m_axi_rready", "s_axil_awaddr", "s_axil_rdata", "trace_conv_start_pc"}
    assert expected <= ports(nano)
    assert all(re.match(r"clk$|rst$|irq$|m_axi_|s_axil_|trace_(load|save|conv|pool|misc)_", port) for port in ports(nano))
    assert ports(nano) - ports(odd) == {port for port in ports(nano) if re.match("trace_(pool|misc)_", port)}


def test_parts_that_differ_in_name_alone_are_written_once(nano: str) -> None:
    assert len(re.findall(r"^module \S*feature_map_bank", nano, re.MULTILINE)) == 1
    assert len(re.findall(r"^  \S*feature_map_bank\S* bank\d+ \(", nano, re.MULTILINE)) == NANO.fm_banks


def test_sharing_goes_up_from_the_leaves() -> None:
    def module(name: str, body: str) -> str:
        return f"module \\{MODULE}.{name} (a);\n{body}endmodule\n"

    text = "\n".join((
        f"module {MODULE}(a);\n  \\{MODULE}.x  x (\n  );\n  \\{MODULE}.y  y (\n  );\n  \\{MODULE}.z  z (\n  );\nendmodule\n",
        module("x", f"  \\{MODULE}.x.leaf  leaf (\n  );\n"),
        module("x.leaf", "  assign a = 1;\n"),
        module("y", f"  \\{MODULE}.y.leaf  leaf (\n  );\n"),
        module("y.leaf", "  assign a = 1;\n"),
        module("z", f"  \\{MODULE}.z.leaf  leaf (\n  );\n"),
        module("z.leaf", "  assign a = 0;\n"),
    ))
    shared = _share_modules(text)
    names = [f"{MODULE}_{part}" for part in ("x", "x_leaf", "z", "z_leaf")]
    assert re.findall(r"^module (\S+?) ?\(", shared, re.MULTILINE) == [MODULE, *names]
    assert re.findall(rf"^  ({MODULE}\S+) (\w+) \(", shared, re.MULTILINE) == [
        (names[0], "x"), (names[0], "y"), (names[2], "z"), (names[1], "leaf"), (names[3], "leaf"),
    ]  # fmt: skip


def check(command: list[str], text: str, folder: Path, environment: dict[str, str] | None = None) -> None:
    (folder / "machine.v").write_text(text)
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_every_combinational_block_wakes_at_time_0(nano: str, odd: str) -> None:
    """Icarus leaves X in what a sleeping one assigns: ``last`` of POOL's windows, and the machine waits for ever."""
    for text in (nano, odd):
        blocks = re.findall(r"^ *always @\*.*\n.*", text, re.MULTILINE)
        assert blocks
        assert all(block.split("\n")[1].strip() == "if (kickstart) begin end" for block in blocks)


@needs("iverilog")
@pytest.mark.parametrize("language", ["-g2005", "-g2012", "-g2012 without initial values"])
def test_no_combinational_block_sleeps_from_the_start(language: str, nano: str, tmp_path: Path) -> None:
    """An ``always @*`` of which no input ever changes has run once all the same: the packer of a machine at rest.

    Without initial values there is ``always_comb``, and a reset to put the machine to rest.
    """
    language, _, initial = language.partition(" ")
    clock, stimulus = "1'b0", ""
    if initial:
        nano = without_initial_values(nano)
        clock, stimulus = "clk", f"reg clk = 0; initial repeat ({RESET}) begin #1 clk = 1; #1 clk = 0; end "
    probe = (
        f"module probe; {stimulus}{MODULE}_load_packer dut (.clk({clock}), .reset_root(1'b{int(bool(initial))}), "
        ".words__valid(1'b0), .chunks__valid(1'b0));\n"
        'initial #9 if (dut.segments.drop === 1\'bx) $display("asleep"); endmodule\n'
    )
    (tmp_path / "probe.v").write_text(f"{nano}\n{probe}")
    subprocess.run(["iverilog", language, "-s", "probe", "-o", "probe", "probe.v"], cwd=tmp_path, check=True)
    assert subprocess.run(["vvp", "-n", "probe"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout == ""


@needs("iverilog")
@pytest.mark.parametrize("which", ["nano", "odd", "three"])
def test_icarus_reads_it(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    check(["iverilog", "-g2005", "-Wall", "-s", MODULE, "-o", "machine", "machine.v"], request.getfixturevalue(which), tmp_path)


@pytest.mark.parametrize("which", ["nano", "odd", "three"])
def test_yosys_reads_it(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    script = f"read_verilog machine.v; hierarchy -check -top {MODULE}; proc; check -assert"
    (tmp_path / "machine.v").write_text(request.getfixturevalue(which))
    assert find_tool("yosys").run(["-q", "-p", script], tmp_path) == ""


@pytest.mark.parametrize("which", ["odd", "three"])
def test_verilator_has_nothing_to_say_that_is_not_waived(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:  # fmt: skip
    command, environment = lint_command()
    (tmp_path / "machine.vlt").write_text(waiver_file(["machine.v"]))
    text = request.getfixturevalue(which)
    check([*command, "-Wall", "--top-module", MODULE, "machine.vlt", "machine.v"], text, tmp_path, environment)


@pytest.mark.parametrize(
    ("written", "repeated"),
    [
        ("{ a[3], a[3], a[3], a }", "{ {3{a[3]}}, a }"),
        ("{ 1'h0, \\$2 , \\$2 , \\$2 , \\$2 , b[6:0] }", "{ 1'h0, {4{\\$2 }}, b[6:0] }"),
        ("{ a[3], a[3], a }", "{ a[3], a[3], a }"),
        ("{ a[3], a[2], a[1] }", "{ a[3], a[2], a[1] }"),
        ("{ a, a[1], a[1], a[12] }", "{ a, a[1], a[1], a[12] }"),
        ("{ c, c, c, cc }", "{ {3{c}}, cc }"),
        ("{ bb, b, b, b }", "{ bb, {3{b}} }"),
    ],
)
def test_repeated_bits_are_written_as_such(written: str, repeated: str) -> None:
    assert _repeated(f"  assign o = {written};") == f"  assign o = {repeated};"


def test_a_machine_among_several_is_the_machine_alone(nano: str, three: str) -> None:
    """But for the names of modules, and blanks that put names below each other."""
    assert re.match(r"// Tilewright machine 'nano': 3 x 4 x 4 x 1 array", three)
    alone = {" ".join(text.split()) for text in re.split("^(?=module )", nano, flags=re.MULTILINE)[1:]}
    renamed = three.replace(MACHINE, MODULE)
    parts = {" ".join(text.split()) for text in re.split("^(?=module )", renamed, flags=re.MULTILINE)[1:]}
    assert alone <= parts
    assert len(parts - alone) == 3, "the outermost module, the decoder, and whoever answers beyond the last machine"
    assert len(re.findall(rf"^  {MACHINE} core\d ", three, re.MULTILINE)) == 3


def test_several_machines_have_ports_of_their_own() -> None:
    found = ports(core_verilog(NANO, cores=2))
    assert {"clk", "rst", "irq", "m_axi0_araddr", "m_axi1_wdata", "s_axil_awaddr"} <= found
    assert not any(re.match(r"m_axi_|m_axi[2-9]|trace_", port) for port in found)
