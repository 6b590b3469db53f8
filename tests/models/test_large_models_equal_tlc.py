"""A search by tables finds the state graphs that TLC finds, up to a million states.

Smaller ones are compared with TLC's in test_models_equal_tlc, state by state, and by tables with these in test_tables.
"""

from __future__ import annotations

import functools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lockstep.systems.registry import manifests, model_named
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables
from lockstep.tlc import TlcOptions, dumped_graph, read_dot
from tests.scripts.sensitivity import cfg_checking
from tests.support.tla.whole_graphs import Numbered, graph_differences, of_tables, of_tlc

#: TLC had not written the states of this one after 37 minutes.
TOO_LONG = {"raft_snapshots_three"}
#: The properties of this one are evaluated anew in nearly every state: it is given up by tables, but not without them.
WITHOUT_PROPERTIES = {"refines_coarse_gap"}
#: Models that a search state by state takes too long for, and TLC does not.
LARGER = [
    each.name
    for of_one in manifests()
    for each in of_one.models
    if each.result == "holds" and each.distinct and 25_000 < each.distinct < 1_000_000 and each.name not in TOO_LONG
]


@functools.lru_cache(maxsize=1)
def both(name: str) -> tuple[TableExploration, Numbered, Numbered]:
    """Return what a search by tables finds, its graph, and TLC's."""
    manifest, entry = model_named(name)
    module, cfg = manifest.files(entry)
    actions: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        if name in WITHOUT_PROPERTIES:
            bare = cfg_checking(cfg.read_text(encoding="utf-8"))
            cfg = Path(folder, cfg.name)
            cfg.write_text(bare, encoding="utf-8")
        spec = load_spec(module, cfg, search_path=[manifest.path.parent / each for each in manifest.library])
        found = explore_by_tables(spec, SearchOptions(check_deadlock=False, keep_edges=True))
        ours = of_tables(found, spec, actions)
        with dumped_graph(module, cfg, TlcOptions(deadlock_check=False)) as (lines, result):
            theirs = of_tlc(read_dot(lines), found, spec, actions)
    assert len(theirs.states) == result.distinct == entry.distinct
    return found, ours, theirs


@pytest.mark.parametrize(
    "name", ["ordered", *(pytest.param(name, marks=pytest.mark.nightly) for name in LARGER)], scope="module"
)
def test_tables_have_exactly_the_states_and_steps_that_tlc_finds_with_their_actions(name: str) -> None:
    found, ours, theirs = both(name)
    assert found.complete
    assert len(ours.states) == found.distinct
    assert graph_differences(ours, theirs) == []


def test_every_difference_between_two_state_graphs_is_reported() -> None:
    _, ours, theirs = both("ordered")
    assert graph_differences(ours, theirs) == []
    states, steps, initial = ours.states.copy(), ours.steps.copy(), ours.initial.copy()
    states[7] = states[8]
    assert graph_differences(replace(ours, states=states), theirs) == ["states that are there twice: 1"]
    for end in range(3):  # another source, another action, another target
        other = steps.copy()
        other[11, end] = next(each for each in np.unique(steps[:, end]).tolist() if each != steps[11, end])
        (difference,) = graph_differences(replace(ours, steps=other), theirs)
        assert difference.startswith("steps: ")
    initial[5] = not initial[5]
    assert graph_differences(replace(ours, initial=initial), theirs)[0].startswith("initial states: ")
    fewer = f"{(len(states), len(steps) - 1)} states and steps, and {(len(states), len(steps))}"
    assert graph_differences(replace(ours, steps=steps[1:]), theirs) == [fewer]
