"""Which properties each flaw violates: `python -m tests.scripts.sensitivity DLedger|HashicorpRaft` prints the tables.

Every model of the manifest that names a flaw is searched to its end, whatever fails on the way, and so is its green
twin; every property of the spec is evaluated in every state and on every step. docs/measured/sensitivity.md has the
tables.
"""

from __future__ import annotations

import functools
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lockstep.models.model_manifest import ModelEntry
from lockstep.report.text_table import table
from lockstep.systems.registry import SYSTEMS, manifest
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables
from lockstep.tlc.tlc_output import cfg_section

#: A graph with more distinct states than this is not searched.
LARGEST = 60_000

#: The kind of a violation by a whole behaviour.
OF_BEHAVIOURS = "temporal property"

_INVARIANTS, _PROPERTIES = ("INVARIANT", "INVARIANTS"), ("PROPERTY", "PROPERTIES")
_SYMMETRY = re.compile(r"^SYMMETRY\b.*\n", re.MULTILINE)
_CHECKED = re.compile(r"^(?:INVARIANTS?|PROPERTY|PROPERTIES)\b.*\n(?:[ \t]+.*\n)*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CheckedProperties:
    """The names of the properties that are checked in a model: invariants, properties of steps and of behaviours."""

    states: tuple[str, ...]
    steps: tuple[str, ...]
    behaviours: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search of a whole graph: its distinct states, and all that is violated somewhere in it.

    A graph that is too large was not searched to its end; it has no states.
    """

    states: int
    violated: frozenset[str]


def flawed(system: str) -> tuple[ModelEntry, ...]:
    """Return the models that a flaw makes fail, in the manifest's order."""
    return tuple(each for each in manifest(system).models if each.switch is not None)


def cfg_of(system: str, name: str) -> str:
    """Return the cfg of a model."""
    models = manifest(system)
    return models.files(models.model(name))[1].read_text(encoding="utf-8")


@functools.cache
def checked_properties(system: str, name: str) -> CheckedProperties:
    """Return the properties that are checked in a model: those of traces, and those that any model of a flaw names.

    A property of whole behaviours is checked only in the models that name it: the others do not assume fairness.
    """
    trace = SYSTEMS[system].trace_cfg.read_text(encoding="utf-8")
    models = [cfg_of(system, each.name) for each in flawed(system)]
    states = dict.fromkeys(each for cfg in (trace, *models) for each in cfg_section(cfg, *_INVARIANTS))
    steps = cfg_section(trace, *_PROPERTIES)
    own = cfg_section(cfg_of(system, name), *_PROPERTIES)
    behaviours = tuple(each for each in own if each not in steps)
    assert len(behaviours) <= 1, "a search ends at the first that is violated"
    return CheckedProperties(tuple(states), tuple(steps), behaviours)


def cfg_checking(cfg: str, states: Sequence[str] = (), properties: Sequence[str] = ()) -> str:
    """Return a cfg with these properties in place of its own."""
    wanted = (("INVARIANTS", states), ("PROPERTIES", properties))
    sections = [f"{kind}\n" + "".join(f"  {each}\n" for each in names) for kind, names in wanted if names]
    return _CHECKED.sub("", cfg) + "".join(sections)


def search(system: str, name: str, largest: int = LARGEST) -> Found:
    """Search the whole graph of a model, and check every property in each state and on each step.

    SYMMETRY is left out, since it replaces the end of a step by a state that is like it.

    Args:
        system: The name of the spec.
        name: The model; it has no CONSTRAINT.
        largest: The most distinct states that are searched.
    """
    models, checked = manifest(system), checked_properties(system, name)
    module, cfg = models.files(models.model(name))[0], _SYMMETRY.sub("", cfg_of(system, name))
    assert not cfg_section(cfg, "CONSTRAINT", "CONSTRAINTS", "ACTION_CONSTRAINT", "ACTION_CONSTRAINTS", "VIEW")
    with tempfile.TemporaryDirectory() as folder:

        def load(states: Sequence[str] = (), properties: Sequence[str] = ()) -> Spec:
            path = Path(folder, f"{name}.cfg")
            path.write_text(cfg_checking(cfg, states, properties), encoding="utf-8")
            return load_spec(module, path)

        spec = load(checked.states, [*checked.steps, *checked.behaviours])
        found = explore_by_tables(spec, SearchOptions(check_deadlock=False, max_states=largest))
        # A property of behaviours is checked when all states are known.
        if found.violation is None or found.violation.kind == OF_BEHAVIOURS:
            return ended(found)
        graph = explore_by_tables(load(), SearchOptions(keep_edges=True, check_deadlock=False, max_states=largest))
        violated = violated_in(spec, graph) if graph.complete else frozenset()
        if checked.behaviours and graph.complete:
            of_behaviours = load(properties=checked.behaviours)
            violated |= ended(explore_by_tables(of_behaviours, SearchOptions(check_deadlock=False))).violated
    return Found(graph.distinct if graph.complete else 0, violated)


def ended(found: TableExploration) -> Found:
    """Return the result of a search that no state and no step has stopped; it checks at most one of behaviours."""
    if not found.complete:
        return Found(0, frozenset())
    return Found(found.distinct, frozenset() if found.violation is None else frozenset({found.violation.name}))


def violated_in(spec: Spec, graph: TableExploration) -> frozenset[str]:
    """Return which properties of a spec fail in a state, or in a step, of a graph."""
    assert graph.graph is not None
    states = graph.graph.states[:]
    steps = {tuple(step) for step in np.array(graph.graph.successors.edges()).T.tolist()}
    violated = {name for name, holds in spec.invariants.items() if not all(map(holds, states))}
    for name, holds in spec.action_properties.items():
        if not all(holds(states[source], states[target]) for source, target in steps):
            violated.add(name)
    return frozenset(violated)


def searched(system: str, names: Iterable[str] = ()) -> Iterator[tuple[ModelEntry, Found, Found]]:
    """Yield the models of flaws, or those of these names, with what is found in them and in their twins."""
    for entry in flawed(system):
        if not names or entry.name in names:
            assert entry.twin is not None
            yield entry, search(system, entry.name), search(system, entry.twin)


# ---- What is printed ----

VIOLATED, HOLDS, NOT_CHECKED, NOT_SEARCHED = "x", ".", "", "?"


def row(number: int, entry: ModelEntry, found: Found, twin: Found) -> tuple[object, ...]:
    """Return the row of one flaw."""
    sizes = (f"{each.states:,}" if each.states else f"> {LARGEST:,}" for each in (found, twin))
    violated = ", ".join(sorted(twin.violated)) or ("nothing" if twin.states else NOT_SEARCHED)
    return (number, entry.switch, entry.name, *sizes, violated)


def cell(system: str, prop: str, entry: ModelEntry, found: Found) -> str:
    """Return the cell of one flaw and one property."""
    checked = checked_properties(system, entry.name)
    if prop not in (*checked.states, *checked.steps, *checked.behaviours):
        return NOT_CHECKED
    if not found.states:
        return VIOLATED if prop == entry.violates else NOT_SEARCHED
    return VIOLATED if prop in found.violated else HOLDS


def section(system: str, results: Sequence[tuple[ModelEntry, Found, Found]]) -> str:
    """Return the two tables: the models, and their flaws by properties."""
    kinds = [checked_properties(system, entry.name) for entry, _, _ in results]
    properties = dict.fromkeys(each for one in kinds for each in (*one.states, *one.steps))
    properties |= dict.fromkeys(each for one in kinds for each in one.behaviours)
    models = [row(number, *each) for number, each in enumerate(results, 1)]
    numbers = [str(number) for number, _ in enumerate(results, 1)]
    cells = [(each, *(cell(system, each, entry, found) for entry, found, _ in results)) for each in properties]
    head = ("no.", "flaw", "model", "states", "of its twin", "violated in the twin")
    return f"{table(head, models)}\n\n{table(('property', *numbers), cells)}\n"


if __name__ == "__main__":
    sys.stdout.write(section(sys.argv[1], list(searched(sys.argv[1], sys.argv[2:]))))
