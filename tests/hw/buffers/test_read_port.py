"""ReadPort: every word in order under any pattern of grants and stalls, one request per cycle without them."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from hw.buffers.read_port import ANSWERS, ReadPort
from isa.config import MachineConfig, config_from_dict
from isa.latency import BANK_LATENCY
from tests.hw.reading import show_words
from tests.hw.simulation import Simulator

CONFIG = config_from_dict({"base": "nano", "ic_p": 2, "oc_p": 2}, origin="test")
FILL = 0x5A
Request = list[int | None]


def word(addr: int) -> int:
    return addr * 40503 + 7 & 0xFFFF


def run(config: MachineConfig, port: ReadPort, requests: list[Request], grant: float, take: float) -> list[tuple[int, ...]]:
    """Cycle, tag and words of each answer."""
    rng = random.Random(9)
    got: list[tuple[int, ...]] = []

    async def feed(ctx: Any) -> None:
        for number, request in enumerate(requests):
            asked = port.i.payload
            ctx.set(asked.tag, number & 0xFF)
            if not port.always:
                ctx.set(asked.fill, FILL)
                ctx.set(asked.read, sum(1 << lane for lane, addr in enumerate(request) if addr is not None))
            for lane, addr in enumerate(request):
                ctx.set(asked.addr[lane], rng.getrandbits(config.fm_address_bits) if addr is None else addr)
            ctx.set(port.i.valid, 1)
            await ctx.tick().until(port.i.ready)
        ctx.set(port.i.valid, 0)

    async def memory(ctx: Any) -> None:
        on_the_way: deque[list[int | None]] = deque([[0] * port.lanes for _ in range(BANK_LATENCY - 1)])
        while True:
            found: list[int | None] = []
            for lane in port.fm_read:
                granted = not ctx.get(lane.valid) or rng.random() < grant
                ctx.set(lane.ready, granted)
                other = rng.getrandbits(16) if ctx.get(lane.valid) else None
                found.append(word(ctx.get(lane.addr)) if granted and other is not None else other)
            await ctx.tick()
            on_the_way.append(found)
            show_words(ctx, config, port.fm_read, on_the_way.popleft(), rng)

    async def drain(ctx: Any) -> None:
        cycle = 0
        while len(got) < len(requests):
            ctx.set(port.o.ready, rng.random() < take)
            if ctx.get(port.o.valid & port.o.ready):
                answer = port.o.payload
                got.append((cycle, ctx.get(answer.tag), *(ctx.get(answer.words[lane]) for lane in range(port.lanes))))
            await ctx.tick()
            cycle += 1
            assert cycle < 4000, "the port hangs"

    sim = Simulator(port)
    sim.add_clock(1e-6)
    sim.add_testbench(feed, background=True)
    sim.add_testbench(memory, background=True)
    sim.add_testbench(drain)
    sim.run()
    return got


def expected(requests: list[Request]) -> list[tuple[int, ...]]:
    filled = FILL << 8 | FILL
    return [(n & 0xFF, *(filled if addr is None else word(addr) for addr in request)) for n, request in enumerate(requests)]


@pytest.mark.parametrize(("lanes", "ahead"), [(1, 2), (2, 2), (4, 2), (1, 3), (2, 4), (1, 5)])
@pytest.mark.parametrize(("grant", "take"), [(1.0, 0.5), (0.5, 1.0), (0.6, 0.6)])
def test_every_word_in_order_whatever_stalls(lanes: int, ahead: int, grant: float, take: float) -> None:
    config = CONFIG
    rng = random.Random(lanes)
    limit = 1 << config.fm_address_bits
    requests: list[Request] = [[rng.choice([None, rng.randrange(limit)]) for _ in range(lanes)] for _ in range(80)]
    got = run(config, ReadPort(config, lanes, 8, ahead=ahead), requests, grant, take)
    assert [answer[1:] for answer in got] == expected(requests)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize(("grant", "take"), [(1.0, 0.5), (0.5, 1.0), (0.6, 0.6)])
def test_answers_whose_room_comes_back_later_are_none_the_fewer(lanes: int, grant: float, take: float) -> None:
    """With as few answers as may be, too: it is slower then, and loses nothing."""
    requests: list[Request] = [[n + lane for lane in range(lanes)] for n in range(60)]
    for answers in (2, ANSWERS + 2):
        got = run(CONFIG, ReadPort(CONFIG, lanes, 8, answers, at_once=False), requests, grant, take)
        assert [answer[1:] for answer in got] == expected(requests)


def test_a_port_that_always_reads_has_no_mask() -> None:
    requests: list[Request] = [[n] for n in range(20)]
    port = ReadPort(CONFIG, 1, 8, always=True)
    got = run(CONFIG, port, requests, 1.0, 1.0)
    assert [answer[1:] for answer in got] == expected(requests)


def test_one_answer_per_cycle_after_the_latency() -> None:
    requests: list[Request] = [[n, n + 1] for n in range(30)]
    got = run(CONFIG, ReadPort(CONFIG, 2, 8), requests, 1.0, 1.0)
    assert [answer[0] for answer in got] == list(range(BANK_LATENCY + 2, BANK_LATENCY + 32))


@pytest.mark.parametrize(("answers", "rate"), [(ANSWERS + 1, False), (ANSWERS + 2, True)])
def test_two_answers_more_keep_the_rate_where_room_comes_back_later(answers: int, rate: bool) -> None:
    requests: list[Request] = [[n, n + 1] for n in range(30)]
    got = run(CONFIG, ReadPort(CONFIG, 2, 8, answers, at_once=False), requests, 1.0, 1.0)
    assert ([answer[0] for answer in got] == list(range(BANK_LATENCY + 2, BANK_LATENCY + 32))) == rate
