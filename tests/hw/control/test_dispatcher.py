"""The dispatcher against ``isa.codec.decode``."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from amaranth.sim import SimulatorContext

from hw.control.dispatch import Dispatch
from isa.capabilities import built_instructions, built_units
from isa.codec import Op, decode, encode
from isa.config import MachineConfig, preset
from isa.dispatched import check_program
from isa.faults import Fault, MachineFault
from isa.instructions import BY_NAME, HEADER, INSTRUCTIONS, Unit
from tests.hw.control.control_bench import assemble, op, pcs
from tests.hw.simulation import Simulator

NANO = preset("nano")
BODY = (
    op("LOAD", signal=[Unit.CONV], offset=0xFFFFFFFF, fill=-1),
    op("LOADP", buffer=4),
    op("CONV", wait=[Unit.LOAD], signal=[Unit.SAVE, Unit.MISC], zp=-128, hi=127),
    op("POOL"),
    op("MISC", wait=[Unit.CONV], c_lo=0xFFFFFFFF, m_a=-1),
    op("SAVE", wait=[Unit.CONV]),
)


@dataclass
class Outcome:
    """What came out: words by unit, and how it ended."""

    queues: dict[Unit, list[int]] = field(default_factory=lambda: defaultdict(list))
    fault: tuple[Fault, int] | None = None
    ended: bool = False
    cycles: int = 0


def reference(words: list[int], program_words: int, config: MachineConfig) -> Outcome:
    """Decode one instruction after the other; words of a faulty instruction are not compared."""
    outcome, built = Outcome(), {row.opcode: row for row in built_instructions(config)}
    words = words[:program_words]
    pc = 0
    try:
        while not outcome.ended:
            row = next((r for r in INSTRUCTIONS if pc < len(words) and r.opcode == words[pc] & 15), None)
            if row is not None and row.opcode not in built:
                raise MachineFault(Fault.ILLEGAL_OPCODE, pc)
            o, following = decode(words, pc)
            if any(word & built[o.row.opcode].reserved_mask(n) for n, word in enumerate(words[pc:following]) if n):
                raise MachineFault(Fault.ILLEGAL_FIELD, pc)
            if pc == 0 and o.name != "START":
                raise MachineFault(Fault.CONFIG_MISMATCH, pc)
            if o.name == "START" and o["config"] != config.hash:
                raise MachineFault(Fault.CONFIG_MISMATCH, pc)
            if isinstance(o.row.unit, Unit):
                outcome.queues[o.row.unit] += [pc, *words[pc:following]]
            outcome.ended = o.name == "END"
            pc = following
    except MachineFault as fault:
        outcome.fault = (fault.fault, fault.pc)
    return outcome


def dispatch(
    words: list[int], config: MachineConfig = NANO, *, program_words: int | None = None,
    refused: int | None = None, stall: Any = lambda: False,
) -> Outcome:  # fmt: skip
    dut = Dispatch(config)
    outcome = Outcome()
    units = built_units(config)

    async def script(ctx: SimulatorContext) -> None:
        ctx.set(dut.program_words, len(words) if program_words is None else program_words)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        position = 0
        while not (ctx.get(dut.ended) or ctx.get(dut.fault)):
            assert outcome.cycles < 3000, "the dispatcher hangs"
            ready = [not stall() for _ in units]
            for queue, is_ready in zip(dut.queues, ready, strict=True):
                ctx.set(queue.ready, is_ready)
            offered = position < len(words) and not (stall() and not ctx.get(dut.words.valid))
            ctx.set(dut.words.valid, offered)
            if offered:
                ctx.set(dut.words.payload, {"word": words[position], "error": position == refused})
            position += ctx.get(dut.words.valid & dut.words.ready)
            for unit, queue, is_ready in zip(units, dut.queues, ready, strict=True):
                if is_ready and ctx.get(queue.valid):
                    outcome.queues[unit].append(ctx.get(queue.payload))
            await ctx.tick()
            outcome.cycles += 1
        outcome.ended = bool(ctx.get(dut.ended))
        if ctx.get(dut.fault):
            outcome.fault = (Fault(ctx.get(dut.code)), ctx.get(dut.pc))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    return outcome


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_legal_program_reaches_the_queues_word_for_word(seed: int | None) -> None:
    """Undisturbed, and with stalls of words and queues."""
    words = assemble(NANO, *BODY)
    rng = random.Random(seed)
    outcome = dispatch(words, stall=(lambda: rng.random() < 0.3) if seed else (lambda: False))
    expected = reference(words, len(words), NANO)
    assert (outcome.ended, outcome.fault) == (True, None)
    assert outcome.queues == expected.queues
    if seed is None:
        instructions = len(BODY) + 2
        assert outcome.cycles == 1 + len(words) + instructions, "the slice, and one cycle per word and one per instruction"


def test_each_reserved_bit_of_each_instruction_is_refused() -> None:
    for o in (*BODY, Op("START", {"config": NANO.hash}), Op("END")):
        clean = encode(o)
        header = 0xFFFFFFFF << sum(f.bits for f in HEADER[:-1]) & 0xFFFFFFFF
        masks = [header, *(o.row.reserved_mask(n) for n in range(1, o.row.length))]
        start = encode(Op("START", {"config": NANO.hash}))
        for number, mask in enumerate(masks):
            for bit in {mask & -mask, 1 << mask.bit_length() - 1} if mask else ():
                words = clean.copy()
                words[number] |= bit
                assert dispatch(start + words).fault == (Fault.ILLEGAL_FIELD, len(start)), (o.name, number, hex(bit))


@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_wrong_length_is_refused(wrong: int) -> None:
    for o in BODY:
        words = assemble(NANO, o)
        words[2] += wrong << 4
        assert dispatch(words).fault == (Fault.ILLEGAL_FIELD, 2)


def test_tokens_of_a_unit_that_is_not_built_are_refused() -> None:
    cases: tuple[dict[str, Any], ...] = ({"wait": {Unit.ROW}}, {"signal": {Unit.MISC}})
    for tokens in cases:
        o = op("SAVE", **tokens)
        small = replace(NANO, build_misc=False)
        assert dispatch(assemble(small, op("SAVE"), o), small).fault == (Fault.ILLEGAL_FIELD, pcs(op("SAVE"))[1])
        with pytest.raises(MachineFault, match="which this machine does not have"):
            check_program(assemble(small, o), small)
        every = replace(NANO, build_rows=True)
        assert dispatch(assemble(every, o), every).ended


def test_unknown_opcodes_and_units_that_are_not_built_are_refused() -> None:
    for opcode in set(range(16)) - {row.opcode for row in INSTRUCTIONS}:
        words = assemble(NANO, op("SAVE"))
        words[2] = words[2] & ~15 | opcode
        assert dispatch(words).fault == (Fault.ILLEGAL_OPCODE, 2)
    small = replace(NANO, build_pool=False, build_misc=False)
    for name in ("POOL", "MISC", "ROW", "LOADW"):
        assert dispatch(assemble(small, op("SAVE"), op(name)), small).fault == (Fault.ILLEGAL_OPCODE, pcs(op("SAVE"))[1])
    assert dispatch(assemble(small, op("SAVE"), op("CONV")), small).ended
    products = replace(NANO, build_products=True)
    assert dispatch(assemble(products, op("LOADW")), products).ended


@pytest.mark.parametrize("name", ["START", "END"])
@pytest.mark.parametrize("bit", [9, 13, 14, 18])
def test_start_and_end_carry_no_tokens(name: str, bit: int) -> None:
    words = assemble(NANO)
    at = 0 if name == "START" else 2
    words[at] |= 1 << bit
    assert dispatch(words).fault == (Fault.ILLEGAL_FIELD, at)


def test_a_program_must_begin_with_start_of_this_configuration() -> None:
    assert dispatch(encode(op("SAVE")) + encode(Op("END"))).fault == (Fault.CONFIG_MISMATCH, 0)
    assert dispatch(encode(Op("END"))).fault == (Fault.CONFIG_MISMATCH, 0)
    assert dispatch(assemble(preset("base"))).fault == (Fault.CONFIG_MISMATCH, 0)
    late = assemble(NANO)[:2] + assemble(preset("zu2"))
    assert dispatch(late).fault == (Fault.CONFIG_MISMATCH, 2)


def test_the_words_of_a_faulty_first_instruction_never_make_it_whole() -> None:
    outcome = dispatch(encode(op("SAVE")) + encode(Op("END")))
    assert len(outcome.queues[Unit.SAVE]) < 1 + BY_NAME["SAVE"].length


def test_a_program_that_stops_short_of_end_is_refused() -> None:
    words = assemble(NANO, op("SAVE"))
    assert dispatch(words, program_words=0).fault == (Fault.PROGRAM_END, 0)
    assert dispatch(words, program_words=1).fault == (Fault.PROGRAM_END, 0)
    assert dispatch(words, program_words=2).fault == (Fault.PROGRAM_END, 2)
    assert dispatch(words, program_words=len(words) - 2).fault == (Fault.PROGRAM_END, 2)
    assert dispatch(words, program_words=len(words) - 1).fault == (Fault.PROGRAM_END, len(words) - 1)
    assert dispatch(words, program_words=len(words)).ended


def test_a_word_that_dram_refused_is_a_fault_of_its_instruction_only_if_it_is_reached() -> None:
    words = assemble(NANO, op("SAVE"), op("LOADP"))
    second = pcs(op("SAVE"))[1]
    assert dispatch(words, refused=second).fault == (Fault.FETCH_ERROR, second)
    assert dispatch(words, refused=second + 2).fault == (Fault.FETCH_ERROR, second)
    assert dispatch([*words, 0], refused=len(words)).ended


@pytest.mark.parametrize("seed", range(4))
def test_programs_with_flipped_bits_end_as_the_decoder_says(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(15):
        words = assemble(NANO, *rng.sample(BODY, 4))
        for _ in range(rng.choice([1, 1, 2])):
            words[rng.randrange(len(words))] ^= 1 << rng.randrange(32)
        program_words = rng.choice([len(words), len(words), rng.randrange(len(words))])
        outcome = dispatch(words, program_words=program_words)
        expected = reference(words, program_words, NANO)
        assert (outcome.fault, outcome.ended) == (expected.fault, expected.ended)
        for unit, sent in expected.queues.items():
            assert outcome.queues[unit][: len(sent)] == sent
