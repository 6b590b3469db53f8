"""Simulated clusters logged as DLedger logs: none is blamed for what it did not do, and lies are not believed.

What is made up here is the cluster; the lines are those that DLedger writes (tests/support/logs/simulated_logs.py).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from lockstep.systems.dledger.log_lines import read_logs
from raftref.dledger.simulation import simulate
from tests.scripts.log_trials import Outcome, lied, merged, run, trial
from tests.support.logs.simulated_logs import log_of
from tests.support.sampling import sampled
from tests.support.systems.dledger_lines import CAPTURED

#: The thousand clusters, in parts; the sample has one of every second plan.
PARTS = [range(first, first + 125) for first in range(0, 1000, 125)]
SAMPLE = range(0, 16, 4)
#: The share of whole logs, whose messages did not come twice, that must be explained.
FLOOR = 0.6
DOUBLED = ("late_truncate", "commit_past_end")


def outcomes(seeds: range, folder: Path) -> Counter[Outcome]:
    """Judge the logs of some clusters; return what becomes of those that are whole and of messages that came once."""
    counted: Counter[Outcome] = Counter()
    for seed in seeds:
        tried = trial(seed)
        (folder / str(seed)).mkdir()
        found = run(tried, folder / str(seed))
        assert not found.is_false_alarm, f"{tried.summary()}: {found.why}"
        if not tried.cut and tried.name not in DOUBLED:
            counted[found.outcome] += 1
    return counted


@pytest.mark.parametrize("seeds", sampled([SAMPLE, *PARTS], [SAMPLE]), ids=str)
def test_no_log_is_blamed_for_what_its_cluster_did_not_do_and_most_are_explained(seeds: range, tmp_path: Path) -> None:
    counted = outcomes(seeds, tmp_path)
    assert counted[Outcome.HOLDS] >= FLOOR * counted.total()


@pytest.mark.nightly
def test_a_log_that_lacks_its_first_lines_is_refused_or_left_open_or_holds(tmp_path: Path) -> None:
    cut = [seed for seed in range(100) if trial(seed).cut][:3]
    found = {run(trial(seed), tmp_path).outcome for seed in cut}
    assert Outcome.REFUSED in found
    assert Outcome.VIOLATED not in found


def test_a_log_says_that_two_nodes_led_a_term_where_they_did(tmp_path: Path) -> None:
    """A process died while it wrote its vote, and voted again (VoteFile)."""
    found = run(trial(79), tmp_path)
    assert found.outcome is Outcome.VIOLATED
    assert found.fails == found.violates == {"ElectionSafety"}


LIES = [
    (5, "a second leader of a term"),
    (5, "a leader that was not elected"),
    (5, "a leader of another term"),
    (33, "a term that was not the node's"),
]


@pytest.mark.parametrize(("seed", "lie"), sampled(LIES, LIES[:1]))
def test_a_lie_about_the_leader_and_its_term_is_refuted(seed: int, lie: str, tmp_path: Path) -> None:
    assert run(trial(seed), tmp_path).outcome is Outcome.HOLDS
    found = lied(trial(seed), lie, tmp_path)
    assert found is not None
    assert found.outcome is Outcome.VIOLATED


@pytest.mark.parametrize("lie", ["a status in another term", "a truncation at another index"])
def test_other_lies_are_not_explained(lie: str, tmp_path: Path) -> None:
    found = lied(trial(5), lie, tmp_path)
    assert found is not None
    assert found.outcome is Outcome.INCONCLUSIVE


# ---- The writer ----


def shape(text: str) -> str:
    """A text without what changes from line to line: numbers, nodes, roles, states, watermarks."""
    text = re.sub(r"watermarks=\{.*\}", "watermarks={}", text)
    text = re.sub(r"\b(LEADER|FOLLOWER|CANDIDATE|COMPARE|TRUNCATE|APPEND|PASSED|null)\b", "WORD", text)
    text = re.sub(r"lastLeader=\w+", "lastLeader=NODE", text)
    return re.sub(r"-?\d+", "#", re.sub(r"\bn\d\b", "NODE", text))


def shapes(path: Path) -> dict[str, set[str]]:
    """The shapes of the lines of a log, by what they are to the reader."""
    ((lines,), _) = read_logs([path], lambda message: pytest.fail(message))
    found: dict[str, set[str]] = {}
    for line in lines:
        found.setdefault(line.kind, set()).add(shape(line.text.partition(" - ")[2]))
    return found


def test_what_is_written_for_a_cluster_has_the_form_of_what_dledger_wrote(tmp_path: Path) -> None:
    """Line by line, for every kind of line that a captured log has."""
    real: dict[str, set[str]] = {}
    for path in sorted(CAPTURED.glob("*.log")):
        for kind, forms in shapes(path).items():
            real.setdefault(kind, set()).update(forms)
    path, written = tmp_path / "d.log", set[str]()
    for seed in range(16):
        tried = trial(seed)
        path.write_text(merged(log_of(simulate(seed, tried.plan), tried.plan, tried.clock)))
        for kind, forms in shapes(path).items():
            written.add(kind)
            assert kind in ("", "started", "vote_response") or forms <= real[kind]
    assert written >= set(real) - {"", "retry", "skip_commit"}
