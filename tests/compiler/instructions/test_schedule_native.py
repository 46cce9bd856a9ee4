"""Order and tokens found in C++ against those found in Python."""

from __future__ import annotations

import pytest

from compiler.emit import program as emitting
from compiler.instructions.native import engine, layout
from compiler.instructions.pending import GRANULE, Access, Pending, Space
from compiler.instructions.scheduled import Scheduled, scheduled
from compiler.zoo.networks import networks
from isa.errors import TilewrightError
from tests.compiler.instructions.test_hazards_and_order import SIZES, program
from tests.tools import needs_cxx
from tilewright.compiling import compile_model


def native(instructions: list[Pending], sizes: dict[Space, int]) -> Scheduled | None:
    engine.LIBRARY.built()
    library = engine.LIBRARY.loaded()
    assert library is not None
    return engine.found_by(library, instructions, sizes)


@needs_cxx
@pytest.mark.parametrize("length", [0, 1, 40, 300])
@pytest.mark.parametrize("seed", range(15))
def test_random_programs(seed: int, length: int) -> None:
    instructions = program(seed, length)
    assert native(instructions, SIZES) == scheduled(instructions, SIZES)


@needs_cxx
@pytest.mark.filterwarnings("ignore:no calibration data")
@pytest.mark.parametrize(
    ("name", "size", "config"), [("squeezenet", 128, "base"), pytest.param("mobilenet_v2", 96, "zu9", marks=pytest.mark.slow)]
)
def test_all_programs_of_a_compilation(name: str, size: int, config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def both(instructions: list[Pending], spaces: dict[Space, int]) -> Scheduled:
        found = native(instructions, spaces)
        assert found == scheduled(instructions, spaces)
        sizes.append(len(instructions))
        return found

    monkeypatch.setattr(emitting, "scheduled", both)
    # A second process would compare out of sight.
    monkeypatch.setenv("TILEWRIGHT_CORES", "1")
    compile_model(networks()[name](size=size), config, cache=False)
    assert sum(sizes) > 500


OUTSIDE = {
    "behind the end": Access(Space.FM, 20, 6), "before the beginning": Access(Space.FM, -1, 2),
    "in its last run": Access(Space.FM, 0, 4, 3, 12), "beyond the last granule": Access(Space.WORK, 600, 200),
}  # fmt: skip


@needs_cxx
@pytest.mark.parametrize("name", OUTSIDE)
def test_accesses_outside_a_space_are_told_by_the_python(name: str) -> None:
    instructions = [Pending("SAVE", {}, [OUTSIDE[name]])]
    assert native(instructions, SIZES) is None
    with pytest.raises(IndexError, match="lies outside its space"):
        engine.scheduled(instructions, SIZES)


@needs_cxx
def test_too_many_tokens_are_told_by_the_python() -> None:
    """Each convolution waits for a load of its own, which all come first."""
    sizes = {Space.FM: 1000}
    loads = [Pending("LOAD", {}, (), [Access(Space.FM, n, 1)], 1) for n in range(300)]
    first = Pending("CONV", {}, [Access(Space.FM, 0, 1)], [Access(Space.FM, 500, 1)], 100_000)
    convolutions = [Pending("CONV", {}, [Access(Space.FM, n, 1)], (), 1) for n in range(1, 300)]
    instructions = [*loads, first, *convolutions]
    assert native(instructions, sizes) is None
    with pytest.raises(TilewrightError, match="256 tokens from LOAD to CONV, at most 255; use larger tiles"):
        engine.scheduled(instructions, sizes)


def test_without_the_library_python_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found = engine.scheduled(program(3), SIZES)
    monkeypatch.setattr(type(engine.LIBRARY), "loaded", lambda _: None)
    assert engine.scheduled(program(3), SIZES) == found


def test_the_layout_has_every_space_and_unit() -> None:
    text = layout.header()
    assert f"SPACES = {len(Space)};" in text
    assert f"GRANULE[] = {{{', '.join(str(GRANULE[space]) for space in Space)}}};" in text
