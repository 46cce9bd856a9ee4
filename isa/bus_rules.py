"""The behaviour of each signal of the machine's two buses.

The reference page takes it from here; ``tests/hw/test_bus_rules.py`` has a test for each row.
"""

from __future__ import annotations

Rules = tuple[tuple[str, str], ...]
"""Signals, and their exact behaviour."""

MASTER: Rules = (
    ("AxADDR, AxLEN", "A multiple of the beat; beats less one. No burst crosses 4 KB or a multiple of its greatest length."),
    ("AxSIZE, AxBURST, AxLOCK", "Whole beats, INCR, 0."),
    ("AxCACHE, AxPROT, AxQOS", "`axi_cache`, `axi_prot` and `axi_qos` of the configuration, in every burst."),
    ("ARID, AWID", "0 for LOAD, 1 for instruction fetch; 0. Fetch goes first."),
    ("ARVALID", "At most `axi_reads` bursts are on their way, and none is asked for beyond `axi_read_ahead` beats."),
    ("AxVALID, WVALID", "Never wait for READY, and stay with all that belongs to them until it comes, even through a stop."),
    ("WVALID", "Does not wait for AWREADY: whoever answers may take data first."),
    ("WLAST, WSTRB", "The last beat of its burst. Off outside of a row; all off in bursts that are completed after a stop."),
    ("RID", "Responses of one id come in order. Those of two ids may overtake each other, beat by beat."),
    ("RREADY, BREADY", "Registers: they do not depend on VALID in the same cycle. Two responses fit behind each."),
    ("RRESP, BRESP", "SLVERR and DECERR stop the machine; EXOKAY is OKAY."),
    ("BID", "Not read. Responses come in the order of the addresses."),
)  # fmt: skip
SLAVE: Rules = (
    ("AWREADY, WREADY", "Low, until address and data are both valid; then high together for one cycle, the next."),
    ("BVALID", "In the cycle after these, until BREADY. No write is taken before."),
    ("ARREADY", "High while no read is under way, from the second cycle after the reset on."),
    ("RVALID", "Five cycles after the address is taken, until RREADY. No read is taken before."),
    ("AW and AR channels", "Apart: a read and a write do not wait for each other."),
    ("RRESP, BRESP", "OKAY; SLVERR where no register is."),
    ("AxPROT, AxADDR bits 0 and 1", "Not read."),
    ("WSTRB", "Bytes without it keep their value."),
)
