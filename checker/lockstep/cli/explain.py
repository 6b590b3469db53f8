"""lockstep explain."""

from __future__ import annotations

import click

from lockstep.cli.options import completing


def _codes() -> dict[str, str]:
    from lockstep.systems.explain import codes

    return codes()


@click.command()
@click.argument("code", required=False, shell_complete=completing(_codes))
def command(code: str | None) -> int:
    """Explain the CODE of a finding, or list the codes.

    The explanation of a property has the words of the spec, its definition, and the models that break it.

    \b
    lockstep explain LS202
    lockstep explain TypeOK
    """
    from lockstep.systems.explain import rule

    if code is None:
        for each, title in _codes().items():
            click.echo(f"{each}  {title}")
        return 0
    try:
        found = rule(code)
    except KeyError as error:
        raise click.BadParameter(f"there is no code {code!r}; `lockstep explain` lists them") from error
    click.echo(f"{found.code} {found.title}\n\n{found.text}")
    return 0
