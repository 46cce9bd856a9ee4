"""Tcl for Vivado. One script packages the machine for its catalogue of IP, the other makes a design around it. For a machine
with ``array_clock`` 2, constraints make its two clocks arrive together.

The names and kinds of the machine's interfaces come from the ports of the emitted machine. The scripts follow UG835, UG1118 and
UG994. The suite runs them in a Tcl interpreter whose Vivado commands only record their calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hw.delivery.boards import Board
from hw.delivery.ipxact import LIBRARY, VENDOR, buses
from hw.delivery.modules import VerilogModule
from hw.delivery.style import Style
from hw.delivery.top import register_bytes
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.version import HARDWARE_VERSION, ISA_VERSION

PACKAGE_FILE, DESIGN_FILE, CLOCKS_FILE = "package.tcl", "block_design.tcl", "clocks.xdc"


@dataclass(frozen=True)
class ProcessingSystem:
    """The processor of a family of chips, as block designs make it."""

    cell: str
    """The name of its block. The automation rule of the same name configures it, with ``rule``."""
    rule: str
    settings: str
    """The settings for the interrupt, the clock and the port to registers that the machine needs."""
    port_settings: tuple[str, ...]
    """The settings for each of the memory ports that it may have."""
    clock: str
    reset: str
    registers: str
    """The port from which registers are reached, at address ``at``."""
    at: int
    memory: tuple[str, ...]
    port_bits: int
    """The greatest width of a port to DRAM."""
    interrupt: str
    clocked: tuple[str, ...]
    """The clock inputs of the port to registers and of each port to memory."""


SYSTEMS = {
    "xcup": ProcessingSystem(
        "zynq_ultra_ps_e", "apply_board_preset 1",
        """\
    CONFIG.PSU__USE__M_AXI_GP0 1
    CONFIG.PSU__USE__M_AXI_GP1 0
    CONFIG.PSU__USE__M_AXI_GP2 0
    CONFIG.PSU__USE__IRQ0 1
    CONFIG.PSU__FPGA_PL0_ENABLE 1""",
        tuple(f"    CONFIG.PSU__USE__S_AXI_GP{n} 1\n    CONFIG.PSU__SAXIGP{n}__DATA_WIDTH @port_bits@" for n in range(2, 6)),
        "pl_clk0", "pl_resetn0", "M_AXI_HPM0_FPD", 0xA000_0000, tuple(f"S_AXI_HP{n}_FPD" for n in range(4)), 128, "pl_ps_irq0",
        ("ps/maxihpm0_fpd_aclk", *(f"ps/saxihp{n}_fpd_aclk" for n in range(4))),
    ),
    "xc7": ProcessingSystem(
        "processing_system7", "make_external {FIXED_IO, DDR} apply_board_preset 1",
        """\
    CONFIG.PCW_USE_M_AXI_GP0 1
    CONFIG.PCW_USE_FABRIC_INTERRUPT 1
    CONFIG.PCW_IRQ_F2P_INTR 1
    CONFIG.PCW_EN_CLK0_PORT 1
    CONFIG.PCW_EN_RST0_PORT 1""",
        tuple(f"    CONFIG.PCW_USE_S_AXI_HP{n} 1\n    CONFIG.PCW_S_AXI_HP{n}_DATA_WIDTH @port_bits@" for n in range(4)),
        "FCLK_CLK0", "FCLK_RESET0_N", "M_AXI_GP0", 0x43C0_0000, tuple(f"S_AXI_HP{n}" for n in range(4)), 64, "IRQ_F2P",
        ("ps/M_AXI_GP0_ACLK", *(f"ps/S_AXI_HP{n}_ACLK" for n in range(4))),
    ),
}  # fmt: skip
"""The processing system of each family of chips."""


def scripts(
    top: VerilogModule, config: MachineConfig, style: Style, sources: list[str], boards: Sequence[Board]
) -> dict[str, str]:
    """The text of both scripts by name, and that of the constraints if there are any, for the machine with this outermost
    module. All ``boards`` are of one family."""
    system = SYSTEMS[boards[0].family]
    kinds: dict[str, list[str]] = {}
    for name, bus in buses(top).items():
        kinds.setdefault(bus.type[2], []).append(name)
    clock, *doubled = kinds["clock"]
    memory = [name for name in kinds["aximm"] if name.startswith("m_")]
    if len(memory) > len(system.memory):
        raise TilewrightError(
            f"board {boards[0].name}: {len(memory)} ports to memory (cores times axi_ports), and its processing system has "
            f"{len(system.memory)}; ask for {len(system.memory) // config.axi_ports} cores"
        )
    cells = [f"memory{number or ''}" for number in range(len(memory))]
    ports = system.memory[: len(memory)]
    settings = "\n".join((system.settings, *system.port_settings[: len(memory)]))
    constraints = {CLOCKS_FILE: _CLOCKS} if doubled and boards[0].family == "xcup" else {}
    facts = {
        "name": config.name, "hash": f"{config.hash:#010x}", "top": style.top, "vendor": VENDOR, "library": LIBRARY,
        "version": f"{ISA_VERSION}.{HARDWARE_VERSION}", "sources": " ".join(sources), "mhz": config.clock_mhz,
        "clock": clock, "doubled": " ".join(doubled), "constraints": " ".join(constraints),
        "reset": kinds["reset"][0], "interrupt": kinds["interrupt"][0],
        "memory": " ".join(memory),
        "ways": "\n".join(f"    {cell} core/{bus} ps/{port}" for cell, bus, port in zip(cells, memory, ports, strict=True)),
        "aclks": " ".join(f"{cell}/aclk" for cell in cells), "aresets": " ".join(f"{cell}/aresetn" for cell in cells),
        "registers": next(name for name in kinds["aximm"] if name.startswith("s_")),
        "cell": system.cell, "rule": system.rule, "settings": settings, "ps_clock": system.clock,
        "ps_reset": system.reset, "ps_registers": system.registers,
        "ps_interrupt": system.interrupt, "clocked": " ".join(system.clocked[: 1 + len(memory)]), "at": f"{system.at:#x}",
        "range": f"{register_bytes(top) // 1024}K",
        "port_bits": min(config.axi_port_bits, system.port_bits), "part": boards[0].part,
        "boards": "\n".join(f"    {board.name:8} {{{board.part} {board.board}}}" for board in boards),
        "default": boards[0].name,
    }  # fmt: skip
    texts = {PACKAGE_FILE: _PACKAGE, DESIGN_FILE: _DESIGN, **constraints}
    return {name: _filled(text, facts) for name, text in texts.items()}


def _filled(text: str, facts: dict[str, object]) -> str:
    """The text with each ``@fact@`` replaced. Tcl has braces of its own, so ``str.format`` would not do."""
    for fact, value in facts.items():
        text = text.replace(f"@{fact}@", str(value))
    return text


_PACKAGE = """\
# Puts Tilewright's machine "@name@" (@hash@) into a catalogue of IP, in the folder ip beside this file:
#   vivado -mode batch -source package.tcl -tclargs ?part?
# Interfaces are inferred from the attributes of the ports.
set here [file dirname [file normalize [info script]]]
set part [expr {$argc > 0 ? [lindex $argv 0] : {@part@}}]
create_project -in_memory -part $part
foreach source {@sources@} {
    add_files -norecurse [file join $here $source]
}
set_property top @top@ [current_fileset]
ipx::package_project -root_dir [file join $here ip] -vendor @vendor@ -library @library@ -taxonomy /UserIP -import_files -force
set core [ipx::current_core]
set_property name @top@ $core
set_property version @version@ $core
set_property display_name {Tilewright @name@} $core
set_property description {CNN accelerator, configuration @hash@} $core
foreach bus {@memory@ @registers@} {
    ipx::associate_bus_interfaces -busif $bus -clock @clock@ $core
}
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
close_project
"""

_DESIGN = """\
# Makes a design around Tilewright's machine "@name@" (@hash@): processing system, interconnect, clocks, interrupt.
#   vivado -mode batch -source package.tcl
#   vivado -mode batch -source block_design.tcl -tclargs ?board? ?bitstream?
# With "bitstream" it is implemented, and the bitstream written with its hardware description (.xsa).
set here [file dirname [file normalize [info script]]]
set boards {
@boards@
}
set name [expr {$argc > 0 ? [lindex $argv 0] : {@default@}}]
if {![dict exists $boards $name]} {
    error "board $name: expected one of [dict keys $boards]"
}
lassign [dict get $boards $name] part pattern
create_project -force tilewright_$name [file join $here $name] -part $part
set board [lindex [get_board_parts -quiet -latest_file_version $pattern] 0]
if {$board eq {}} {
    error "board $name: Vivado has no board files $pattern; install them with xhub or Tools > Download Latest Boards"
}
set_property board_part $board [current_project]
set_property ip_repo_paths [file join $here ip] [current_project]
update_ip_catalog

