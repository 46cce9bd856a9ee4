"""The feature-map buffer: banks, arbitration, and the ways between lanes and banks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from hw.arithmetic.choice import pick
from hw.buffers.bank import Bank, write_granularity
from hw.buffers.way import Lane, PhaseRequest, Way, arbitrate, delayed, on_line
from hw.interfaces import FeatureMapRead, FeatureMapWrite
from isa.config import MachineConfig


class FeatureMap(wiring.Component):
    """``fm_banks`` banks, each serving one read and one write per cycle, shared by the lanes of all requesters.

    ``reads`` and ``writes`` name the requesters and their lane counts, first the one that goes first: each bank
    takes the first of the lanes that ask for it. The order never changes, so a grant is one comparison deep per
    lane ahead, and lanes in different banks do not see each other. It starves nobody for long when the DRAM
    movers come first: they use a bank at most once per AXI beat, and every instruction ends.

    Words go by ways, and a way takes one word of each phase in a cycle. Each requester has a way of its own where there is one
    phase only, but for ``slow`` writers. Else (see ``Ways``) all writes have one way together, so that their words and rows
    reach the banks of a phase on one bus, and a bank needs nothing but its enable; and so have the reads in ``shared``.
    The lanes of one requester never share a phase (its pixels do not, see ``fm_phases``; where they would, at a row's end,
    they take turns); lanes of a shared way that meet in a phase take turns in the order of all. So a word goes two short ways
    instead of one wide crossbar: by group within its phase, then from phase to line (for writes the other way round)::

        read   lines -> phases  |  bank (group)  |  group -> word of each phase -> lines
        write  lines -> phases  |  way -> bank (group)

    Each lane has a line of its own, but for those in ``read_line`` and in ``write_line``: they have one line together, which
    carries one word in a cycle whatever its phase. Their order is the same, but the first of them stands back in the cycle
    after one in which another wanted the line, too: a mover of short words, which has one in every cycle, gets half of them
    then. All get what their line reads. A way of one line chooses its word by phase first, then by group.

    At most ``fm_phases`` lanes of a way get a word in one cycle. Reading, granted in cycle 0 (``BANK_LATENCY`` = 3)::

        cycle      0          1               2            3
        lane       granted    row to bank     bank reads   output register: group and phase are selected, data

    Write data are registered by line when granted and reach the bank in the next cycle. So a word written by a grant in cycle
    0 is seen by every read granted from cycle 1 on; a read of that word granted in cycle 0 returns anything. ``mask`` is
    taken for whole groups of ``write_granularity`` bytes. Addresses at or above ``fm_words`` must not be presented with
    ``valid``: the unit that asks checks them, for it knows the instruction.

    A lane of a requester in ``filled`` that asks for nothing reads ``fill``, as if it had been granted: by a phase that
    no lane of the requester asks for. There is one, for a requester has no more lanes than there are phases.

    Members: ``read_<name>`` and ``write_<name>``, arrays of lanes.
    """

    def __init__(
        self, config: MachineConfig, *, reads: Mapping[str, int], writes: Mapping[str, int], shared: Iterable[str] = (),
        slow: Iterable[str] = (), filled: Iterable[str] = (), read_line: Iterable[str] = (), write_line: Iterable[str] = (),
    ) -> None:  # fmt: skip
        """``shared``: the requesters that read by one way, where ways are shared; ``slow``: those that write by one way even
        where there is one phase only; ``filled``: those with a way of their own that read by it what they ask for in vain.
        ``read_line`` and ``write_line``: requesters of one way that have one line together."""
        self.config = config
        self.shared = frozenset(shared)
        self.slow = frozenset(slow)
        self.filled = frozenset(filled)
        self.on_one_line = {"read": frozenset(read_line), "write": frozenset(write_line)}
        self.reads = dict(reads)
        self.writes = dict(writes)
        self.groups = config.fm_banks // config.fm_phases
        super().__init__(
            {f"read_{name}": In(FeatureMapRead(config)).array(lanes) for name, lanes in reads.items()}
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
        """The ways, their lanes arbitrated in the order of the requesters."""
        if self.config.ways.shared:
            together = [name for name in lanes_of if kind == "write" or name in self.shared]
        else:
            together = [name for name in lanes_of if kind == "write" and name in self.slow]
        users = [[name] for name in lanes_of if name not in together] + ([together] if together else [])
        ways: list[Way] = []
        lanes: dict[str, list[Lane]] = {}
        for names in users:
            ports = [port for name in names for port in getattr(self, f"{kind}_{name}")]
            fills = kind == "read" and self.filled.issuperset(names)
            ways.append(way := Way(m, self.config, f"{kind}_{'_'.join(names)}", ports, self._lines(kind, names), fills=fills))
            left = iter(way.lanes)
            lanes |= {name: list(islice(left, lanes_of[name])) for name in names}
        m.submodules[f"{kind}_arbiter"] = arbiter = Module()
        arbitrate(arbiter, [lane for name in lanes_of for lane in lanes[name]])
        return ways

    def _lines(self, kind: str, names: Sequence[str]) -> list[int]:
        """The line of each lane of a way."""
        together = self.on_one_line[kind]
        owners = [name for name in names for _ in range(getattr(self, f"{kind}s")[name])]
        keys = ["" if name in together else f"{name} {number}" for number, name in enumerate(owners)]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return [numbers[key] for key in keys]

    def _hits(self, m: Module, group: int, requests: Sequence[PhaseRequest], name: str) -> Signal:
        """Which of the requests is for the bank of that group."""
        hits = Signal(len(requests), name=f"{name}_hits{group}")
        m.d.comb += hits.eq(Cat(request.valid & (request.group == group) for request in requests))
        return hits

    def _address(self, m: Module, banks: Sequence[Bank], requests: Sequence[PhaseRequest], name: str) -> None:
        """The banks of one phase take the row of who was granted them."""
        for group, bank in enumerate(banks):
            hits = self._hits(m, group, requests, name)
            m.d.comb += [
                bank.read_en.eq(hits.any()),
                bank.read_row.eq(pick([request.row for request in requests], _number(hits))),
            ]

    def _answer(
        self, m: Module, reader: Way, requests: Sequence[PhaseRequest], banks: Sequence[Sequence[Bank]], name: str
    ) -> None:
        """Two cycles after the row went to the bank: the word of each phase, then of each line; where there is one line, its
        word of each group first, for that takes fewer LUTs."""
        phases = []
        for index, line in enumerate(reader.lines):
            asked = reader.phase_read(line)
            phases.append(delayed(m, asked, 3, f"{name}_phase{index}"))
        words = []
        if len(reader.lines) == 1:
            group = delayed(m, requests[0].group, 2, f"{name}_group0")
            for number, row in enumerate(zip(*banks, strict=True)):
                word = Signal(8 * self.config.ic_p, name=f"{name}_word{number}")
                m.d.comb += word.eq(pick([bank.read_data for bank in row], phases[0]))
                words.append(word)
            found = [pick([*words, *reader.fillings], group)]
        else:
            for phase, (request, same) in enumerate(zip(requests, banks, strict=True)):
                group = delayed(m, request.group, 2, f"{name}_group{phase}")
                word = Signal(8 * self.config.ic_p, name=f"{name}_word{phase}")
                m.d.comb += word.eq(pick([*(bank.read_data for bank in same), *reader.fillings], group))
                words.append(word)
            found = [pick(words, phase) for phase in phases]
        for line, data in zip(reader.lines, found, strict=True):
            m.d.comb += [lane.port.data.eq(data) for lane in line]

    def _words(self, m: Module, writer: Way, requests: Sequence[PhaseRequest], name: str) -> list[tuple[Value, Value]]:
        """The word and its mask that the writer has for each phase, in the cycle after the grant."""
        step = write_granularity(self.config)
        words, masks = [], []
        for index, line in enumerate(writer.lines):
            ports = [lane.port for lane in line]
            words.append(delayed(m, on_line(line, [port.data for port in ports]), 1, f"{name}_data{index}"))
            masks.append(delayed(m, on_line(line, [port.mask[::step] for port in ports]), 1, f"{name}_mask{index}"))
        found = []
        for phase, request in enumerate(requests):
            word = Signal(8 * self.config.ic_p, name=f"{name}_word{phase}")
            mask = Signal(len(masks[0]), name=f"{name}_word_mask{phase}")
            m.d.comb += [word.eq(pick(words, request.line)), mask.eq(pick(masks, request.line))]
            found.append((word, mask))
        return found

    def _store(
        self, m: Module, banks: Sequence[Bank], writes: Sequence[tuple[PhaseRequest, tuple[Value, Value]]], name: str
    ) -> None:
        """The banks of one phase take the words of who was granted them."""
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


def _number(hits: Value) -> Value:
    """The number of the only bit that is set; 0 when none is."""
    bits = ceil_log2(len(hits))
    return Cat(Cat(hits[n] for n in range(len(hits)) if n >> bit & 1).any() for bit in range(bits))
