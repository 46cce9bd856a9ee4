"""Takes several taps in a step of POOL's window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Const, Module, Mux, Signal, Value

from hw.arithmetic.small import at_most
from hw.copies import Spread
from hw.window.addresses import Row, TapAddresses
from hw.window.fields import greatest
from hw.window.generator import WindowGenerator
from hw.window.pixels import Widths
from hw.window.taps import OneTap, TapLoop
from isa.config import MachineConfig


class PoolWindow(WindowGenerator):
    """A window whose steps take up to ``pool_taps`` = T taps of a kernel row, if the instruction allows ``several``.

    There are T - 1 ports beside those of the pixels. Port ``p`` reads the first tap of pixel ``p``, and

    ==============  =====================================================  ========================  =====================
    group           taps in a step                                         port ``px_p + e``         tap ``j`` of pixel p
    ==============  =====================================================  ========================  =====================
    side by side    T: ``neighbours``, all pixels in one row               pixel 0 + ``px_p + e``    port ``p + j``
    any other       2 if T > ``px_p``: a second tap for each pixel         second tap of pixel e     port ``p + j px_p``
    any other       1 else                                                 nothing                   port ``p``
    ==============  =====================================================  ========================  =====================

    Side by side, ``px_p + T - 1`` neighbouring words, at most one of each phase, serve ``px_p T`` taps. So do the four words of
    two pixels at stride 2. A step at a kernel row's end may have fewer taps, and then ports without a tap read nothing.
    """

    def __init__(self, config: MachineConfig) -> None:
        super().__init__(config, config.px_p, config.pool_taps)

    def loop(self) -> TapLoop:
        return _PoolTapLoop(self.config, self.lanes, self.taps) if self.taps > 1 else super().loop()

    def addresses(self) -> TapAddresses:
        return _PoolTapAddresses(self.config, self.lanes, self.taps) if self.taps > 1 else super().addresses()


class _SeveralTaps(OneTap):
    """A step that takes one tap, two, or ``taps``."""

    def __init__(self, m: Module, taps: int, lanes: int, settings: Any, new: Any) -> None:
        super().__init__(settings)
        self._taps = taps
        self._has_second = taps > lanes
        """A step takes two taps of pixels that are not side by side."""
        self._side_by_side = Signal(name="side_by_side")
        self._several = settings.several
        self._new_side_by_side = new.carried.neighbours & new.one_row
        self.taken = self._chosen(self._side_by_side, self._several, [Const(number) for number in (taps, 2, 1)])
        self.stride = Signal(range(max(taps, greatest("d_x") << self._has_second) + 1), name="stride")

    def suffice(self, columns: Value, steps: int) -> Value:
        return self._suffice(self._side_by_side, self._several, columns, steps)

    def fits(self, new: Any) -> Value:
        return self._suffice(self._new_side_by_side, new.carried.several, new.carried.k_w, 1)

    def begin(self, new: Any) -> list[Any]:
        apart = new.carried.d_x << new.carried.several if self._has_second else new.carried.d_x
        return [
            self._side_by_side.eq(self._new_side_by_side),
            self.stride.eq(Mux(self._new_side_by_side, self._taps, apart)),
        ]

    def marks(self, columns: Value, last_columns: Value) -> dict[str, Value]:
        return {"side_by_side": self._side_by_side, "count": Mux(last_columns, columns, self.taken)}

    def _suffice(self, side_by_side: Value, several: Value, columns: Value, steps: int) -> Value:
        return self._chosen(side_by_side, several, [at_most(columns, number * steps) for number in (self._taps, 2, 1)])

    def _chosen(self, side_by_side: Value, several: Value, options: Sequence[Value]) -> Value:
        together, two, one = options
        return Mux(side_by_side, together, Mux(several, two, one) if self._has_second else one)


class _PoolTapLoop(TapLoop):
    def steps(self, m: Module, settings: Any, new: Any) -> OneTap:
        return _SeveralTaps(m, self.taps, self.config.px_p, settings, new)


class _PoolTapAddresses(TapAddresses):
    def more_ports(self, m: Module, moves: Spread, rows: Sequence[Row], summed: Any, wrapped: Any) -> None:
        """Drives port ``px_p + e``. Its word is in the row of pixel ``e mod px_p``; its column is compared a stage later."""
        for e in range(self.taps - 1):
            row = rows[e % self.lanes]
            further = Signal(self.config.fm_address_bits, name=f"further{e}")
            x_further = Signal(Widths.of_input(self.config).column, name=f"x_further{e}")
            read = Signal(name=f"read_beside{e}")
            needed = Mux(summed.side_by_side, summed.count > e + 1, (summed.count > 1) & (e < self.lanes))
            away = Mux(summed.side_by_side, self.lanes * (1 + e // self.lanes), summed.d_x)
            port = self.o.p.lanes[self.lanes + e]
            with m.If(moves.of(len(further) + len(x_further) + len(port.addr))):
                m.d.sync += [
                    further.eq(row.base + away),
                    x_further.eq(row.x + away),
                    read.eq(row.inside & needed),
                    port.read.eq(read & (x_further < wrapped.i_w)),
                    port.addr.eq(further + row.in_ring),
                ]