create_bd_design system
set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:@cell@ ps]
apply_bd_automation -rule xilinx.com:bd_rule:@cell@ -config {@rule@} $ps
set_property -dict {
@settings@
} $ps
set core [create_bd_cell -type ip -vlnv @vendor@:@library@:@top@ core]

# One clock for all; what the machine has beyond it runs twice as fast, from the same MMCM, its edges on those of the first.
set clocks [create_bd_cell -type ip -vlnv xilinx.com:ip:clk_wiz clocks]
set_property -dict {
    CONFIG.CLKOUT1_REQUESTED_OUT_FREQ @mhz@
    CONFIG.RESET_TYPE ACTIVE_LOW
    CONFIG.RESET_PORT resetn
    CONFIG.USE_LOCKED true
} $clocks
foreach doubled {@doubled@} {
    set_property -dict [list CONFIG.CLKOUT2_USED true CONFIG.CLKOUT2_REQUESTED_OUT_FREQ [expr {2 * @mhz@}]] $clocks
    connect_bd_net [get_bd_pins clocks/clk_out2] [get_bd_pins core/$doubled]
}
connect_bd_net [get_bd_pins ps/@ps_clock@] [get_bd_pins clocks/clk_in1]
connect_bd_net [get_bd_pins ps/@ps_reset@] [get_bd_pins clocks/resetn]
set resets [create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset resets]
connect_bd_net [get_bd_pins ps/@ps_reset@] [get_bd_pins resets/ext_reset_in]
connect_bd_net [get_bd_pins clocks/locked] [get_bd_pins resets/dcm_locked]

