"""The feature-map buffer: banks, arbitration and the crossbar between lanes and banks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.buffers.bank import Bank, split_address
from hw.interfaces import FeatureMapRead, FeatureMapWrite
from isa.config import MachineConfig


@dataclass(frozen=True)
class _Request:
    """What one lane asks for in this cycle."""

    lane: Any
    bank: Signal
    row: Value
    want: Signal
    """A bit for each bank; all zero when the lane asks for nothing."""


class FeatureMap(wiring.Component):
    """``fm_banks`` banks, each serving one read and one write per cycle, shared by the lanes of all units.

    ``reads`` and ``writes`` name the requesters and their lane counts, first the one that goes first: each bank
    takes the first of the lanes that ask for it. The order never changes, so a grant is one comparison deep per
    lane ahead, and lanes in different banks do not see each other. It starves nobody for long when the DRAM
    movers come first: they use a bank at most once per AXI beat, and every instruction ends.

    Reading, with ``a`` granted in cycle 0 and ``b`` in cycle 1 (``READ_LATENCY`` = 2)::

        cycle      0          1               2
        lane       grant a    grant b         data a
        bank       address a  output a        output b
        crossbar              select bank(a)  data a

    A word written by a grant in cycle 0 is seen by every read granted from cycle 1 on; a read granted in cycle 0
    returns the old word. ``mask`` is taken for whole groups of ``write_granularity`` bytes. Addresses at or above
    ``fm_words`` must not be presented with ``valid``: the unit that asks checks them, for it knows the instruction.

    Members: ``read_<name>`` and ``write_<name>``, arrays of lanes.
    """

    def __init__(self, config: MachineConfig, *, reads: Mapping[str, int], writes: Mapping[str, int]) -> None:
        self.config = config
        self.reads = dict(reads)
        self.writes = dict(writes)
        super().__init__(
            {f"read_{name}": In(FeatureMapRead(config)).array(lanes) for name, lanes in reads.items()}
            | {f"write_{name}": In(FeatureMapWrite(config)).array(lanes) for name, lanes in writes.items()}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        banks = [Bank(self.config) for _ in range(self.config.fm_banks)]
        for number, bank in enumerate(banks):
            m.submodules[f"bank{number}"] = bank
        self._connect_reads(m, banks)
        self._connect_writes(m, banks)
        return m

    def _connect_reads(self, m: Module, banks: Sequence[Bank]) -> None:
        requests = self._arbitrate(m, "read", self.reads)
        for number, request in self._winners(m, "read", requests):
            m.d.comb += [banks[number].read_en.eq(1), banks[number].read_row.eq(request.row)]
        for index, request in enumerate(requests):
            granted = Signal(name=f"read{index}_granted")
            bank = Signal.like(request.bank, name=f"read{index}_granted_bank", reset_less=True)
            answer = Signal(8 * self.config.ic_p, name=f"read{index}_answer", reset_less=True)
            m.d.sync += [granted.eq(request.lane.valid & request.lane.ready), bank.eq(request.bank)]
            with m.If(granted), m.Switch(bank):
                for number in range(self.config.fm_banks):
                    with m.Case(number):
                        m.d.sync += answer.eq(banks[number].read_data)
            m.d.comb += request.lane.data.eq(answer)

    def _connect_writes(self, m: Module, banks: Sequence[Bank]) -> None:
        requests = self._arbitrate(m, "write", self.writes)
        for number, request in self._winners(m, "write", requests):
            bank = banks[number]
            m.d.comb += [
                bank.write_en.eq(request.lane.mask[:: bank.granularity // 8]),
                bank.write_row.eq(request.row),
                bank.write_data.eq(request.lane.data),
            ]

    def _arbitrate(self, m: Module, kind: str, lanes_of: Mapping[str, int]) -> list[_Request]:
        """Grant each lane whose bank no lane ahead of it wants."""
        requests: list[_Request] = []
        for lane in (lane for name in lanes_of for lane in getattr(self, f"{kind}_{name}")):
            where, row = split_address(self.config, lane.addr)
            bank = Signal(where.shape(), name=f"{kind}{len(requests)}_bank")
            want = Signal(self.config.fm_banks, name=f"{kind}{len(requests)}_want")
            ahead = Cat(other.lane.valid & (other.bank == bank) for other in requests)
            m.d.comb += [bank.eq(where), want.eq(lane.valid << bank), lane.ready.eq(~ahead.any())]
            requests.append(_Request(lane, bank, row, want))
        return requests

    def _winners(self, m: Module, kind: str, requests: Sequence[_Request]) -> Iterator[tuple[int, _Request]]:
        """For each bank and request, in the scope where that request is the one the bank serves.

        The outer test of ``busy`` changes nothing but the speed of simulators: most banks rest in most cycles.
        """
        busy = Signal(self.config.fm_banks, name=f"{kind}_busy")
        m.d.comb += busy.eq(reduce(or_, (request.want for request in requests)))
        for number in range(self.config.fm_banks):
            with m.If(busy[number]):
                for index, request in enumerate(requests):
                    with m.If(request.want[number]) if index == 0 else m.Elif(request.want[number]):
                        yield number, request
