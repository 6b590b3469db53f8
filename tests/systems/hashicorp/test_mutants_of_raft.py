"""Small mistakes in the reference of hashicorp/raft: two are noticed here, at night a sample."""

from __future__ import annotations

import pytest

from tests.support.sampling import sampled
from tests.support.systems.hashicorp_mutants import REFERENCE
from tests.support.systems.mutants import planted

#: Function, what is there, what is planted, the plan that notices, and whether a trace does or asking alone.
SAMPLE = (
    ("leave_loop", "self.stop_leading()", "pass", "raft_whole_published", "traces"),
    (
        "can_append",
        "0 <= count <= most_entries(server, next_index)",
        "0 <= count < most_entries(server, next_index)",
        "raft_whole_published",
        "asking",
    ),
)


@pytest.mark.parametrize(
    ("function", "before", "after", "plan", "by"), sampled(SAMPLE, SAMPLE[:1]), ids=lambda each: each
)
def test_a_mistake_is_noticed(function: str, before: str, after: str, plan: str, by: str) -> None:
    with planted(REFERENCE.the(function, before, after)):
        assert (REFERENCE.by_traces([plan]) != "") == (by == "traces")
        assert REFERENCE.by_asking([plan]) != ""


@pytest.mark.nightly
def test_a_mistake_in_what_only_the_sketch_has_is_noticed_where_a_cluster_has_its_flaw() -> None:
    """`_replay` runs in no plan: none has ReplayUncommitted. This one reads an entry behind the end."""
    assert REFERENCE.elsewhere() == ""
    in_replay = [m for m in REFERENCE.mutants() if (m.function, m.before, m.after) == ("_replay", "1", "2")]
    with planted(in_replay[-1]):
        assert "KeyError at step" in REFERENCE.elsewhere()


def test_every_file_that_the_spec_speaks_of_is_among_the_mutants() -> None:
    all_of_them = REFERENCE.mutants()
    silent = {"__init__.py"}
    assert {m.path for m in all_of_them} == {path for path in REFERENCE.sources if path.name not in silent}
    assert len(all_of_them) > 1000
    assert len({str(m) + str(m.nth) + str(m.change) for m in all_of_them}) == len(all_of_them)


@pytest.mark.nightly
def test_ninety_of_a_hundred_mistakes_are_noticed() -> None:
    missed = REFERENCE.missed(100, seed=1)
    assert len(missed) <= 10, missed
