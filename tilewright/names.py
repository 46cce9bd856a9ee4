"""A group of commands that suggests the nearest name."""

from __future__ import annotations

import click

from isa.names import nearest


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
