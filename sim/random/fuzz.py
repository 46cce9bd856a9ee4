"""Random programs on two engines. A program on which they disagree is shrunk and kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from isa.config import MachineConfig, config_from_dict
from isa.disassembler import disassemble
from isa.dispatched import instructions
from isa.errors import TilewrightError
from isa.instructions import Region
from sim.campaign.crash import crash
from sim.campaign.run import ALONE, How, campaign
from sim.campaign.work import Lost
from sim.functional.hazards import find_races
from sim.random.configs import any_config
from sim.random.engines import Engine, Outcome, functional, rtl, rtl_machine, wrong_on_rtl
from sim.random.program import DEFAULT_SIZE, RandomProgram, random_program
from sim.random.shrink import shrink
from sim.random.timed import wrong_cycles
from sim.rtl.tools import MissingToolError

Comparison = Callable[[RandomProgram], tuple[Outcome, str | None]]
"""A function from a program to the second engine's outcome, and how that differs from the first engine's."""
ENGINES = ("functional", "rtl", "icarus", "garbage")


class FuzzError(TilewrightError):
    """Raised when fuzzing is asked for something that does not exist."""


@dataclass
class FuzzReport:
    programs: int = 0
    instructions: int = 0
    cycles: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    """A line for each program on which the engines disagreed."""

    @property
    def ok(self) -> bool:
        return not self.failures


def run_fuzz(
    config: MachineConfig,
    seed: int,
    count: int,
    engine: str = "rtl",
    *,
    size: int = DEFAULT_SIZE,
    stalls: bool = True,
    directory: Path | str = "fuzz-failures",
    keep_going: bool = False,
    report: Callable[[str], None] = print,
    progress: Callable[[int, int], None] | None = None,
    how: How = ALONE,
) -> FuzzReport:
    """Runs the programs with seeds ``seed .. seed + count - 1`` on the functional simulator and on ``engine``.

    ``rtl`` is the generated Verilog in Verilator, ``icarus`` the same in Icarus, ``garbage`` as ``rtl`` but with random values
    in all that has none (``sim.rtl.garbage``). ``functional`` runs no hardware and looks for races between instructions
    instead. Cycles of the Verilog are compared with the cycle model (``sim.random.timed``) where there are no stalls. The first
    disagreement ends the run unless ``keep_going``; each leaves its smallest program in ``directory``. ``report`` is told of
    each disagreement. ``progress`` is told of each program: how many, and cycles, so far.
    """
    if engine not in ENGINES:
        raise FuzzError(f"engine {engine!r}: unknown; known are {', '.join(ENGINES)}")
    items = [Item(config, number, engine, size, stalls) for number in range(seed, seed + count)]
    of = {"programs": config.name, "hash": config.hash, "seed": seed, "engine": engine, "size": size, "stalls": stalls}
    return run_items(items, how, of, directory=directory, keep_going=keep_going, report=report, progress=progress)


def run_machines(
    machines: int, seed: int, count: int, engine: str = "rtl", *, directory: Path | str = "fuzz-failures",
    keep_going: bool = False, report: Callable[[str], None] = print,
    progress: Callable[[int, int], None] | None = None, how: How = ALONE,
) -> FuzzReport:  # fmt: skip
    """Runs ``count`` random programs on each random machine of seeds ``seed .. seed + machines - 1``, as ``run_fuzz`` does."""
    configs = [any_config(number) for number in range(seed, seed + machines)]
    items = [Item(config, number, engine) for config in configs for number in range(seed, seed + count)]
    of = {"programs on machines": [config.hash for config in configs], "seed": seed, "count": count, "engine": engine}
    return run_items(items, how, of, directory=directory, keep_going=keep_going, report=report, progress=progress)


def run_items(
    items: Sequence[Item], how: How, of: Mapping[str, Any], *, directory: Path | str, keep_going: bool,
    report: Callable[[str], None], progress: Callable[[int, int], None] | None,
) -> FuzzReport:  # fmt: skip
    """Runs each program on its machine. ``of`` names the campaign."""
    result = FuzzReport()
    start = time.monotonic()
    with campaign(compared, items, how, of, kind=lambda item: item.config.hash) as results:
        for item, found in zip(items, results, strict=True):
            result.programs += 1
            wrong = found.reason if isinstance(found, Lost) else found["wrong"]
            if not isinstance(found, Lost):
                result.instructions += found["instructions"]
                result.cycles += found["cycles"]
            if wrong is not None:
                kept = "" if isinstance(found, Lost) else _shrunk_and_kept(item, wrong, Path(directory))
                line = f"{item.config.name}, seed {item.seed}: {wrong}{kept}"
                result.failures.append(line)
                report(line)
                if not keep_going:
                    break
            if progress is not None:
                progress(result.programs, result.cycles)
    result.seconds = time.monotonic() - start
    return result


@dataclass(frozen=True)
class Item:
    """One random program, and what it runs on."""

    config: MachineConfig
    seed: int
    engine: str
    size: int = DEFAULT_SIZE
    stalls: bool = True


def compared(item: Item) -> dict[str, Any]:
    """The result of an item: its size, and how the engines differ, if they do. A crash counts as a difference."""
    try:
        program = random_program(item.config, item.seed, size=item.size)
    except Exception as error:
        return {"instructions": 0, "cycles": 0, "wrong": f"no program: {crash(error)}"}
    outcome, wrong = _not_crashing(comparison(item.config, item.engine, stalls=item.stalls))(program)
    return {"instructions": len(program.ops), "cycles": outcome.cycles, "wrong": wrong}


def _not_crashing(compare: Comparison) -> Comparison:
    def tried(program: RandomProgram) -> tuple[Outcome, str | None]:
        try:
            return compare(program)
        except MissingToolError:
            raise
        except Exception as error:
            return Outcome(), crash(error)

    return tried


def _shrunk_and_kept(item: Item, wrong: str, directory: Path) -> str:
    try:
        program = random_program(item.config, item.seed, size=item.size)
    except Exception:
        return ""
    compare = _not_crashing(comparison(item.config, item.engine, stalls=item.stalls))
    smallest = shrink(program, lambda candidate: compare(candidate)[1] is not None)
    path = directory / f"{item.config.name}-{item.seed}"
    save_case(smallest, path, compare(smallest)[1] or wrong)
    return f"; smallest program: {len(smallest.ops)} instructions in {path}"


def comparison(config: MachineConfig, engine: str, *, stalls: bool) -> Comparison:
    """A comparison of a program's outcomes on both engines."""
    if engine == "functional":
        return _racing
    machine = rtl_machine(config, "icarus" if engine == "icarus" else "verilator", garbage=engine == "garbage")
    other: Engine = rtl(machine, stalls=stalls)

    def compare(program: RandomProgram) -> tuple[Outcome, str | None]:
        actual = other(program)
        wrong = wrong_on_rtl(program, actual, stalls=stalls)
        return actual, wrong or wrong_cycles(program, actual, stalls=stalls)

    return compare


