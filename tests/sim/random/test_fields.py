"""Every bit of every field: instructions with it turned are found, and the machine takes or refuses them as the functional
simulator does."""

from __future__ import annotations

from isa.capabilities import built_units
from isa.codec import broken_rule
from isa.config import preset
from isa.faults import Fault
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
    legal = [op for turned in found for op in (turned.legal, turned.alone) if op is not None]
    assert len(legal) > len(found)
    assert all(broken_rule(op, NANO) is None for op in legal)
    illegal = [turned.illegal for turned in found if turned.illegal is not None]
    assert len(illegal) > 0.05 * len(found)
    assert all(broken_rule(op, NANO) is not None for op in illegal)
    assert sum(turned.outside is not None for turned in found) > 0.2 * len(found)
    assert {row.unit for row, _, _ in bits} == set(built_units(NANO))


def test_the_machine_does_with_some_of_them_what_it_must() -> None:
    endings = []
    for scenario in field_scenarios(NANO, SHARE):
        assert play(rtl_machine(NANO), scenario, LIMIT) is None
        endings += scenario.endings
    assert DONE in endings
    assert {Fault.ILLEGAL_FIELD, Fault.FM_ADDRESS} < {ending[0] for ending in endings if ending}
