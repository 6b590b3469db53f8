"""A specification explored twice, by tables and state by state, and where the two differ."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from lockstep.models.search_result import SpecFiles
from lockstep.tla.exploration import Exploration
from lockstep.tla.explore import explore
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables
from lockstep.tla.values.kinds import TlaError


def by_tables(spec: Spec, **options: Any) -> TableExploration | str:
    """Explore by tables; for an evaluation that fails, return the error with its steps."""
    try:
        return explore_by_tables(spec, SearchOptions(**options))
    except TlaError as error:
        return f"{error} after {getattr(error, 'trace', None)}"


#: Options of a search by tables alone.
_OF_TABLES = ("fingerprint_seed", "count_orbits", "memory_budget")


def literally(spec: Spec, **options: Any) -> Exploration | str:
    """Explore state by state; for an evaluation that fails, return the error with its steps."""
    try:
        return explore(
            spec, SearchOptions(**{name: value for name, value in options.items() if name not in _OF_TABLES})
        )
    except TlaError as error:
        return f"{error} after {getattr(error, 'trace', None)}"


def differences(spec: Spec, *, edges: bool = False, **options: Any) -> list[str]:
    """List the differences of the two searches: in counts, the violation and its steps, states and steps.

    Arguments: `edges`, whether states and steps are compared, too, where all were seen; `options`, of both searches.
    """
    ours = by_tables(spec, keep_edges=edges, **options)
    theirs = literally(spec, keep_edges=edges, **options)
    if isinstance(ours, str) or isinstance(theirs, str):
        return [] if ours == theirs else [f"{ours} by tables, {theirs} state by state"]
    names = ("distinct", "generated", "depth", "complete", "violation", "unchecked", "levels")
    values = [(name, getattr(ours, name), getattr(theirs, name)) for name in names[: None if theirs.complete else -1]]
    found = [f"{name}: {mine} by tables, {other} state by state" for name, mine, other in values if mine != other]
    return found + (_of_graph(ours, theirs) if edges and theirs.complete and theirs.states and not found else [])


def _of_graph(ours: TableExploration, theirs: Exploration) -> list[str]:
    assert ours.graph is not None
    states = ours.graph.states[:]
    sources, targets = ours.graph.successors.edges()
    edges = zip(sources.tolist(), ours.graph.actions, targets.tolist(), strict=True)
    mine = Counter((states[source], action, states[target]) for source, action, target in edges)
    other = Counter((theirs.states[each.source], each.action, theirs.states[each.target]) for each in theirs.edges)
    found = [] if states == theirs.states else ["the states, or their order"]
    return found + [f"steps: {mine - other} by tables, {other - mine} state by state"] * (mine != other)


def spec_of_one_part(folder: Path) -> SpecFiles:
    """Write a spec whose only variable changes as a whole, so that nearly every lookup of a table is new."""
    files = SpecFiles(folder / "Bits.tla", folder / "Bits.cfg")
    files.module.write_text(
        "---- MODULE Bits ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = {}\n"
        "Next == \\E i \\in 1..8 : x' = (x \\ {i}) \\cup ({i} \\ x)\n====\n"
    )
    files.cfg.write_text("INIT Init NEXT Next\n")
    return files
