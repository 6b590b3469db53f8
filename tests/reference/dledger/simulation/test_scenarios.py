"""The scripts of known flaws: as published something is lost, repaired it is not."""

from __future__ import annotations

from typing import Any

import pytest

from raftref.dledger.choices import PUBLISHED, REPAIRED, Flaw
from raftref.dledger.simulation import SCENARIOS, Event, figure8, truncated_tail


def committed_logs(events: list[Event]) -> list[dict[str, list[Any]]]:
    """The entries that each node holds as committed, after each event."""
    logs: dict[str, list[Any]] = {}
    committed: dict[str, list[Any]] = {}
    steps = []
    for event in events:
        node, shows = event["node"], event["shows"]
        logs[node] = shows.get("log", logs.get(node, []))
        committed[node] = logs[node][: shows["committedIndex"] + 1]
        steps.append(dict(committed))
    return steps


def agree(committed: dict[str, list[Any]]) -> bool:
    """No two nodes have different entries committed at one index."""
    logs = list(committed.values())
    return all(a == b for one in logs for other in logs for a, b in zip(one, other, strict=False))


def keep(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> bool:
    """Nothing that a node held as committed was changed or removed."""
    return all(after[node][: len(log)] == log for node, log in before.items())


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_a_scenario_ends_in_the_loss_as_published(name: str) -> None:
    steps = committed_logs(SCENARIOS[name](PUBLISHED))
    assert all(agree(each) for each in steps[:-1])
    assert not (agree(steps[-1]) and keep(steps[-2], steps[-1]))


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_a_repaired_scenario_loses_nothing(name: str) -> None:
    steps = committed_logs(SCENARIOS[name](REPAIRED))
    assert all(agree(each) for each in steps)


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_a_scenario_is_the_same_each_time(name: str) -> None:
    assert SCENARIOS[name](PUBLISHED) == SCENARIOS[name](PUBLISHED)


def test_figure_8_commits_by_counting_what_the_next_leader_does_not_hold() -> None:
    """PriorTermCommit; Raft, Figure 8."""
    events = figure8(PUBLISHED.without(Flaw.TRUNCATED_TAIL, Flaw.PUSH_TERM_CHECK))
    (commit,) = (e for e in events if e["action"] == "QuorumAckChecker")
    assert (commit["node"], commit["shows"]["currTerm"], commit["shows"]["committedIndex"]) == ("n1", 3, 0)
    last = events[-1]
    assert (last["node"], last["action"]) == ("n3", "HandleDoTruncate")
    assert last["shows"]["log"] == [{"term": 2, "value": "b"}]
    assert last["shows"]["committedIndex"] == 0


def test_in_figure_8_with_prior_terms_repaired_nothing_was_committed() -> None:
    events = figure8(PUBLISHED.without(Flaw.PRIOR_TERM_COMMIT))
    assert all(e["shows"]["committedIndex"] == -1 for e in events)


def test_a_resurrected_entry_is_taken_for_the_committed_one() -> None:
    config = PUBLISHED.without(Flaw.PRIOR_TERM_COMMIT, Flaw.PUSH_TERM_CHECK)
    events = truncated_tail(config)
    (restart,) = (e for e in events if e["action"] == "Restart")
    assert restart["args"] == {"resurrected": 1}
    values = [entry["value"] for entry in restart["shows"]["log"]]
    assert values == ["x", "y"]
    last = events[-1]
    assert (last["node"], last["action"], last["shows"]["committedIndex"]) == ("n1", "HandleDoCommit", 1)
    (stored,) = (e for e in events if e["action"] == "HandleDoAppend" and e["node"] == "n3")
    assert [entry["value"] for entry in stored["shows"]["log"]] == ["x", "z"]


def test_with_the_tail_repaired_the_commit_is_clamped_to_what_is_there() -> None:
    last = truncated_tail(PUBLISHED.without(Flaw.TRUNCATED_TAIL))[-1]
    assert (last["shows"]["ledgerEndIndex"], last["shows"]["committedIndex"]) == (0, 0)
