"""A group of commands that helps with a word that it does not know."""

from __future__ import annotations

import click

from lockstep.base.spelling import did_you_mean


class CommandGroup(click.Group):
    """A group of commands that names the command that may be meant, and those that are there."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first argument names."""
        word, known = args[0], self.list_commands(ctx)
        if word not in known and not word.startswith("-") and not ctx.resilient_parsing:
            near = did_you_mean(word, known) or f"; there are {', '.join(known)}"
            raise click.UsageError(f"there is no command {word!r}{near}", ctx)
        return super().resolve_command(ctx, args)
