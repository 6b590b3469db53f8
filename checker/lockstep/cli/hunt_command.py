"""lockstep hunt."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.cli.options import FORMAT, SWITCH, completing, progress, progress_end

if TYPE_CHECKING:
    from lockstep.hunt.example import Target
    from lockstep.hunt.search import Search
    from lockstep.hunt.violating_trace import ViolatingTrace, WrittenFiles
    from lockstep.systems.system import System

#: The word that stands for every property.
ALL = "all"


def _words() -> list[str]:
    from lockstep.systems.registry import SYSTEMS

    hunted = [system.hunted() for system in SYSTEMS.values() if system.hunted is not None]
    return [ALL, *dict.fromkeys(name for each in hunted for name in (*each.properties, *each.flaws))]


def _system_words() -> list[str]:
    from lockstep.systems.registry import SYSTEMS

    return list(SYSTEMS)


@click.command()
@click.argument("word", metavar="[PROPERTY|FLAW|all]", default=ALL, shell_complete=completing(_words))
@click.option(
    "--system",
    "spec",
    shell_complete=completing(_system_words),
    help="The system, by the name of its spec (default: that of the flaw, or the first).",
)
@click.option(
    "--nodes",
    type=int,
    help="The number of nodes, of voters in Raft (default: what the flaw needs, mostly 3; 3 for a property).",
)
@SWITCH
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="The budget: a search that has found nothing ends then.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    help="The seed of the search (default: a random one, which is printed).",
)
@click.option(
    "--database",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder in which Hypothesis keeps what its first 100 examples found, and from which it tries that first "
    "(default: .hypothesis).",
)
@click.option("--no-database", is_flag=True, help="Keep nothing, and begin from nothing: the seed decides everything.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder for the trace, the scenario and the regression test.",
)
@FORMAT
def command(
    word: str,
    spec: str | None,
    nodes: int | None,
    switches: Mapping[str, bool | str | int],
    minutes: float,
    seed: int | None,
    database: Path | None,
    no_database: bool,
    output: Path,
    form: str,
) -> int:
    """Search for a violation with Hypothesis, from a group that has just started.

    A FLAW is turned on alone, with those that it needs beside it, and any property may fail; what the same steps
    violate without the flaw does not count. For a PROPERTY, or `all`, the flaws are as published unless --switch says
    otherwise; `--switch repaired` searches the repaired system.

    Each example draws its features, and batches of steps: of the random simulation with faults, of an election or
    ordinary work of some nodes while the rest is cut off, or any that are possible, those taken least first. Most
    go on from an earlier example, at a moment whose like was rarely met. The properties are checked in Python after
    each step. What is found is shrunk, taken again by the spec, which must confirm it, and written as a trace,
    which `lockstep check` refuses and `lockstep view` draws, as a scenario for `lockstep play`, and as a test.

    \b
    lockstep hunt FLAW
    lockstep hunt PROPERTY --switch repaired --switch FLAW=published --minutes 10
    lockstep hunt all --system SPEC --seed 7 -o found

    Exit codes: 0 nothing was found within the budget; 1 a violation; 2 wrong usage; 3 a package or tool is missing, or
    the budget was over before the first example; 4 an internal error.
    """
    from lockstep.base.errors import GaveUpError
    from lockstep.base.extras import extra

    with extra("hunt"):
        from lockstep.hunt.search import Search, without_needless_steps
        from lockstep.hunt.violating_trace import confirmed

    if database is not None and no_database:
        raise click.UsageError("give --database or --no-database")
    system, wanted = _target(word, spec, nodes, switches)
    seed = secrets.randbelow(2**32) if seed is None else seed
    kept = None if no_database else database or Path(".hypothesis")

    def say(text: str) -> None:
        progress_end()
        if form == "text":
            click.echo(text)

    flaws = ", ".join(wanted.flaws) or "none"
    say(f"{system.title}, {wanted.nodes} nodes, flaws: {flaws}; seed {seed}, {minutes:g} min")
    search = Search(wanted, seed, 60 * minutes, kept, progress, say)
    try:
        found = search.run()
        if found is None:
            if not search.progress.examples:
                raise GaveUpError(f"{minutes:g} minutes were over before the first example; give more")
            _say_nothing(search, wanted, seed, form)
            return 0
        short = without_needless_steps(wanted, found)
        scenario = f"hunt {word}, {wanted.nodes} nodes, seed {seed}"
        violating = confirmed(system, wanted, short, scenario, progress)
    finally:
        progress_end()
    _say_found(search, violating, violating.write(output, f"{violating.name.lower()}_{seed}"), seed, form)
    return 1


def _target(
    word: str, spec: str | None, nodes: int | None, switches: Mapping[str, bool | str | int]
) -> tuple[System, Target]:
    """Return the system that the words name, and what is searched there."""
    from lockstep.base.spelling import did_you_mean
    from lockstep.hunt.example import Target
    from lockstep.systems.registry import SYSTEMS

    if spec is not None and spec not in SYSTEMS:
        raise click.BadParameter(f"{spec!r} is none of {', '.join(SYSTEMS)}", param_hint="--system")
    candidates = [each for each in SYSTEMS.values() if each.hunted is not None and spec in (None, each.spec)]
    for system in candidates:
        hunted = system.hunted() if system.hunted is not None else None
        if hunted is None or word not in (ALL, *hunted.properties, *hunted.flaws):
            continue
        nodes = hunted.nodes_for(word) if nodes is None else nodes
        if nodes not in hunted.sizes:
            sizes = f"{hunted.sizes[0]} to {hunted.sizes[-1]}"
            raise click.BadParameter(f"a group of {system.title} has {sizes} nodes", param_hint="--nodes")
        if word in hunted.flaws:
            if switches:
                raise click.UsageError(f"{word} is a flaw, which alone is turned on; --switch goes with a property")
            flaws, properties = (word, *hunted.together.get(word, ())), frozenset(hunted.properties)
            return system, Target(hunted, nodes, flaws, properties, because=True)
        chosen = _chosen(system, switches)
        properties = frozenset(hunted.properties if word == ALL else (word,))
        return system, Target(hunted, nodes, chosen.flaws, properties, chosen.features)
    words = _words()
    near = did_you_mean(word, words) or f"; there are {', '.join(words)}"
    raise click.BadParameter(f"{word!r} is neither a property nor a flaw{near}", param_hint="PROPERTY|FLAW|all")


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The flaws of a group, and which of the features that are named it has."""

    flaws: tuple[str, ...]
    features: Mapping[str, bool]


