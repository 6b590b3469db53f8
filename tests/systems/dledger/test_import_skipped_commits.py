"""The term of a follower rises between what its EntryHandler stores and the committed index that came with it.

The store passes over the committed index of a lower term. The code does both one after the other, the spec in one step.
Source: EntryHandler.handleDoAppend and its like, DLedgerMmapFileStore.updateCommittedIndex.
"""

from __future__ import annotations

import json
import lzma

import msgspec
import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.places import TESTS
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import FAULT_FREE, FIGURE8, Json, encoded, ended, lines_of

#: How requests that say more of what is committed are handled, and a recording that has one. That of a TRUNCATE shows
#: the flaw that it is named after, and conforms.
HANDLED = {
    "HandleDoAppend": FAULT_FREE,
    "HandleDoTruncate": FIGURE8,
    "HandleDoCommit": FAULT_FREE,
}


def type_of(take: Json) -> str:
    """Return the type of the request that a line takes from its queue."""
    return str(take.get("type", "APPEND"))


class Overtaken:
    """A recording up to where a follower learns what is committed; its term rises just before that."""

    def __init__(self, action: str) -> None:
        lines, takes = lines_of(HANDLED[action]), dict[str, Json]()
        for number, line in enumerate(lines):
            node = line.get("node", "")
            if line["kind"] == "handler" and line["op"] == "take":
                takes[node] = line
            learns = line.get("op") == "updateCommittedIndex" and line["pre"] != line["st"]
            if learns and line["by"] == "EntryHandler" and type_of(takes[node]) in action.upper():
                self.learns, self.lines = line, lines[:number]
                break
        else:
            raise AssertionError(f"{HANDLED[action]} has no such request")
        self.own = {name: line[name] for name in ("node", "inc", "t_ms")}
        self.role = [each for each in self.lines if each["kind"] == "role" and each["node"] == line["node"]][-1]

    def term_rises(self) -> None:
        """Let the node become a candidate of the next term."""
        state, log = {"role": "CANDIDATE", "leaderId": None}, self.learns["pre"]
        shown = self.role | self.own | state | {"endIndex": log["end"], "endTerm": log["endTerm"]}
        shown = {name: value for name, value in shown.items() if name not in ("prevRole", "prevTerm", "argTerm")}
        term = self.role["term"]
        self.lines.append(shown | {"op": "changeToCandidate", "term": term, "by": "net"})
        self.lines.append(shown | {"op": "nextTerm", "term": term + 1, "votedFor": None, "by": "StateMaintainer"})

    def skips(self, *, moved: bool = False, term: int | None = None) -> int:
        """Let the store pass over what is committed, or move it nevertheless; return the line."""
        now = self.learns["currTerm"] + 1 if term is None else term
        call = self.learns | {"currTerm": now} | ({} if moved else {"noop": "stale_term", "st": self.learns["pre"]})
        self.lines.append(call)
        return len(self.lines)

    def verdict(self, **constants: bool) -> tuple[Imported, TraceVerdict]:
        """Import the recording, and check it."""
        return verdict(ended(self.lines), **constants)


def verdict(lines: list[Json], **constants: bool) -> tuple[Imported, TraceVerdict]:
    found = import_lines(encoded(lines), "recorded")
    header = msgspec.structs.replace(found.header, constants={**found.header.constants, **constants})
    trace = Trace(trace_lines(header, found), "recorded")
    return found, check_dledger(trace, trace_spec(trace.header, trace.source))


def actions(found: Imported) -> set[str]:
    return {event.action for event in found}


@pytest.mark.parametrize("action", HANDLED)
def test_what_is_committed_in_a_term_that_is_past_is_passed_over(action: str) -> None:
    recorded = Overtaken(action)
    recorded.term_rises()
    recorded.skips()
    found, holds = recorded.verdict()
    assert "SkipCommit" in actions(found)
    assert (found.summary.forced, holds.deviation) == ((), None)
    _, refused = recorded.verdict(LateRole=False)
    assert (refused.verdict, refused.deviation and refused.deviation.action) == (Verdict.VIOLATED, "SkipCommit")


@pytest.mark.parametrize("action", HANDLED)
def test_a_follower_that_does_not_learn_what_is_committed_in_its_term_leaves_the_spec(action: str) -> None:
    recorded = Overtaken(action)
    recorded.skips(term=recorded.learns["currTerm"])
    found, refused = recorded.verdict()
    assert "SkipCommit" not in actions(found)
    assert (refused.verdict, refused.deviation and refused.deviation.action) == (Verdict.VIOLATED, action)


@pytest.mark.parametrize("action", HANDLED)
def test_one_that_learns_what_is_committed_in_a_term_that_is_past_leaves_the_spec(action: str) -> None:
    recorded = Overtaken(action)
    recorded.term_rises()
    recorded.skips(moved=True)
    _, refused = recorded.verdict()
    assert (refused.verdict, refused.deviation and refused.deviation.action) == (Verdict.VIOLATED, "SkipCommit")


#: The line at which a node of the real 0.2.7 passes over what is committed, 71 ms after it has answered.
PASSED_OVER = 509


def real() -> list[Json]:
    """Return the beginning of a recording of a loaded group with batches."""
    packed = TESTS / "recorded" / "dledger-0.2.7-skipped_commit.ndjson.xz"
    return list(map(json.loads, lzma.decompress(packed.read_bytes()).splitlines()))


def test_a_real_follower_under_load_conforms() -> None:
    found, holds = verdict(real())
    assert (found.summary.forced, holds.verdict) == ((), Verdict.HOLDS)
    skipped = next(event for event in found if event.action == "SkipCommit")
    assert (skipped.shows["ledgerEndIndex"], skipped.shows["committedIndex"]) == (23, 5)


def test_one_that_kept_less_of_the_same_batch_is_found() -> None:
    lines = real()
    passed = lines[PASSED_OVER - 1]
    own = [at for at, line in enumerate(lines) if line.get("node") == passed["node"] and line["kind"] == "role"]
    shown = next(at for at in own if lines[at]["endIndex"] == 23)
    lines[shown] = lines[shown] | {"endIndex": 22}
    _, refused = verdict(lines)
    assert refused.deviation is not None
    assert (refused.verdict, refused.deviation.recorded_line) == (Verdict.VIOLATED, shown + 1)
