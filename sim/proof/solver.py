"""Bitwuzla as a command for yosys-smtbmc: SMT-LIB commands in, answers out. The package from PyPI is a library alone.

Each ``check-sat`` gives a new solver all that is asserted at this point: the library's parser reads whole scripts, and loses
count of scopes between two texts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import bitwuzla

INSTANT = ("(set-", "(declare-", "(define-", "(assert ")
"""The commands that say something for later. Every other command is asked at once."""


NAMES = ("(declare-", "(define-")
"""Those of them that a question about the values found may use although they come after the answer."""


def commands(lines: Iterable[str]) -> Iterator[str]:
    """Yields whole commands. Names between bars may hold anything but bars."""
    text, depth, quoted = "", 0, False
    for line in lines:
        for character in line:
            if not quoted and character == ";":
                text += "\n"
                break
            text += character
            quoted ^= character == "|"
            if not quoted:
                depth += (character == "(") - (character == ")")
        if depth == 0 and not quoted:
            if text.strip():
                yield text.strip()
            text = ""


def main(lines: Iterable[str]) -> None:
    scopes: list[list[str]] = [[]]
    parser = None
    for command in commands(lines):
        word = command[1:].split()[0].rstrip(")")
        if word == "push":
            scopes.append([])
        elif word == "pop":
            scopes.pop()
        elif word == "exit":
            return
        elif command.startswith(INSTANT):
            scopes[-1].append(command)
            if parser is not None and command.startswith(NAMES):
                parser.parse(command, False, False)
        else:
            text = command
            if word == "check-sat":
                options = bitwuzla.Options()
                options.set(bitwuzla.Option.PRODUCE_MODELS, True)
                parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
                text = "\n".join((*(line for scope in scopes for line in scope), command))
            if parser is None:
                raise SystemExit(f"{command}: asked before check-sat")
            parser.parse(text, False, False)
            sys.stdout.flush()


if __name__ == "__main__":
    if "--help" in sys.argv:
        print("--lang smt2")
    else:
        main(sys.stdin)