def _chosen(system: System, switches: Mapping[str, bool | str | int]) -> _Chosen:
    """Return what switches choose: flaws as published unless they say otherwise; other features are drawn."""
    from lockstep.systems.trace_specs import expanded

    if system.constants is None or system.hunted is None:
        return _Chosen((), {})
    hunted = system.hunted()
    named = expanded(system.constants, switches)
    unknown = [name for name in named if name not in (*hunted.flaws, *hunted.features)]
    if unknown:
        raise click.BadParameter(
            f"{', '.join(unknown)}: each example draws the rest of the group; flaws and features can be named",
            param_hint="--switch",
        )
    constants = {**system.constants.defaults, **named}
    flaws = tuple(each for each in hunted.flaws if constants.get(each) == "published")
    features = {each: named[each] is True for each in hunted.features if each in named}
    for each, needed in hunted.features_needed.items():
        if features.get(each, False) and not all(features.get(other, True) for other in needed):
            raise click.BadParameter(f"{each} needs {', '.join(needed)}", param_hint="--switch")
    return _Chosen(flaws, features)


def _say_nothing(search: Search, wanted: Target, seed: int, form: str) -> None:
    done = search.progress
    if form == "json":
        click.echo(json.dumps({"found": None, "seed": seed, **_counts(search)}, indent=2))
        return
    never = [each for each in wanted.hunted.actions if each not in done.reached]
    progress_end()
    click.echo(f"nothing found in {done.line(wanted.hunted.actions)}")
    if never:
        click.echo(f"never taken: {', '.join(never)}")


def _say_found(search: Search, found: ViolatingTrace, files: WrittenFiles, seed: int, form: str) -> None:
    if form == "json":
        result = {
            "found": found.name,
            "values": found.values,
            "steps": list(found.steps()),
            "trace": str(files.trace),
            "scenario": str(files.scenario),
            "test": str(files.test),
            "seed": seed,
            **_counts(search),
        }
        click.echo(json.dumps(result, indent=2))
        return
    done = search.progress
    click.echo(f"{found.name} is violated, found after {search.found_after:.1f} s and {done.examples:,} examples:")
    for step in found.steps():
        click.echo(step)
    click.echo(f"{found.name}: {found.values}")
    click.echo(f"{files.trace}: {len(found.events)} events; the spec confirms the violation")
    click.echo(f"{files.scenario}: the steps, for lockstep play --scenario")
    click.echo(f"{files.test}: the regression test")


def _counts(search: Search) -> dict[str, object]:
    done = search.progress
    return {
        "examples": done.examples,
        "steps_taken": done.steps,
        "seconds": round(search.found_after or done.seconds, 1),
        "reached": dict(sorted(done.reached.items())),
        "farthest": dict(sorted(done.distances.items())),
    }
