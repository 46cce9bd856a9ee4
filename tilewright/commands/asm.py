"""``tilewright asm``."""

from __future__ import annotations

from pathlib import Path

import click

from isa.assembler import assemble
from isa.config import MachineConfig
from tilewright.options import check_output, config_option, json_option, print_json, read_text, write_file
from tilewright.printing import say

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("source", type=_PATH)
@config_option()
@click.option("-o", "--output", type=_PATH, help="Output file.  [default: SOURCE with the ending .elf, or .bin with --raw]")
@click.option("--raw", is_flag=True, help="Write the bare instruction words, little-endian, instead of a program file.")
@click.option("--unchecked", is_flag=True, help="Let through what the machine would refuse: for tests of its faults.")
@json_option()
def command(source: Path, config: MachineConfig, output: Path | None, raw: bool, unchecked: bool, as_json: bool) -> None:
    """Assemble the program text SOURCE into a program file.

    Every instruction must be legal on the configuration; CONFIG in the text stands for its hash.

    \b
    Example:
      tilewright asm program.s --config nano -o program.elf
    """
    from isa.program import Program
    from isa.program_file import program_bytes

    text = read_text(source)
    path = output or source.with_suffix(".bin" if raw else ".elf")
    check_output(path, source)
    words = assemble(text, origin=str(source), config=config, check_rules=not unchecked)
    bare = b"".join(word.to_bytes(4, "little") for word in words)
    write_file(path, bare if raw else program_bytes(Program(config, tuple(words))))
    if as_json:
        print_json({"file": str(path), "config": config.name, "words": len(words)})
    else:
        say(f"{path}: {len(words)} words for {config.name}")
