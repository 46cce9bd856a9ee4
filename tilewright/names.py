"""Names that people get nearly right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import click


def nearest(name: str, known: Iterable[str]) -> str:
    """``, did you mean 'compile'?`` if one is near; capitals do not count. Empty: none is."""
    spelt = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), spelt, n=1, cutoff=0.6)
    return f", did you mean {spelt[found[0]]!r}?" if found else ""


class SuggestingGroup(click.Group):
    """Commands whose error for an unknown name suggests the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:  # fmt: skip
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands(ctx):
            hint = nearest(name, self.list_commands(ctx)) or f"; known are {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"No such command {name!r}{hint}.".replace("?.", "?"), ctx)
        return super().resolve_command(ctx, args)
