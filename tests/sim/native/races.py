"""Run by ``test_races.py``, in a process with ThreadSanitizer: LIBRARY FOLDER. Four threads share the library, which is built
there with the sanitizer; what each gets is what Python computes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sim.native import library

THREADS, TURNS = 4, 2
RACING = f"""
#include <atomic>
#include <thread>
long calls;
std::atomic<int> met;
extern "C" bool racing() {{
    for (++met; met < {THREADS};) std::this_thread::yield();
    for (int i = 0; i < 1000000; i++) ++calls;
    return true;
}}
"""
FOLDER = Path(sys.argv[2])
library.OPTIONS = (*library.OPTIONS, "-g", "-fsanitize=thread")  # type: ignore[assignment]
library.Library.kept_in = lambda self: (FOLDER,)  # type: ignore[method-assign]


def cycle_model() -> list[Callable[[], bool]]:
    """A machine of all threads, and one of each."""
    from sim.cycle.control import executed
    from sim.cycle.native import engine
    from sim.cycle.program import from_ops
    from tests.sim.cycle.cycle_programs import EXACT, NANO

    engine.LIBRARY.built()
    shared = engine.native_execution(NANO)
    programs = [from_ops(NANO, ops) for ops in EXACT.values()]
    expected = [executed(NANO, program) for program in programs]

    def turn() -> bool:
        own = engine.native_execution(NANO)
        assert shared is not None
        assert own is not None
        return all([shared(program), own(program)] == [right, right] for program, right in zip(programs, expected, strict=True))

    return [turn] * THREADS


def scheduler() -> list[Callable[[], bool]]:
    from compiler.instructions.native import engine
    from compiler.instructions.scheduled import scheduled
    from tests.compiler.instructions.test_hazards_and_order import SIZES, program

    engine.LIBRARY.built()
    found = engine.LIBRARY.loaded()
    assert found is not None
    programs = [program(seed, 100) for seed in range(THREADS)]
    expected = [scheduled(each, SIZES) for each in programs]
    return [lambda: [engine.found_by(found, each, SIZES) for each in programs] == expected] * THREADS


def racing() -> list[Callable[[], bool]]:
    """A library that counts calls in a variable of all threads. No thread begins to count before all are there: else the
    interpreter's lock would order them."""
    source = FOLDER / "racing"
    source.mkdir()
    (source / "racing.cpp").write_text(RACING)
    counting = library.Library("race", source, "racing.cpp", str, "racing")
    counting.built()
    found = counting.loaded()
    assert found is not None
    return [lambda: bool(found.racing())] * THREADS


def main() -> None:
    turns = {each.__name__: each for each in (cycle_model, scheduler, racing)}[sys.argv[1]]()
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in range(TURNS):
            assert all(threads.map(lambda turn: turn(), turns))
    print("all as expected")


main()
