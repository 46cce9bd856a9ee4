"""Options that several commands share."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from isa.config import MachineConfig, load_config
from isa.cores import MOST_CORES
from isa.errors import TilewrightError
from isa.files import WriteError, is_stream, write_together
from sim.campaign.cores import all_cores
from sim.campaign.run import How
from tilewright.interrupts import time_budget

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


STRATEGY_HELP = (
    "How groups are chosen: naive, greedy, dnnvm, efficient-s, fuse-and-shrink, optimus, optimus-online, or best; "
    "by the papers' own formulas: optimus-as-written, optimus-online-as-written, dnnvm-as-written; or neocpu, which chooses "
    "how groups are executed."
)

EVALUATOR_HELP = "What tells how long a group takes when groups are chosen: analytic, cycle (cycle model) or rtl."

EFFORT_HELP = (
    "Of strategy best: quick times no programs, normal all but very long ones; full times all, weighs more groups, and more "
    "ways to execute them: minutes."
)

ORDER_HELP = (
    "How the order of groups that needs the least DRAM is found: least (exact search), programme (integer programme), pieces "
    "(the programme of acyclic pieces), or given (as the search has it)."
)

OBJECTIVE_HELP = "What the search makes least: cycles, dram (bytes moved), energy, or memory (DRAM that feature maps take)."


LESS_TO_DO = {"effort": "--effort quick", "strategy": "--strategy naive"}
"""The options with which a command has less to do, by the argument of a command that takes the option."""


class InputError(TilewrightError):
    """Raised for a file that a command was given and cannot use."""


class ConfigOption(click.ParamType[MachineConfig]):
    """The type of a preset, or of a TOML file."""

    name = "preset or file.toml"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> MachineConfig:
        return value if isinstance(value, MachineConfig) else load_config(str(value))


def config_option(*, default: str | None = "base", help: str = "Preset, or TOML file, of the machine.") -> Decorator:
    """The option ``--config``: a preset (see ``tilewright config list``) or a TOML file."""
    return click.option("--config", type=ConfigOption(), default=default, show_default=True, help=help)


def cores_option(help: str, *, default: int | None = 1) -> Decorator:
    """The option ``--cores``: how many machines of the configuration."""
    return click.option("--cores", type=click.IntRange(1, MOST_CORES), default=default, show_default=True, help=help)


def json_option() -> Decorator:
    """The option ``--json``: for scripts."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


JSON_FORMAT = 1
"""The format of the output. It rises when a key changes its name or its meaning; new keys may come without."""


def print_json(value: Mapping[str, object]) -> None:
    """Prints JSON. Keys are snake_case; docs/reference/json.md has all of them."""
    click.echo(json.dumps({"format": JSON_FORMAT, **value}, indent=2))


def cpu_option() -> Decorator:
    """The option ``--cpu``: the processor of the parts on the CPU."""
    help_text = (
        "Processor of the parts on the CPU: cortex-a53, cortex-a72, cortex-a9, cortex-m7, vexriscv, or this (measured here).  "
        "[default: that of the configuration's chip]"
    )
    return click.option("--cpu", metavar="NAME", help=help_text)


def read_text(path: Path) -> str:
    """The text of an input file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not text: byte {error.start} is not UTF-8") from None


def check_output(path: Path, *inputs: Path | str | None) -> None:
    """Refuses an output file that cannot be written, or that is one of the inputs, before any work is done for it."""
    for source in inputs:
        if source is not None and path.is_file() and os.path.exists(source) and os.path.samefile(path, source):
            raise InputError(f"{path} cannot be written: it is also read, as {source}; choose another name for the output")
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder")
    if is_stream(path):
        return
    above = next(folder for folder in (path.parent, *path.parent.parents) if folder.exists())
    if not above.is_dir():
        raise InputError(f"{path} cannot be written: {above} is not a folder")
    if not os.access(above, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission to write in {above}")


def check_apart(paths: Sequence[Path]) -> None:
    """Refuses two output files of one name."""
    seen: set[str] = set()
    for path in paths:
        name = os.path.realpath(path)
        if name in seen and not is_stream(path):
            raise InputError(f"{path} cannot be written: it is asked for twice; give each output file a name of its own")
        seen.add(name)


def write_file(path: Path, content: bytes) -> None:
    """Writes an output file, whole or not at all. Errors name the file, not its temporary neighbour."""
    write_files([(path, content)])


def write_files(files: Iterable[tuple[Path, bytes]]) -> None:
    """Writes output files: all of them, or none."""
    files = list(files)
    for path, _ in files:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise InputError(f"{path} cannot be written: {path.parent} is not a folder") from None
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from None
    try:
        write_together(files)
    except WriteError as error:
        raise InputError(f"{error.path} cannot be written: {error.strerror}") from None


def timing_options() -> Decorator:
    """The options ``--engine`` and ``--input``: where the times of instructions come from."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        help_text = "Where times come from: the cycle model, or a run on the generated Verilog."
        choice = click.Choice(["cycle", "rtl"])
        with_engine = click.option("--engine", type=choice, default="cycle", show_default=True, help=help_text)(function)
        help_text = "NPZ file of inputs, for rtl.  [default: random ones]"
        return click.option("--input", "source", type=click.Path(path_type=Path), help=help_text)(with_engine)

    return decorate


def seconds_option() -> Decorator:
    """The option ``--seconds``: the command ends with an error if it takes longer."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def within(*, seconds: float | None, **rest: Any) -> Any:
            less = [option for name, option in LESS_TO_DO.items() if name in rest]
            remedy = f"give more, or less to do: {', '.join(less)}" if less else "give more"
            with time_budget(seconds, click.get_current_context().info_name or "", remedy):
                return function(**rest)

        help_text = "Give up after so long.  [default: never]"
        return click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help=help_text)(within)

    return decorate


def campaign_options() -> Decorator:
    """The options ``--workers``, ``--scheduler``, ``--record`` and ``--resume``, which the command gets as ``how``."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def with_how(
            *, workers: int | None, scheduler: str | None, record: Path | None, resume: bool, **rest: Any
        ) -> Any:  # fmt: skip
            return function(how=How(workers or all_cores(), scheduler, record, resume), **rest)

        options = (
            click.option("--workers", type=click.IntRange(min=1), help="Processes that share the work.  [default: all cores]"),
            click.option(
                "--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers share the work, as tcp://host:8786."
            ),
            click.option("--record", type=click.Path(path_type=Path), help="File for results as they come."),
            click.option("--resume", is_flag=True, help="Take what the file of --record holds, and go on with the rest."),
        )
        decorated: Callable[..., Any] = with_how
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate
