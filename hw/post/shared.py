"""One pipeline for two units: CONV's lanes also finish POOL's results."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import TableWrite
from hw.post.activation import vectors
from hw.post.postprocess import PostProcess, conv_layout, post_layout
from isa.config import MachineConfig
from isa.latency import post_latency


class GuestSignature(wiring.Signature):
    """The lanes of another unit, seen from the one that borrows them.

    ``waits``: there is a vector to be shown. ``room``: one may be shown in the next cycle, and only then. ``post_latency``
    cycles later the vector is ``finished``, which cannot be refused.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__({
            "waits": Out(1),
            "room": In(1),
            "vector": Out(data.StructLayout({"valid": unsigned(1), "p": post_layout(lanes)})),
            "finished": In(data.StructLayout({"valid": unsigned(1), "p": data.ArrayLayout(signed(8), lanes)})),
        })


class SharedPostProcess(wiring.Component):
    """A ``PostProcess`` with a guest. It has as many lanes as the wider of both units, and each unit uses the first ones.

    The owner's vectors go through as if there were no guest. ``ask`` says one cycle ahead that ``i`` will be valid, and the
    guest has no ``room`` then. The owner leaves room when the guest ``waits``; the pipeline never stalls the owner. Nothing is
    refused behind the lanes, so a shift register beside them tells whose vector each one is.
    """

    def __init__(self, config: MachineConfig) -> None:
        self._config = config
        self._lanes = max(config.conv_finish, config.pool_finish)
        self._own, self._guest = config.conv_finish, config.pool_finish
        super().__init__({
            "ask": In(1),
            "i": In(vectors(conv_layout(config, self._own))),
            "o": Out(vectors(data.ArrayLayout(signed(config.result_bits), self._own))),
            "guest": In(GuestSignature(self._guest)),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.post = post = PostProcess(self._config, self._lanes)
        wiring.connect(m, wiring.flipped(self.table_write), post.table_write)
        guest = self.guest.vector
        guests = Signal(post_latency(self._config))
        """A bit for each vector in the pipeline, the newest first: it is the guest's."""
        m.d.sync += guests.eq(Cat(guest.valid, guests))
        m.d.comb += [
            self.guest.room.eq(~self.ask),
            post.i.valid.eq(self.i.valid | guest.valid),
            self.o.valid.eq(post.o.valid & ~guests[-1]),
            self.guest.finished.valid.eq(post.o.valid & guests[-1]),
            *(to.eq(source) for to, source in zip(self.o.p, post.o.p, strict=False)),
            *(to.eq(source) for to, source in zip(self.guest.finished.p, post.o.p, strict=False)),
        ]
        if self._config.act16:
            self._choose_long(m, post.i.p)
            return m
        for name in post.i.p.shape().members:
            own, other = (Value.cast(vector[name]) for vector in (self.i.p, guest.p))
            m.d.comb += Value.cast(post.i.p[name]).eq(Mux(guest.valid, other, own))
        return m

    def _choose_long(self, m: Module, shown: data.View) -> None:
        """Chooses between the owner's and the guest's vector. The guest's numbers have fewer bits than the owner's, with the
        same values, and its results are bytes."""
        own, guest = self.i.p, self.guest.vector
        for name, shape in shown.shape().members.items():
            if not isinstance(shape, data.ArrayLayout):
                other = guest.p[name] if name in guest.p.shape().members else 0
                m.d.comb += shown[name].eq(Mux(guest.valid, other, own[name]))
                continue
            for lane in range(self._lanes):
                of_guest = guest.p[name][lane] if lane < self._guest else 0
                of_own = own[name][lane] if lane < self._own else 0
                m.d.comb += shown[name][lane].eq(Mux(guest.valid, of_guest, of_own))
