"""``tilewright disasm``."""

from __future__ import annotations

import struct
from pathlib import Path

import click

from isa.disassembler import disassemble, format_statement, statements
from isa.program import Program
from isa.program_file import load_program
from tilewright.options import InputError, json_option, print_json


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.option("--raw", is_flag=True, help="PROGRAM holds bare instruction words, as asm --raw writes them.")
@click.option("--plain", is_flag=True, help="Leave out the remarks: word offset, layer and tile.")
@json_option()
def command(program: Path, raw: bool, plain: bool, as_json: bool) -> None:
    """Print the instructions of PROGRAM as assembler text, which assembles to the same words again.

    \b
    Example:
      tilewright disasm program.elf
    """
    loaded = None if raw else load_program(program)
    words = loaded.words if loaded else _raw_words(program)

    def remark(pc: int) -> str:
        return f"{pc:#06x} {_origin(loaded, pc)}".rstrip()

    if as_json:
        rows = [
            {"pc": pc, "text": format_statement(content), "origin": _origin(loaded, pc)} for pc, content in statements(words)
        ]
        print_json({"config": loaded.config.name if loaded else None, "instructions": rows})
    else:
        click.echo(disassemble(words, None if plain else remark), nl=False)


def _raw_words(path: Path) -> tuple[int, ...]:
    content = path.read_bytes()
    if len(content) % 4:
        raise InputError(f"{path}: {len(content)} bytes are no whole number of words; if it is a program file, leave out --raw")
    return struct.unpack(f"<{len(content) // 4}I", content)


def _origin(program: Program | None, pc: int) -> str:
    record = program.origin(pc) if program else None
    return str(record) if record else ""
