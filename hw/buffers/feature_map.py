"""The feature-map buffer: banks, arbitration, and the ways between lanes and banks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from hw.arithmetic.choice import pick
from hw.buffers.bank import Bank, write_granularity
from hw.buffers.way import Lane, PhaseRequest, Way, arbitrate, delayed, first_of
from hw.copies import PINS, Spread
from hw.interfaces import FeatureMapRead, FeatureMapWrite
from isa.config import MachineConfig


class FeatureMap(wiring.Component):
    """``fm_banks`` banks, each serving one read and one write per cycle, shared by the lanes of all requesters.

    ``reads`` and ``writes`` name the requesters and their numbers of lanes, in order of priority. Each bank takes the first of
    the lanes that ask for it. The order never changes, so a grant compares each lane with the lanes before it, and lanes in
    different banks do not see each other. The movers come first and still starve nobody for long: they use a bank at most once
    per AXI beat, and every instruction ends.

    Words go by ways (``hw/buffers/way.py``). A machine of one phase has a way for each requester, and one for all ``slow``
    writers. A machine of several phases has one way for all writers, one for the readers in ``shared``, which may be
    ``serial``, and one for each other reader. A way of one lane is serial. Lanes of one requester rarely meet in a phase (see
    ``fm_phases``); lanes that meet on a way take turns in the order of all. So a word passes two small multiplexers instead
    of one wide crossbar::

        read   lanes -> phases  |  bank (group)  |  group -> word of each phase -> lanes
        write  lanes -> phases  |  way -> bank (group)

    Reading, granted in cycle 0 (``BANK_LATENCY`` = 3)::

        cycle      0          1               2            3
        lane       granted    row to bank     bank reads   output register: group and phase are selected, data

    Write data are registered when granted and reach the bank in the next cycle. So a word written by a grant in cycle 0 is seen
    by every read granted from cycle 1 on; a read of that word granted in cycle 0 returns anything. ``mask`` is taken for whole
    groups of ``write_granularity`` bytes. Addresses at or above ``fm_words`` must not be presented with ``valid``: the unit
    that asks checks them, because it knows the instruction.

    Members: ``read_<name>`` and ``write_<name>``, arrays of lanes.
    """

    def __init__(
        self, config: MachineConfig, *, reads: Mapping[str, int], writes: Mapping[str, int], shared: Iterable[str] = (),
        slow: Iterable[str] = (), pads: Iterable[str] = (), serial: bool = False, behind: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """``shared`` are the requesters that read by one way on a machine of several phases; this way may be ``serial``.
        ``slow`` are those that write by one way on a machine of one phase. ``pads`` are those that may read padding.

        ``behind`` maps the last writer of the way that all share to the writer that it waits for. So it needs no word of its
        own.
        """
        self.config = config
        self.shared = frozenset(shared)
        self.slow = frozenset(slow)
        self.pads = frozenset(pads)
        self.serial = serial
        self.behind = dict(behind or {})
        self.reads = dict(reads)
        self.writes = dict(writes)
        super().__init__(
            {f"read_{name}": In(FeatureMapRead(config, pads=name in self.pads)).array(lanes) for name, lanes in reads.items()}
            | {f"write_{name}": In(FeatureMapWrite(config)).array(lanes) for name, lanes in writes.items()}
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        banks = [Bank(self.config) for _ in range(self.config.fm_banks)]
        for number, bank in enumerate(banks):
            m.submodules[f"bank{number}"] = bank
        phases = range(self.config.fm_phases)
        by_phase = [banks[phase :: self.config.fm_phases] for phase in phases]

        readers = self._ways(m, "read", self.reads)
        requests = [reader.phase_requests() for reader in readers]
        for phase in phases:
            self._address(m, by_phase[phase], [request[phase] for request in requests], f"read{phase}")
        for number, (reader, request) in enumerate(zip(readers, requests, strict=True)):
            self._answer(m, reader, request, by_phase, f"read{number}")

        writers = self._ways(m, "write", self.writes)
        requests = [writer.phase_requests() for writer in writers]
        words = [
            self._words(m, writer, request, f"write{number}")
            for number, (writer, request) in enumerate(zip(writers, requests, strict=True))
        ]
        for phase in phases:
            here = [(request[phase], word[phase]) for request, word in zip(requests, words, strict=True)]
            self._store(m, by_phase[phase], here, f"write{phase}")
        return m

    def _ways(self, m: Module, kind: str, lanes_of: Mapping[str, int]) -> list[Way]:
        """The ways of the requesters. Their lanes are arbitrated in the order of the requesters."""
        if not self.config.ways.shared:
            together = [name for name in lanes_of if kind == "write" and name in self.slow]
        else:
            together = [name for name in lanes_of if kind == "write" or name in self.shared]
        users = [[name] for name in lanes_of if name not in together] + ([together] if together else [])
        ways: list[Way] = []
        lanes: dict[str, list[Lane]] = {}
        for names in users:
            ports = [port for name in names for port in getattr(self, f"{kind}_{name}")]
            serial = len(ports) == 1 or (self.serial and kind == "read" and names == together)
            first = self.behind.get(names[-1]) if kind == "write" and not serial else None
            behind = sum(lanes_of[name] for name in names[: names.index(first)]) if first in names else None
            ways.append(way := Way(m, self.config, f"{kind}_{'_'.join(names)}", ports, serial=serial, behind=behind))
            left = iter(way.lanes)
            lanes |= {name: list(islice(left, lanes_of[name])) for name in names}
        m.submodules[f"{kind}_arbiter"] = arbiter = Module()
        arbitrate(arbiter, [lane for name in lanes_of for lane in lanes[name]])
        return ways

    def _hits(self, m: Module, group: int, requests: Sequence[PhaseRequest], name: str) -> Signal:
        """A bit for each request: whether it is for the bank of that group."""
        hits = Signal(len(requests), name=f"{name}_hits{group}")
        m.d.comb += hits.eq(Cat(request.valid & (request.group == group) for request in requests))
        return hits

    def _address(self, m: Module, banks: Sequence[Bank], requests: Sequence[PhaseRequest], name: str) -> None:
        """Gives each bank of one phase the row of the request that was granted it."""
        for group, bank in enumerate(banks):
            hits = self._hits(m, group, requests, name)
            m.d.comb += [
                bank.read_en.eq(hits.any()),
                bank.read_row.eq(pick([request.row for request in requests], _number(hits))),
            ]

    def _answer(
        self, m: Module, reader: Way, requests: Sequence[PhaseRequest], banks: Sequence[Sequence[Bank]], name: str
    ) -> None:
        """Gives lanes their words two cycles after the row went to the bank. On a parallel way the word of each phase is
        selected by its group, and each lane selects the phase of its word. A serial way selects the phase first, which takes
        fewer LUTs."""
        if reader.serial:
            phase = _selects(m, reader.first_asking([lane.place.phase for lane in reader.lanes]), 3, f"{name}_phase")
            group = _selects(m, requests[0].group, 2, f"{name}_group")
            words = [
                self._word(m, _selected([bank.read_data for bank in row], phase), f"{name}_word{number}")
                for number, row in enumerate(zip(*banks, strict=True))
            ]
            m.d.comb += [lane.port.data.eq(_or_fill(lane, _selected(words, group))) for lane in reader.lanes]
            return
        words = []
        for number, (request, same) in enumerate(zip(requests, banks, strict=True)):
            group = _selects(m, request.group, 2, f"{name}_group{number}")
            words.append(self._word(m, _selected([bank.read_data for bank in same], group), f"{name}_word{number}"))
        for number, lane in enumerate(reader.lanes):
            phase = _selects(m, lane.place.phase, 3, f"{name}_phase{number}")
            m.d.comb += lane.port.data.eq(_or_fill(lane, _selected(words, phase)))

    def _word(self, m: Module, value: Value, name: str) -> Signal:
        word = Signal(8 * self.config.ic_p, name=name)
        m.d.comb += word.eq(value)
        return word

    def _words(self, m: Module, writer: Way, requests: Sequence[PhaseRequest], name: str) -> list[tuple[Value, Value]]:
        """The word and its mask that the writer has for each phase, in the cycle after the grant."""
        step = write_granularity(self.config)
        data, mask = (
            [
                first_of([lane.port.valid for lane in lanes], [getattr(lane.port, member) for lane in lanes])
                for lanes in writer.lanes_of_slots()
            ]
            for member in ("data", "mask")
        )
        words = [delayed(m, word, 1, f"{name}_data{number}") for number, word in enumerate(data)]
        masks = [delayed(m, some[::step], 1, f"{name}_mask{number}") for number, some in enumerate(mask)]
        found = []
        for phase, request in enumerate(requests):
            mask = Signal(len(masks[0]), name=f"{name}_word_mask{phase}")
            m.d.comb += mask.eq(_selected(masks, request.slot))
            found.append((self._word(m, _selected(words, request.slot), f"{name}_word{phase}"), mask))
        return found

    def _store(
        self, m: Module, banks: Sequence[Bank], writes: Sequence[tuple[PhaseRequest, tuple[Value, Value]]], name: str
    ) -> None:
        """Writes into each bank of one phase the word that was granted it."""
        requests = [request for request, _ in writes]
        for group, bank in enumerate(banks):
            hits = self._hits(m, group, requests, name)
            number = Signal(range(len(requests)), name=f"{name}_from{group}")
            m.d.comb += [
                number.eq(_number(hits)),
                bank.write_en.eq(hits.any().replicate(len(bank.write_en)) & pick([mask for _, (_, mask) in writes], number)),
                bank.write_row.eq(pick([request.row for request in requests], number)),
                bank.write_data.eq(pick([word for _, (word, _) in writes], number)),
            ]


def _selects(m: Module, number: Value, cycles: int, name: str) -> Spread:
    """The number as it was ``cycles`` ago. It selects words."""
    before = delayed(m, number, cycles - 1, name)
    select = Signal(len(number), name=f"{name}_{cycles}", reset_less=True)
    return Spread(m, select, before, "sync")


def _selected(words: Sequence[Value], select: Spread | None) -> Value:
    """The selected word. Each copy of the number selects a part of it. Synthesis may merge this choice with the one that made
    the words; then each word takes a LUT."""
    if select is None or len(words) == 1:
        return words[0]
    luts = len(words)
    bits = max(1, PINS // luts)
    firsts = range(0, len(words[0]), bits)
    parts = ([word[first : first + bits] for word in words] for first in firsts)
    return Cat(pick(part, select.of(luts * len(part[0]))) for part in parts)


def _or_fill(lane: Lane, word: Value) -> Value:
    """The data that the lane sees. Synthesis makes one LUT of this choice and the last one among the words."""
    port = lane.port
    return Mux(port.padding, port.fill.replicate(len(word) // 8), word) if hasattr(port, "padding") else word


def _number(hits: Value) -> Value:
    """The number of the only bit that is set, or 0 when none is."""
    bits = ceil_log2(len(hits))
    return Cat(Cat(hits[n] for n in range(len(hits)) if n >> bit & 1).any() for bit in range(bits))
