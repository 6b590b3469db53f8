"""The option that chooses a variant of the spec: what it may be, and what is completed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from lockstep.cli.options import completing

#: Of so many values of a constant only the first and the last are listed.
_MANY = 5


def variants() -> list[str]:
    """Name the variants of all systems; what one chooses is for the system of a trace to say."""
    from lockstep.systems.registry import constants

    return list(dict.fromkeys(name for each in constants() for name in each.variants))


def _allowed() -> dict[str, dict[str, bool | str | int]]:
    """Return what each constant may be, by the word for it."""
    from lockstep.systems.registry import constants

    found: dict[str, dict[str, bool | str | int]] = {}
    for each in constants():
        for name, choices in each.allowed.items():
            found.setdefault(name, {}).update({str(choice).lower(): choice for choice in choices})
    return found


def _listed(words: Iterable[str]) -> str:
    """Return the words for the values of a constant, of numbers the first and the last."""
    listed = list(words)
    return "|".join(listed) if len(listed) < _MANY else f"{listed[0]}..{listed[-1]}"


def _switches(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, bool | str | int]:
    """Read NAME=VALUE pairs; the name of a variant sets all that it chooses."""
    if not values:
        return {}
    known, allowed = variants(), _allowed()
    chosen: dict[str, bool | str | int] = {}
    for value in values:
        if value in known:
            chosen[value] = True
            continue
        name, equals, text = value.partition("=")
        if not equals or text.lower() not in allowed.get(name, {}):
            names = ", ".join(f"{name}={_listed(words)}" for name, words in allowed.items())
            raise click.BadParameter(f"{value!r} is none of: {', '.join(known)}, {names}")
        chosen[name] = allowed[name][text.lower()]
    return chosen


def _switch_completions() -> list[str]:
    return [*variants(), *(f"{name}={word}" for name, words in _allowed().items() for word in words)]


SWITCHES = click.option(
    "--switch",
    "switches",
    multiple=True,
    callback=_switches,
    shell_complete=completing(_switch_completions),
    help="Check against another variant of the spec: `repaired`, `published`, or NAME=VALUE for one constant.",
)
