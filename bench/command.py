"""The common parts of the scripts of ``bench/`` as commands."""

from __future__ import annotations

import argparse


def command(name: str, description: str | None) -> argparse.ArgumentParser:
    """The parser of ``python -m bench.<name>``. Its help shows the script's docstring as it stands."""
    raw = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(prog=f"python -m bench.{name}", description=description, formatter_class=raw)
