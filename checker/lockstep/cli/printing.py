"""What other programs read: lockstep schema, lockstep completion."""

from __future__ import annotations

import json

import click
from click.shell_completion import get_completion_class


@click.command(name="schema")
def schema() -> int:
    """Print the JSON Schema of a line of a trace."""
    from lockstep.trace.format import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
    return 0


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that makes a shell complete the words of this command.

    \b
    eval "$(lockstep completion bash)"       in ~/.bashrc; the same with zsh in ~/.zshrc
    lockstep completion fish | source        in ~/.config/fish/config.fish
    """
    from lockstep.cli import cli

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "lockstep", "_LOCKSTEP_COMPLETE").source())
    return 0
