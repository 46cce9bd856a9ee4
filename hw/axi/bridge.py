"""Connects one bus of the machine to two AXI4 ports of half its width."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.axi.credits import Credits
from hw.axi.signature import ID_BITS, RESP_ERROR_BIT, Axi4
from hw.axi.slice import RegisterSlice
from hw.axi.write_engine import AHEAD_BURSTS, OPEN_BURSTS
from hw.buffers.fifo import RamFifo, RoomFifo
from isa.config import MachineConfig
from isa.depths import owed_beats

PORTS = 2
CONSTANT = ("size", "burst", "lock", "cache", "prot", "qos")


class PortBalance(wiring.Component):
    """Finds the port that owes fewer beats. ``port`` is a register, which holds while ``hold`` is high.

    ``take`` makes this port owe ``more`` beats and one. ``come`` has a bit for each port that brings a beat. A port owes
    ``most`` beats at most. So bursts of one length alternate, and a port that writes or waits gets fewer.
    """

    def __init__(self, longest: int, most: int) -> None:
        self.most = most
        super().__init__({
            "take": In(1), "more": In(range(longest)), "come": In(PORTS), "hold": In(1), "port": Out(1),
        })  # fmt: skip

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        ahead = Signal(signed(self.most.bit_length() + 1))
        """The beats that port 0 owes, less those that port 1 owes."""
        come = self.come[1] - self.come[0]
        # The beats of port 0 are added, those of port 1 subtracted: ``~more`` without a carry is ``-more - 1``.
        own = Cat(self.more, 0)
        taken = ahead + Mux(self.port, (~own).as_signed(), own)
        # ``take`` comes last, so it chooses between finished sums. Where both ports owe the same, bursts alternate.
        m.d.sync += ahead.eq(Mux(self.take, taken + (come + ~self.port), ahead + come))
        stays, goes = ahead + (come + self.port - 1), taken + (come + ~self.port - self.port)
        with m.If(~self.hold):
            m.d.sync += self.port.eq(Mux(self.take, goes >= 0, stays >= 0))
        return m


class PortBridge(wiring.Component):
    """Gives each whole burst of ``bus`` to one of two ports, and joins their answers in the order of the bursts.

    A beat of the bus is two beats of a port, the lower half first::

                 +-- port 0: halves joined -> whole words in a queue --+
        R  <-----+                                                     +---- order of the bursts asked for
                 +-- port 1: halves joined -> whole words in a queue --+

    ============  ======================================================================================================
    AR            combinational, to the port that owes fewer beats, once its queue has room for every beat asked
    R             three cycles later; a port is always ready, so that no port ever waits for the other
    AW            a register later, to the port that its address says
    W             two cycles later, through a queue for each port; it never waits for an address to be accepted
    B             two cycles later, through a queue for each port: always ready
    ============  ======================================================================================================

    While bursts follow each other, both ports are busy and the bus moves a beat in every cycle. A burst alone comes at the
    speed of one port. All bursts of a port have one id, so each port answers in order; ``rid`` is the id of the request.

    No burst crosses a multiple of the longest one. The parity of the bits of that multiple's number says which port writes. So
    writes to one address stay in order, neighbours alternate, and so do most strides. Reads need no order, because a reader of
    written data waits for B.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({"bus": In(Axi4(config)), **{f"axi{port}": Out(Axi4(config, PORTS)) for port in range(PORTS)}})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        ports = [getattr(self, f"axi{port}") for port in range(PORTS)]
        for port in ports:
            m.d.comb += [getattr(port, f"{prefix}{name}").eq(getattr(self.bus, f"{prefix}{name}"))
                         for prefix in ("ar", "aw") for name in CONSTANT if name != "size"]  # fmt: skip
            m.d.comb += [getattr(port, f"{prefix}size").eq(getattr(self.bus, f"{prefix}size") - 1) for prefix in ("ar", "aw")]
        self._reads(m, ports)
        self._writes(m, ports)
        return m

    def _reads(self, m: Module, ports: list[Any]) -> None:
        bus, most = self.bus, self.config.burst_beats
        room = owed_beats(self.config)
        word = data.StructLayout({"data": self.config.axi_data_bits, "error": 1, "last": 1})
        asked = data.StructLayout({"port": 1, "id": ID_BITS})
        m.submodules.read_balance = balance = PortBalance(most, room)
        m.submodules.read_order = order = RoomFifo(width=asked.size, depth=max(2, self.config.axi_reads))
        head = data.View(asked, order.r_data)
        words, free = [], []
        for number, port in enumerate(ports):
            m.submodules[f"read_words{number}"] = fifo = RamFifo(self.config, width=word.size, depth=room)
            m.submodules[f"owed{number}"] = owed = Credits(room, step=most)
            mine, asks = (Signal(name=f"{name}{number}") for name in ("mine", "asks"))
            fits = Signal(init=1, name=f"fits{number}")
            """The queue has room for the longest burst beside all that is owed. ``asks`` and ``owed.give`` come last."""
            low = Signal(len(port.rdata))
            low_error = Signal()
            high = Signal(name=f"read_high{number}")
            m.d.comb += [
                mine.eq(balance.port == number),
                port.arvalid.eq(bus.arvalid & mine & fits & order.w_rdy),
                port.araddr.eq(bus.araddr),
                port.arlen.eq(Cat(1, bus.arlen)),
                port.rready.eq(1),
                asks.eq(port.arvalid & port.arready),
                owed.take.eq(Mux(asks, bus.arlen + 1, 0)),
                owed.give.eq(fifo.r_rdy & fifo.r_en),
                fifo.w_en.eq(port.rvalid & high),
                fifo.w_data.eq(Cat(low, port.rdata, low_error | port.rresp[RESP_ERROR_BIT], port.rlast)),
                fifo.r_en.eq(bus.rready & order.r_rdy & (head.port == number)),
            ]
            fit = [
                Mux(owed.give, count <= room - most - own + 1, count <= room - most - own)
                for own, count in enumerate((owed.out, owed.out + bus.arlen))
            ]
            m.d.sync += fits.eq(Mux(asks, fit[1], fit[0]))
            with m.If(port.rvalid):
                m.d.sync += [low.eq(port.rdata), low_error.eq(port.rresp[RESP_ERROR_BIT]), high.eq(~high)]
            words.append(fifo)
            free.append(asks)
        taken = Signal()
        first = Mux(head.port, words[1].r_data, words[0].r_data)
        answer = data.View(word, first)
        m.d.comb += [
            taken.eq(Cat(free).any()),
            bus.arready.eq(taken),
            balance.take.eq(taken),
            balance.more.eq(bus.arlen),
            balance.come.eq(Cat(fifo.w_en for fifo in words)),
            balance.hold.eq(bus.arvalid & ~taken),
            order.w_en.eq(taken),
            order.w_data.eq(Cat(balance.port, bus.arid)),
            bus.rvalid.eq(order.r_rdy & Mux(head.port, words[1].r_rdy, words[0].r_rdy)),
            bus.rid.eq(head.id),
            bus.rdata.eq(answer.data),
            bus.rresp.eq(answer.error << RESP_ERROR_BIT),
            bus.rlast.eq(answer.last),
            order.r_en.eq(bus.rvalid & bus.rready & bus.rlast),
        ]

    def _writes(self, m: Module, ports: list[Any]) -> None:
        bus, most = self.bus, self.config.burst_beats
        word = data.StructLayout({"data": self.config.axi_data_bits, "strb": self.config.axi_bytes, "last": 1})
        address = data.StructLayout({"addr": self.config.axi_addr_bits, "len": 8})
        to = Signal()
        """The port that writes."""
        m.d.comb += to.eq(bus.awaddr[exact_log2(most * self.config.axi_bytes) :].xor())
        m.submodules.route = route = RoomFifo(width=1, depth=AHEAD_BURSTS)
        m.submodules.answer_order = order = RoomFifo(width=1, depth=OPEN_BURSTS)
        taken, ready, answered, failed = [], [], [], []
        for number, port in enumerate(ports):
            m.submodules[f"aw{number}"] = aw = RegisterSlice(address)
            m.submodules[f"write_words{number}"] = fifo = RamFifo(self.config, width=word.size, depth=2 * most)
            m.submodules[f"answers{number}"] = answers = RoomFifo(width=1, depth=OPEN_BURSTS)
            held = data.View(word, fifo.r_data)
            high = Signal()
            half, lanes = len(port.wdata), len(port.wstrb)
            m.d.comb += [
                aw.i.valid.eq(bus.awvalid & (to == number) & route.w_rdy & order.w_rdy),
                aw.i.payload.addr.eq(bus.awaddr),
                aw.i.payload.len.eq(Cat(1, bus.awlen)),
                port.awvalid.eq(aw.o.valid),
                port.awaddr.eq(aw.o.payload.addr),
                port.awlen.eq(aw.o.payload.len),
                aw.o.ready.eq(port.awready),
                fifo.w_en.eq(bus.wvalid & route.r_rdy & (route.r_data == number)),
                fifo.w_data.eq(Cat(bus.wdata, bus.wstrb, bus.wlast)),
                port.wvalid.eq(fifo.r_rdy),
                port.wdata.eq(held.data.word_select(high, half)),
                port.wstrb.eq(held.strb.word_select(high, lanes)),
                port.wlast.eq(held.last & high),
                fifo.r_en.eq(port.wready & high),
                port.bready.eq(1),
                answers.w_en.eq(port.bvalid),
                answers.w_data.eq(port.bresp[RESP_ERROR_BIT]),
                answers.r_en.eq(order.r_rdy & (order.r_data == number) & bus.bready),
            ]
            with m.If(port.wvalid & port.wready):
                m.d.sync += high.eq(~high)
            taken.append(aw.i.valid & aw.i.ready)
            ready.append(fifo.w_rdy)
            answered.append(answers.r_rdy)
            failed.append(answers.r_data)
        take = Signal()
        m.d.comb += [
            take.eq(Cat(taken).any()),
            bus.awready.eq(take),
            route.w_en.eq(take),
            route.w_data.eq(to),
            order.w_en.eq(take),
            order.w_data.eq(to),
            bus.wready.eq(route.r_rdy & Mux(route.r_data, ready[1], ready[0])),
            route.r_en.eq(bus.wvalid & bus.wready & bus.wlast),
            bus.bvalid.eq(order.r_rdy & Mux(order.r_data, answered[1], answered[0])),
            bus.bresp.eq(Mux(order.r_data, failed[1], failed[0]) << RESP_ERROR_BIT),
            order.r_en.eq(bus.bvalid & bus.bready),
        ]
