"""lockstep schema, lockstep completion, lockstep explain."""

from __future__ import annotations

import json

import click
from click.shell_completion import get_completion_class

from lockstep.base.spelling import did_you_mean
from lockstep.cli.options import completing


@click.command(name="schema")
def schema() -> int:
    """Print the JSON Schema of a line of a trace."""
    from lockstep.trace.trace_format import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
    return 0


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script that makes a shell complete the words of this command.

    \b
    eval "$(lockstep completion bash)"       in ~/.bashrc; the same with zsh in ~/.zshrc
    lockstep completion fish | source        in ~/.config/fish/config.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, "lockstep", "_LOCKSTEP_COMPLETE").source())
    return 0


def _codes() -> dict[str, str]:
    from lockstep.report.code_explanation import codes

    return codes()


@click.command(name="explain")
@click.argument("code", required=False, shell_complete=completing(_codes))
def explain(code: str | None) -> int:
    """Explain the CODE of a finding, or list the codes.

    The explanation of a property is its comment and definition in the spec, and the models that break it.

    \b
    lockstep explain LS202
    lockstep explain TypeOK
    """
    from lockstep.report.code_explanation import rule

    if code is None:
        for each, title in _codes().items():
            click.echo(f"{each}  {title}")
        return 0
    try:
        found = rule(code)
    except KeyError as error:
        near = did_you_mean(code.upper(), _codes()) or did_you_mean(code, _codes().values())
        raise click.BadParameter(f"there is no code {code!r}{near or ';'} `lockstep explain` lists them") from error
    click.echo(f"{found.code} {found.title}\n\n{found.text}")
    return 0