def save_case(program: RandomProgram, path: Path, detail: str) -> None:
    """Keeps all that is needed to run it again: ``case.json`` (seed, configuration, bases), program as text and binary,
    memory."""
    path.mkdir(parents=True, exist_ok=True)
    case = {
        "detail": detail,
        "config": json.loads(program.config.to_json()),
        "seed": program.seed,
        "order": program.order,
        "bases": {region.name: base for region, base in program.bases.items()},
    }
    (path / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    (path / "program.txt").write_text(disassemble(program.words))
    np.array(program.words, "<u4").tofile(path / "program.bin")
    program.memory.tofile(path / "memory.bin")


def load_case(path: Path) -> RandomProgram:
    """The program that ``save_case`` has kept."""
    case = json.loads((path / "case.json").read_text())
    config = config_from_dict(case["config"], origin=str(path))
    words = tuple(np.fromfile(path / "program.bin", "<u4").tolist())
    ops = tuple(op for op, _ in instructions(words, config) if op.row.unit is not None)
    bases = {Region[name]: base for name, base in case["bases"].items()}
    return RandomProgram(config, case["seed"], ops, words, np.fromfile(path / "memory.bin", np.uint8), bases, case["order"])


def _racing(program: RandomProgram) -> tuple[Outcome, str | None]:
    outcome = functional(program)
    if outcome.fault is not None:
        return outcome, f"a legal program stopped: {outcome.fault[0].name} at instruction word {outcome.fault[1]}"
    race = next(find_races(program.words, program.config, program.bases), None)
    return outcome, None if race is None else str(race)
