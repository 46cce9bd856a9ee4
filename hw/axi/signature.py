"""The AXI wires of the machine, and the streams between the bus and the units that use it.

Outside, the wires have the standard AXI names. Inside there is one stream for each channel, with only what varies. Every burst
is INCR, of whole beats, and the manager's port (``hw.axi.port``) adds ids and constants.
"""

from __future__ import annotations

import enum

from amaranth import unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from isa.config import MachineConfig
from isa.registers import MACHINE_BYTES

ID_BITS = 2
LITE_ADDRESS_BITS: int = exact_log2(MACHINE_BYTES)
LITE_DATA_BITS = 32
RESP_ERROR_BIT = 1
"""The bit of a response that is set in SLVERR and DECERR and clear in OKAY and EXOKAY."""


class ReadId(enum.IntEnum):
    """The part that asked for a read burst."""

    LOAD = 0
    FETCH = 1


WRITE_ID = 0
BURST_INCR = 1


class Axi4(wiring.Signature):
    """AXI4 seen from the manager, without user and region signals. With several ``ports`` it is one of them; they share the
    width of the bus."""

    def __init__(self, config: MachineConfig, ports: int = 1) -> None:
        address = {
            "id": Out(ID_BITS),
            "addr": Out(config.axi_addr_bits),
            "len": Out(8),
            "size": Out(3),
            "burst": Out(2),
            "lock": Out(1),
            "cache": Out(4),
            "prot": Out(3),
            "qos": Out(4),
            "valid": Out(1),
            "ready": In(1),
        }
        super().__init__({
            **{f"aw{name}": member for name, member in address.items()},
            "wdata": Out(config.axi_data_bits // ports),
            "wstrb": Out(config.axi_bytes // ports),
            "wlast": Out(1),
            "wvalid": Out(1),
            "wready": In(1),
            "bid": In(ID_BITS),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
            **{f"ar{name}": member for name, member in address.items()},
            "rid": In(ID_BITS),
            "rdata": In(config.axi_data_bits // ports),
            "rresp": In(2),
            "rlast": In(1),
            "rvalid": In(1),
            "rready": Out(1),
        })


class AxiLite(wiring.Signature):
    """AXI4-Lite seen from the subordinate: 32-bit registers, 4 KB of addresses for one machine."""

    def __init__(self, address_bits: int = LITE_ADDRESS_BITS) -> None:
        super().__init__({
            "awaddr": In(address_bits),
            "awprot": In(3),
            "awvalid": In(1),
            "awready": Out(1),
            "wdata": In(LITE_DATA_BITS),
            "wstrb": In(LITE_DATA_BITS // 8),
            "wvalid": In(1),
            "wready": Out(1),
            "bresp": Out(2),
            "bvalid": Out(1),
            "bready": In(1),
            "araddr": In(address_bits),
            "arprot": In(3),
            "arvalid": In(1),
            "arready": Out(1),
            "rdata": Out(LITE_DATA_BITS),
            "rresp": Out(2),
            "rvalid": Out(1),
            "rready": In(1),
        })


def address_layout(config: MachineConfig) -> data.StructLayout:
    """A burst on its way to AR or AW. ``addr`` is a multiple of the beat's bytes, ``len`` the number of beats less one."""
    return data.StructLayout({"addr": unsigned(config.axi_addr_bits), "len": unsigned(8)})


def read_data_layout(config: MachineConfig) -> data.StructLayout:
    return data.StructLayout({"data": unsigned(config.axi_data_bits), "error": unsigned(1), "last": unsigned(1)})


def write_data_layout(config: MachineConfig) -> data.StructLayout:
    return data.StructLayout({
        "data": unsigned(config.axi_data_bits),
        "strb": unsigned(config.axi_bytes),
        "last": unsigned(1),
    })


RESPONSE_LAYOUT = data.StructLayout({"error": unsigned(1)})


class AxiRead(wiring.Signature):
    """The read channels of one user of the port, seen from the user. Data comes in the order of the requests."""

    def __init__(self, config: MachineConfig) -> None:
        super().__init__({
            "ar": Out(stream.Signature(address_layout(config))),
            "r": In(stream.Signature(read_data_layout(config))),
        })


class AxiWrite(wiring.Signature):
    """The write channels of one user of the port, seen from the user. Responses come in the order of the requests."""

    def __init__(self, config: MachineConfig) -> None:
        super().__init__({
            "aw": Out(stream.Signature(address_layout(config))),
            "w": Out(stream.Signature(write_data_layout(config))),
            "b": In(stream.Signature(RESPONSE_LAYOUT)),
        })
