"""A DRAM behind AXI4 in plain Python, that checks the protocol of whoever uses it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from isa.config import MachineConfig

SLVERR = 2
ADDRESS_FIELDS = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot")


@dataclass
class Burst:
    id: int
    addr: int
    beats: int
    due: int
    """Cycle from which the first beat, or the response, can go."""
    done: int = 0
    error: bool = False


@dataclass
class AxiMemory:
    """``latency`` cycles, one data beat per cycle shared by reads and writes, in order.

    ``stall``: the chance that a channel pauses in a cycle. ``broken``: byte addresses that answer with an error.
    ``data_first``: a write address is accepted only when its data is waiting, which AXI allows.
    """

    config: MachineConfig
    contents: bytearray
    latency: int = 64
    stall: float = 0.0
    seed: int = 0
    broken: Callable[[int], bool] = lambda _: False
    data_first: bool = False
    cycle: int = 0
    reads: deque[Burst] = field(default_factory=deque)
    writes: deque[Burst] = field(default_factory=deque)
    answers: deque[Burst] = field(default_factory=deque)
    read_bursts: list[tuple[int, int, int]] = field(default_factory=list)
    """Every read burst as (id, address, beats)."""
    write_bursts: list[tuple[int, int, int]] = field(default_factory=list)
    read_beats: list[int] = field(default_factory=list)
    """The cycle of every read beat."""
    write_beats: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.waiting: dict[str, Any] = {}
        self.presented: Burst | None = None
        self.read_turn = True

    @property
    def quiet(self) -> bool:
        return not self.reads and not self.writes and not self.answers

    def sampled(self, axi: Any) -> list[Any]:
        """The signals that ``step`` wants the values of, in order."""
        names = [f"{c}{f}" for c in ("ar", "aw") for f in (*ADDRESS_FIELDS, "valid", "ready")]
        self.names = [*names, "wdata", "wstrb", "wlast", "wvalid", "wready", "rvalid", "rready", "bvalid", "bready"]
        return [getattr(axi, name) for name in self.names]

    def step(self, values: Iterable[int]) -> dict[str, int]:
        """One clock edge: what the manager and this memory drove in the past cycle, to what it drives in the next."""
        v = dict(zip(self.names, values, strict=True))
        self._check_steady("ar", v, [f"ar{f}" for f in ADDRESS_FIELDS])
        self._check_steady("aw", v, [f"aw{f}" for f in ADDRESS_FIELDS])
        self._check_steady("w", v, ["wdata", "wstrb", "wlast"])
        if v["arvalid"] and v["arready"]:
            burst = self._burst(v, "ar")
            self.reads.append(burst)
            self.read_bursts.append((burst.id, burst.addr, burst.beats))
        if v["awvalid"] and v["awready"]:
            burst = self._burst(v, "aw")
            self.writes.append(burst)
            self.write_bursts.append((burst.id, burst.addr, burst.beats))
        if v["wvalid"] and v["wready"]:
            self._write(v)
        if v["rvalid"] and v["rready"]:
            self.read_beats.append(self.cycle)
            burst = self.reads[0]
            burst.done += 1
            if burst.done == burst.beats:
                self.reads.popleft()
        if v["bvalid"] and v["bready"]:
            self.answers.popleft()
        self.cycle += 1
        return self._drive(v)

    def _drive(self, v: dict[str, int]) -> dict[str, int]:
        out = {"arready": int(not self._pause()), "rvalid": 0, "bvalid": 0, "wready": 0}
        out["awready"] = int(not self._pause() and (not self.data_first or bool(v["wvalid"] and not self.writes)))
        held = bool(v["rvalid"] and not v["rready"])
        can_read = bool(self.reads) and self.reads[0].due <= self.cycle
        can_write = bool(self.writes)
        if can_write and (not can_read or not self.read_turn or held):
            out["wready"] = int(not self._pause())
        take_read = can_read and (held or (not out["wready"] and not self._pause()))
        if can_read and can_write and not held:
            self.read_turn = not self.read_turn
        if take_read:
            burst = self.reads[0]
            address = burst.addr + burst.done * self.config.axi_bytes
            size = self.config.axi_bytes
            word = bytes(self.contents[address : address + size]).ljust(size, b"\0")
            error = any(self.broken(a) for a in range(address, address + size))
            out |= {
                "rvalid": 1,
                "rid": burst.id,
                "rdata": int.from_bytes(word, "little"),
                "rresp": SLVERR if error else 0,
                "rlast": int(burst.done == burst.beats - 1),
            }
        if self.answers and self.answers[0].due <= self.cycle and (bool(v["bvalid"] and not v["bready"]) or not self._pause()):
            out |= {"bvalid": 1, "bid": self.answers[0].id, "bresp": SLVERR if self.answers[0].error else 0}
        return out

    def _write(self, v: dict[str, int]) -> None:
        self.write_beats.append(self.cycle)
        burst = self.writes[0]
        address = burst.addr + burst.done * self.config.axi_bytes
        for n in range(self.config.axi_bytes):
            if v["wstrb"] >> n & 1:
                burst.error |= self.broken(address + n)
                self.contents[address + n] = v["wdata"] >> 8 * n & 0xFF
        burst.done += 1
        assert v["wlast"] == (burst.done == burst.beats), f"WLAST {v['wlast']} with beat {burst.done} of {burst.beats}"
        if burst.done == burst.beats:
            self.writes.popleft()
            burst.due = self.cycle + self.latency
            self.answers.append(burst)

    def _burst(self, v: dict[str, int], channel: str) -> Burst:
        size = self.config.axi_bytes
        address, beats = v[f"{channel}addr"], v[f"{channel}len"] + 1
        assert 1 << v[f"{channel}size"] == size, "bursts are of whole beats"
        assert v[f"{channel}burst"] == 1, "bursts are INCR"
        assert address % size == 0, f"burst at {address:#x} is not aligned to the beat"
        assert address // 4096 == (address + beats * size - 1) // 4096, f"burst at {address:#x} crosses 4 KB"
        return Burst(v[f"{channel}id"], address, beats, self.cycle + self.latency)

    def _check_steady(self, channel: str, v: dict[str, int], names: list[str]) -> None:
        now = [v[name] for name in names]
        before = self.waiting.get(channel)
        if before is not None:
            assert v[f"{channel}valid"], f"{channel} withdrawn before READY"
            assert now == before, f"{channel} changed before READY"
        self.waiting[channel] = now if v[f"{channel}valid"] and not v[f"{channel}ready"] else None

    def _pause(self) -> bool:
        return self.stall > 0 and self.random.random() < self.stall
