"""What an integrator does with the files: two machines in one design, macros for memories, lint."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from hw.delivery.files import arrange
from hw.delivery.modules import split_modules
from hw.delivery.style import Style, StyleError
from hw.delivery.waivers import WAIVERS
from isa.config import preset
from sim.rtl.build import core_verilog
from sim.rtl.verilator import lint_command
from tests.tools import needs

NANO = preset("nano")
WIDE = replace(NANO, name="wide", ic_p=3, oc_p=8, px_p=2, conv_finish=8, fm_banks=8, chip="")
ALPHA = Style("alpha")
BETA = Style("beta", active_low=True, initial=False, split_memories=True)
TOLERANT = '`verilator_config\nlint_off -file "*pair.sv"\n'
MEMORIES = ["beta.sv", "beta_memories.sv"]


@pytest.fixture(scope="module")
def alpha() -> dict[str, str]:
    return arrange(core_verilog(WIDE), WIDE, ALPHA)


@pytest.fixture(scope="module")
def beta() -> dict[str, str]:
    return arrange(core_verilog(NANO), NANO, BETA)


def names(text: str) -> set[str]:
    return set(re.findall(r"^module (\S+) \($", text, re.MULTILINE))


def written(folder: Path, *deliveries: dict[str, str]) -> Path:
    for files in deliveries:
        for name, text in files.items():
            (folder / name).write_text(text)
    return folder


def verilator(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command, environment = lint_command()
    return subprocess.run([*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_files_and_their_names(alpha: dict[str, str], beta: dict[str, str]) -> None:
    assert list(alpha) == ["alpha.v", "alpha_template.vh", "alpha.vlt", "alpha.sdc", "alpha.core"]
    assert list(beta) == [*MEMORIES, "beta_template.vh", "beta.vlt", "beta.lpf", "beta.core"]


def test_every_module_name_begins_with_that_of_the_outermost(alpha: dict[str, str], beta: dict[str, str]) -> None:
    for files, top, sources in ((alpha, "alpha", ["alpha.v"]), (beta, "beta", MEMORIES)):
        found = set().union(*(names(files[source]) for source in sources))
        assert top in found
        assert len(found) > 100
        assert all(name == top or name.startswith(f"{top}_") for name in found)
        assert "tilewright_core" not in "".join(files.values())


def test_memories_apart_are_all_the_memories(beta: dict[str, str]) -> None:
    assert all(re.match(r"beta_memory_\d+x\d+", name) for name in names(beta["beta_memories.sv"]))
    assert not any("memory_" in name for name in names(beta["beta.sv"]))
    assert re.search(r"\bwords \[", beta["beta.sv"]) is None, "the array of a memory"


def test_without_initial_values_there_are_none(beta: dict[str, str]) -> None:
    forbidden = re.compile(r"\b(initial|kickstart|init)\b|always @\*|^ *(output )?reg [^;(]* = ", re.MULTILINE)
    for source in MEMORIES:
        assert forbidden.search(beta[source]) is None


def test_ports_tell_their_bus_and_come_channel_by_channel(alpha: dict[str, str], beta: dict[str, str]) -> None:
    _, modules = split_modules(core_verilog(WIDE))
    emitted = {port.name: port.range for module in modules if module.name == "tilewright_core" for port in module.ports}
    header = alpha["alpha.v"][: alpha["alpha.v"].index(");\n")]
    ports = re.findall(r"^  (?:input |output) wire (?:(\[\d+:0\]) )?(\w+),?$", header, re.MULTILINE)
    assert {name: extent for extent, name in ports} == emitted
    order = [name for _, name in ports]
    assert order[:5] == ["clk", "rst", "irq", "s_axil_awaddr", "s_axil_awprot"]
    channels = [re.sub(r"(_a?[wrb]).*", r"\1", name) for name in order if name.startswith("m_axi")]
    assert [*dict.fromkeys(channels)] == ["m_axi_aw", "m_axi_w", "m_axi_b", "m_axi_ar", "m_axi_r"]
    assert channels == sorted(channels, key=[*dict.fromkeys(channels)].index)
    assert '"xilinx.com:interface:aximm:1.0 m_axi AWADDR" *)\n  output wire [31:0] m_axi_awaddr,' in header
    assert 'ASSOCIATED_BUSIF m_axi:s_axil, ASSOCIATED_RESET rst" *)\n  input  wire clk,' in header
    assert 'POLARITY ACTIVE_LOW" *)\n  input  wire aresetn,\n' in beta["beta.sv"]


def pair(*templates: str) -> dict[str, str]:
    """A design of several machines, each from its template in a module with the wires that its comments ask for."""
    boards = []
    for number, template in enumerate(templates):
        wires = re.findall(r"^  \.\w+ +\((\w+)\),? +// \w+ ?(.*)$", template, re.MULTILINE)
        declared = "".join(f"  wire {extent} {name};\n" for name, extent in wires)
        boards.append(f"module board_{number} ();\n{declared}{template}endmodule\n")
    instances = "".join(f"  board_{number} machine_{number} ();\n" for number in range(len(templates)))
    return {"pair.sv": f"{''.join(boards)}module pair ();\n{instances}endmodule\n", "pair.vlt": TOLERANT}


def test_two_machines_fit_in_one_design(alpha: dict[str, str], beta: dict[str, str], tmp_path: Path) -> None:
    """And raise no warning that is not waived, each in its own files."""
    written(tmp_path, alpha, beta, pair(alpha["alpha_template.vh"], beta["beta_template.vh"]))
    waivers = ["pair.vlt", "alpha.vlt", "beta.vlt"]
    result = verilator(tmp_path, "-Wall", "--top-module", "pair", *waivers, "pair.sv", "alpha.v", *MEMORIES)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@needs("iverilog")
def test_two_machines_in_icarus(alpha: dict[str, str], beta: dict[str, str], tmp_path: Path) -> None:
    written(tmp_path, alpha, beta, pair(alpha["alpha_template.vh"], beta["beta_template.vh"]))
    command = ["iverilog", "-g2012", "-s", "pair", "-o", "pair", "pair.sv", "alpha.v", *MEMORIES]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@needs("iverilog")
def test_the_memories_left_out_are_what_is_missing(beta: dict[str, str], tmp_path: Path) -> None:
    written(tmp_path, beta)
    command = ["iverilog", "-g2012", "-s", "beta", "-o", "beta", "beta.sv"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    missing = re.findall(r"^ +(\w+) referenced", result.stderr, re.MULTILINE)
    assert {*missing} == names(beta["beta_memories.sv"])


def test_every_waiver_is_needed(alpha: dict[str, str], tmp_path: Path) -> None:
    result = verilator(written(tmp_path, alpha), "-Wall", "--top-module", "alpha", "alpha.v")
    assert set(re.findall(r"^%Warning-(\w+)", result.stderr, re.MULTILINE)) == set(WAIVERS)


@pytest.mark.parametrize("name", ["", "2nd", "a-b", "a.b", "module", "always_comb", "größe", "a b"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(StyleError, match="not a name in Verilog; use letters") as caught:
        Style(name)
    assert repr(name) in str(caught.value)


def test_what_is_delivered_is_what_is_simulated_but_for_names_and_ports() -> None:
    emitted, delivered = core_verilog(NANO), arrange(core_verilog(NANO), NANO, Style())["tilewright_core.v"]

    def statements(verilog: str) -> list[str]:
        lines = verilog.replace("tilewright_core_memory_", "memory_").splitlines()
        return [line for line in lines if re.match(r" +(assign|always|if|else|end$|casez|\.|words| +\S+ <= )", line)]

    assert len(statements(emitted)) > 10_000
    assert statements(delivered) == statements(emitted)
