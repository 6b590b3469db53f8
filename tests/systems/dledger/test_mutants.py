"""Small mistakes in the reference: here a few are noticed, at night a sample; docs/measured/mutants.md has more."""

from __future__ import annotations

import inspect

import pytest

from raftref.dledger.quorum import is_quorum
from raftref.dledger.store import LedgerStore
from tests.support.sampling import sampled
from tests.support.systems.dledger_mutants import REFERENCE
from tests.support.systems.mutants import planted

#: Function, what is there, what is planted, the plan that notices, and whether a trace does or asking alone.
SAMPLE = (
    ("is_quorum", "count >= members_count // 2 + 1", "count < members_count // 2 + 1", "published", "traces"),
    ("_after_compare", "if m.end_index == compared:", "if False:", "published", "traces"),
    ("append_as_leader", "self.client_futures.put(index, entry)", "pass", "applied", "traces"),
    ("would_accept", "m.src == self.node_id", "m.src != self.node_id", "published", "asking"),
    (
        "can_do_committed",
        "self.apply_index > self.last_applied_index",
        "self.apply_index < self.last_applied_index",
        "applied",
        "asking",
    ),
)


@pytest.mark.parametrize(
    ("function", "before", "after", "plan", "by"), sampled(SAMPLE, SAMPLE[1:2]), ids=lambda each: each
)
def test_a_mistake_is_noticed(function: str, before: str, after: str, plan: str, by: str) -> None:
    with planted(REFERENCE.the(function, before, after)):
        assert (REFERENCE.by_traces([plan]) != "") == (by == "traces")
        assert REFERENCE.by_asking([plan]) != ""


def test_a_mistake_is_planted_where_the_method_runs_and_taken_out_again() -> None:
    assert is_quorum(2, 3)
    with planted(REFERENCE.the("is_quorum", "count >= members_count // 2 + 1", "count < members_count // 2 + 1")):
        assert not is_quorum(2, 3)
    assert is_quorum(2, 3)


def test_every_file_of_the_rooms_and_every_kind_of_mistake_is_among_the_mutants() -> None:
    all_of_them = REFERENCE.mutants()
    silent = {"__init__.py"}
    assert {m.path for m in all_of_them} >= {path for path in REFERENCE.sources if path.name not in silent}
    assert len(all_of_them) > 1000
    assert len({str(m) + str(m.nth) + str(m.change) for m in all_of_them}) == len(all_of_them)
    assert {"pass", "False", "True"} <= {m.after for m in all_of_them}
    has_entry = {m.after for m in all_of_them if m.function == LedgerStore.has_entry.__name__}
    assert {"0 < index < len(self.log)", "0 <= index <= len(self.log)"} <= has_entry
    assert "0 <= index < len(self.log)" in inspect.getsource(LedgerStore.has_entry)


@pytest.mark.nightly
def test_a_mistake_that_no_cluster_comes_to_is_noticed_by_the_rules() -> None:
    counting = "index > quorum_index and is_quorum(reached_count, len(watermarks))"
    assert REFERENCE.by_rules() == ""
    with planted(REFERENCE.the("quorum_index_by_counting", counting, "index > quorum_index")):
        assert REFERENCE.by_rules().startswith("QuorumIndexByCounting")


@pytest.mark.nightly
def test_ninety_of_a_hundred_mistakes_are_noticed() -> None:
    missed = REFERENCE.missed(100, seed=2)
    assert len(missed) <= 10, missed