# Registers from the processor, memory for the machine.
foreach {cell from to} {
    control ps/@ps_registers@ core/@registers@
@ways@
} {
    set interconnect [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect $cell]
    set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 1} $interconnect
    connect_bd_intf_net [get_bd_intf_pins $from] [get_bd_intf_pins $cell/S00_AXI]
    connect_bd_intf_net [get_bd_intf_pins $cell/M00_AXI] [get_bd_intf_pins $to]
}
connect_bd_net [get_bd_pins clocks/clk_out1] [get_bd_pins {
    core/@clock@ control/aclk @aclks@ resets/slowest_sync_clk @clocked@
}]
connect_bd_net [get_bd_pins resets/peripheral_aresetn] [get_bd_pins {core/@reset@ control/aresetn @aresets@}]
connect_bd_net [get_bd_pins core/@interrupt@] [get_bd_pins ps/@ps_interrupt@]

set space [get_bd_addr_spaces ps/Data]
assign_bd_address -offset @at@ -range @range@ -target_address_space $space [get_bd_addr_segs core/@registers@/*]
assign_bd_address
validate_bd_design
save_bd_design
set top [make_wrapper -files [get_files system.bd] -top]
add_files -norecurse $top
foreach constraints {@constraints@} {
    add_files -fileset constrs_1 -norecurse [file join $here $constraints]
    set_property USED_IN {implementation} [get_files $constraints]
}
set_property top system_wrapper [current_fileset]
if {$argc > 1 && [lindex $argv 1] eq {bitstream}} {
    launch_runs impl_1 -to_step write_bitstream
    wait_on_run impl_1
    write_hw_platform -fixed -include_bit -force -file [file join $here tilewright_$name.xsa]
}
"""

_CLOCKS = """\
# Both clocks reach the registers of Tilewright's machine "@name@" (@hash@) together: their buffers, behind one MMCM, get one
# root and one delay. Paths between the two have a cycle of the faster clock.
set_property CLOCK_DELAY_GROUP tilewright [get_nets -of_objects \
    [get_pins -hierarchical -filter {NAME =~ */clocks/inst/clkout?_buf/O}]]
"""
