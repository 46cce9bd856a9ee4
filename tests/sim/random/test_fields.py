"""Every bit of every field: instructions with it turned are found, and the machine takes or refuses them as the functional
simulator does."""

from __future__ import annotations

from isa.codec import broken_rule
from isa.config import preset
from isa.faults import Fault
from isa.instructions import Unit
from sim.random.engines import rtl_machine
from sim.random.fields import bits_of, field_scenarios, variants
from sim.rtl.play import play
from sim.rtl.scenario import DONE

NANO = preset("nano")
SHARE = 16
LIMIT = 200_000


def test_most_bits_have_a_legal_instruction_and_many_one_that_is_refused() -> None:
    """What has neither is a count so high that the instruction would take too long."""
    bits = list(bits_of(NANO))
    found = list(variants(NANO, SHARE))
    assert len(found) == -(-len(bits) // SHARE)
    legal, refused = (sum(pair[which] is not None for pair in found) for which in (0, 1))
    assert legal > 0.8 * len(found)
    assert refused > 0.4 * len(found)
    assert all(broken_rule(op, NANO) is None for op, _ in found if op is not None)
    assert {row.unit for row, _, _ in bits} == set(Unit)


def test_the_machine_does_with_some_of_them_what_it_must() -> None:
    endings = []
    for scenario in field_scenarios(NANO, SHARE):
        assert play(rtl_machine(NANO), scenario, LIMIT) is None
        endings += scenario.endings
    assert DONE in endings
    assert {Fault.ILLEGAL_FIELD, Fault.FM_ADDRESS} < {ending[0] for ending in endings if ending}
