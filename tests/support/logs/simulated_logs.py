"""The log that a simulated cluster would have written if its nodes were DLedger's: `log_of` makes it.

The lines, and the steps that write them, are those of DLedger 0.2.7 and 0.3.1.2 (DLedgerLeaderElector,
DLedgerEntryPusher, DLedgerMmapFileStore), whether or not the reader of logs knows them; of the lines that it does not
know there are only some. A simulation has no time: the moments of its steps are drawn from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from raftref.dledger.choices import Feature, Flaw
from raftref.dledger.simulation import FaultPlan
from tests.support.logs import dledger_texts as texts

Shown = Mapping[str, Any]
#: QuorumAckChecker writes the status of its node so often, in milliseconds.
STATUS_MS = 3000.0
#: The bytes of an entry: where the next one begins.
ENTRY_BYTES = 53
#: A process may die between raising its term and saying so: at this rate, if it dies before its next step.
DIES_SILENTLY = 0.3
#: A candidate enters a term that another node is in by a round of its own at this rate, else since it heard of it.
_BY_ITSELF = 0.5
_DEATHS = ("Crash", "LosePower", "CrashInPersistTerm", "CrashInPersistCheckPoint", "Shutdown")
_COMMITS = ("HandleDoAppend", "HandleDoBatchAppend", "HandleDoTruncate", "HandleDoCommit")
#: After these there are watermarks of the leader's term.
_MARKS = ("AppendAsLeader", "AppendInBatch", "QuorumAckChecker", "RefreshOwnWaterMark", "HandleAppendResponse")


@dataclass(frozen=True, slots=True)
class LoggedLine:
    """One line, with the lines of an exception below it: its time (in ms), the node, and the process of the node."""

    at: float
    node: str
    incarnation: int
    text: str


@dataclass(frozen=True, slots=True)
class Clock:
    """The passing of time: the mean time between two steps of the group, in ms, and the seed of the moments."""

    step_ms: float
    seed: int


def log_of(events: Iterable[Mapping[str, Any]], plan: FaultPlan, clock: Clock) -> list[LoggedLine]:
    """Return the lines that the nodes would have written, in the order of the group's steps.

    Arguments: `events` and `plan` of the simulation; `clock`, which gives their moments.
    """
    return list(_Writer(plan, clock).lines(list(events)))


def merged(said: Iterable[LoggedLine]) -> str:
    """Return the lines as one file, with time, node and process before each."""
    return "".join(
        f"{line.at:.3f} seq<{number} [{line.node}/{line.incarnation}] INFO [thread] {line.text}\n"
        for number, line in enumerate(said)
    )


@dataclass(slots=True)
class _Process:
    """The state of a node that its own fields do not show."""

    incarnation: int = 1
    next_status: float = STATUS_MS
    has_data: bool = False
    has_check_point: bool = False
    log: list[Mapping[str, Any]] = field(default_factory=list)
    marks: dict[int, Mapping[str, int]] = field(default_factory=dict)
    #: The peers whose dispatchers have said that they begin in this term.
    fresh: dict[str, int] = field(default_factory=dict)
    #: The highest term that it said it had heard of; what a pass of its checker has read: a term and an index.
    heard: int = 0
    read: tuple[int, int] | None = None


class _Writer:
    def __init__(self, plan: FaultPlan, clock: Clock) -> None:
        self.nodes, self.random, self.step_ms = plan.node_ids, random.Random(clock.seed), clock.step_ms
        self.compares_anew = not plan.has(Flaw.STALE_COMPARE_INDEX)
        self.splits = plan.has(Feature.SPLIT_QUORUM_CHECK)
        self.as_json = self.random.random() < 0.5
        self.now = 0.0
        self.of = {node: _Process(next_status=STATUS_MS + self.random.uniform(0, STATUS_MS / 2)) for node in self.nodes}
        self.shows: dict[str, Shown] = {}

    def lines(self, events: list[Mapping[str, Any]]) -> Iterator[LoggedLine]:
        silent = _last_before_death(events)
        for node in self.nodes:
            yield self.said(node, texts.started(node))
        for event in events:
            yield from self.statuses(self.now + self.random.expovariate(1 / self.step_ms))
            node, after = event["node"], event["shows"]
            before = self.shows.get(node) or _first(after)
            says = list(self.texts(event, before, after))
            self.shows[node] = after
            self.learn(event, after)
            if event["seq"] in silent and self.random.random() < DIES_SILENTLY:
                continue
            for text in says:
                yield self.said(node, text)

    def said(self, node: str, text: str) -> LoggedLine:
        return LoggedLine(self.now, node, self.of[node].incarnation, text)

    # ---- Status lines ----

    def statuses(self, until: float) -> Iterator[LoggedLine]:
        due = sorted((each.next_status, node) for node, each in self.of.items() if each.next_status <= until)
        for at, node in due:
            self.now = max(self.now, at)
            self.of[node].next_status = self.now + STATUS_MS + self.random.uniform(0, 10)
            shown = self.shows.get(node)
            if shown is not None and shown["role"] != "DOWN":
                yield self.said(node, self.status(node, shown))
        self.now = until

    def status(self, node: str, shown: Shown) -> str:
        ends = (shown["ledgerBeginIndex"], shown["ledgerEndIndex"], shown["committedIndex"])
        marks = self.of[node].marks
        return texts.status(node, shown["role"], shown["currTerm"], ends, marks, as_json=self.as_json)

    # ---- What a step is logged as ----

    def texts(self, event: Mapping[str, Any], before: Shown, after: Shown) -> Iterator[str]:
        action = event["action"]
        if action in _DEATHS:
            return
        if action == "Restart":
            yield from self.recovery(event["node"], after)
            return
        asked = event["args"].get("candidate") == event["node"] or action in ("HandleOwnVote", "HandleVoteResponse")
        if asked:
            yield texts.got_vote_response(event["node"])
        yield from self.election(event, before, after)
        if action in ("DoCompare", "DoTruncate", "DoCheckAppendResponse", "DoCheckBatchAppendResponse"):
            yield from self.pushing(event, before)
        elif action in ("HandleCompareResponse", "HandleTruncateResponse", "HandleAppendResponse", "PushTimeOut"):
            yield from self.answered(event, before, after)
        elif action == "HandleDoCompare":
            yield from self.compared(event, after)
        elif action == "HandleDoTruncate":
            m = event["args"]["m"]
            yield texts.handle_truncate(m["index"], m["index"] * ENTRY_BYTES)
            if any(answer["code"] != "SUCCESS" for answer in event["sent"]):
                yield texts.failed_truncate(m["index"])
        yield from self.skipped(event, before, after)

    def recovery(self, node: str, after: Shown) -> Iterator[str]:
        """DLedgerMmapFileStore.recover: nothing where there is no data file."""
        process = self.of[node]
        process.incarnation += 1
        process.next_status = self.now + STATUS_MS
        if process.has_data:
            end = after["ledgerEndIndex"]
            yield texts.recovered_end(end, (end + 1) * ENTRY_BYTES)
            if process.has_check_point:
                yield texts.recovered_committed(after["checkPoint"])
        yield texts.started(node)

    # ---- Elections ----

    def election(self, event: Mapping[str, Any], before: Shown, after: Shown) -> Iterator[str]:
        node, term = event["node"], before["currTerm"]
        becomes = after["role"] if after["role"] != before["role"] else None
        heard = self.heard(event, before, after)
        if before["role"] == "FOLLOWER" and becomes == "CANDIDATE" and heard in (None, term):
            yield texts.heart_beat_timeout(node, before["leaderId"])
        if becomes == "CANDIDATE" or heard is not None:
            entered = term if heard is None else heard
            self.of[node].heard = max(self.of[node].heard, entered)
            yield texts.to_candidate(node, entered, term)
        if after["currTerm"] > term:
            yield texts.increase_term(node, term, after["currTerm"])
        if becomes == "LEADER":
            yield texts.vote_result(node, after["currTerm"], len(self.nodes), len(self.nodes) // 2 + 1)
            yield texts.to_leader(node, after["currTerm"], after["currTerm"])
            if after["ledgerEndIndex"] == -1:  # its dispatchers begin, and have nothing to compare yet
                for peer in after["dispatchers"]:
                    yield from self.begun(node, peer, after)
        if becomes == "FOLLOWER":
            yield texts.to_follower(node, after["currTerm"], after["leaderId"], after["currTerm"])

    def heard(self, event: Mapping[str, Any], before: Shown, after: Shown) -> int | None:
        """The term that a step makes the node a candidate for, also where it was one; None where it does not.

        Source: the callers of changeRoleToCandidate: handleVote, handleHeartBeat, sendHeartbeats, maintainAsFollower,
        maintainAsCandidate, handleTakeLeadership.
        """
        term, action = before["currTerm"], event["action"]
        others = [each["currTerm"] for name, each in self.shows.items() if name != event["node"]]
        highest = max([term, *others])
        if action == "ChangeToCandidate":
            return highest
        if action == "NextTerm":  # the next one, by itself; or a term that it has heard of before
            entered = event["args"]["term"]
            known = entered <= self.of[event["node"]].heard
            own = entered == term + 1 and (highest < entered or self.random.random() < _BY_ITSELF)
            return None if known or own else entered
        if action in ("HandleVote", "HandleHeartBeat"):
            not_ready = any(str(answer.get("code", "")).endswith("TERM_NOT_READY") for answer in event["sent"])
            return event["args"]["m"]["term"] if not_ready else None
        if action == "ParseVoteResponses" and before["election"]["round"]["maxTerm"] > term:
            return int(before["election"]["round"]["maxTerm"])
        needs = "election" in after and after["election"]["needIncrease"] and not before["election"]["needIncrease"]
        return int(after["election"]["knownMaxTerm"]) if needs else None

    # ---- A leader's dispatchers ----

    def begun(self, node: str, peer: str, shown: Shown) -> Iterator[str]:
        """EntryDispatcher.checkAndFreshState: a dispatcher of another leadership begins to compare."""
        fresh, dispatcher = self.of[node].fresh, shown["dispatchers"][peer]
        if max(dispatcher["term"], fresh.get(peer, -1)) < shown["currTerm"]:
            fresh[peer] = shown["currTerm"]
            yield texts.change_state(peer, dispatcher["type"], "COMPARE", -1)

    def pushing(self, event: Mapping[str, Any], before: Shown) -> Iterator[str]:
        node, peer = event["node"], event["args"]["peer"]
        dispatcher, behind = before["dispatchers"][peer], before["peerWaterMarks"][peer] + 1
        match event["action"]:
            case "DoCompare":
                yield from self.begun(node, peer, before)
                anew = dispatcher["term"] != before["currTerm"] and (
                    self.compares_anew or dispatcher["type"] == "APPEND"
                )
                if anew or dispatcher["compareIndex"] == -1:
                    yield texts.start_to_compare(peer)
            case "DoTruncate":
                yield texts.push_truncate(peer, dispatcher["truncateIndex"], dispatcher["truncateIndex"] * ENTRY_BYTES)
            case "DoCheckAppendResponse":
                yield texts.retry(peer, behind)
            case "DoCheckBatchAppendResponse":
                yield texts.retry_batch(peer, behind, behind + len(event["sent"][0]["entries"]) - 1)

    def answered(self, event: Mapping[str, Any], before: Shown, after: Shown) -> Iterator[str]:
        node, action = event["node"], event["action"]
        m = event["args"].get("m", {})
        peer = event["args"].get("peer") or m["src"]
        old, new = before["dispatchers"][peer], after["dispatchers"][peer]
        if action == "HandleAppendResponse":
            if m["code"] == "INCONSISTENT_STATE":
                yield texts.change_state(peer, old["type"], "COMPARE", -1)
            return
        usual = ("SUCCESS", "INCONSISTENT_STATE") if action == "HandleCompareResponse" else ("SUCCESS",)
        if m.get("code") not in usual:  # EntryDispatcher.doWork catches it; no answer at all is such a case
            problem = f"[code=302,name={m.get('code', 'NETWORK_ERROR')},desc=]"
            yield texts.dispatcher_error(node, peer, old["writeIndex"], old["compareIndex"], problem)
            yield texts.change_state(peer, old["type"], "COMPARE", -1)
        elif new["type"] == "APPEND":
            yield texts.change_state(peer, old["type"], "APPEND", new["writeIndex"] - 1)
        elif new["type"] == "TRUNCATE":
            yield texts.change_state(peer, old["type"], "TRUNCATE", new["truncateIndex"])

    # ---- A follower ----

    def compared(self, event: Mapping[str, Any], after: Shown) -> Iterator[str]:
        m, log = event["args"]["m"], self.of[event["node"]].log
        index, begin, end = m["index"], after["ledgerBeginIndex"], after["ledgerEndIndex"]
        refused = any(answer["code"] != "SUCCESS" for answer in event["sent"])
        if refused or index > end or log[index] != m["entry"]:
            yield texts.handle_compare(index, begin, end)

    def skipped(self, event: Mapping[str, Any], before: Shown, after: Shown) -> Iterator[str]:
        """DLedgerMmapFileStore.updateCommittedIndex, of an index lower than the committed one."""
        for term, index in self.to_commit(event, before):
            past = index == -1 or after["ledgerEndIndex"] == -1 or term < after["currTerm"]
            if not past and index < before["committedIndex"]:
                yield texts.skip_commit(index, before["committedIndex"], after["ledgerBeginIndex"])

    def to_commit(self, event: Mapping[str, Any], before: Shown) -> Iterator[tuple[int, int]]:
        action, process = event["action"], self.of[event["node"]]
        m = event["args"].get("m")
        if action == "QuorumAckChecker":
            marks = sorted(before["peerWaterMarks"].values(), reverse=True)
            read = (before["currTerm"], marks[len(marks) // 2])
            if self.splits:
                process.read = read
            else:
                yield read
        elif action == "ActOnQuorumIndex" and process.read is not None:
            yield process.read
        elif action in _COMMITS and (action == "HandleDoCommit" or any(a["code"] == "SUCCESS" for a in event["sent"])):
            yield m["term"], m["commitIndex"]

    # ---- What is remembered ----

    def learn(self, event: Mapping[str, Any], after: Shown) -> None:
        process, action = self.of[event["node"]], event["action"]
        if "log" in after:
            process.log = after["log"]
        process.has_data = process.has_data or after["ledgerEndIndex"] >= 0
        if action in ("PersistCheckPoint", "Shutdown"):
            process.has_check_point = True
        elif action == "CrashInPersistCheckPoint":
            process.has_check_point = False
        if action == "Restart":
            process.marks, process.fresh, process.heard = {}, {}, 0
        elif action in _MARKS and after["role"] == "LEADER":
            process.marks[after["currTerm"]] = after["peerWaterMarks"]
        if action == "QuorumAckChecker":
            process.marks = {term: marks for term, marks in process.marks.items() if term == after["currTerm"]}
        if after["currTerm"] in process.marks:
            process.marks[after["currTerm"]] = after["peerWaterMarks"]


def _first(after: Shown) -> Shown:
    """A node before its first step."""
    nothing = {"type": "COMPARE", "term": -1, "compareIndex": -1, "truncateIndex": -1, "writeIndex": -1}
    fields = {"role": "CANDIDATE", "currTerm": 0, "leaderId": None, "ledgerBeginIndex": -1, "ledgerEndIndex": -1}
    return {
        **fields,
        "committedIndex": -1,
        "peerWaterMarks": dict.fromkeys(after["peerWaterMarks"], -1),
        "dispatchers": dict.fromkeys(after["dispatchers"], nothing),
        "election": {"needIncrease": False, "round": {"maxTerm": -1}},
    }


def _last_before_death(events: list[Mapping[str, Any]]) -> set[int]:
    """The steps that raise a term and after which their node dies before it takes another."""
    found, last = set(), dict[str, Mapping[str, Any]]()
    for event in events:
        before = last.get(event["node"])
        if before is not None and before["action"] in ("NextTerm", "IncreaseTerm") and event["action"] in _DEATHS:
            found.add(before["seq"])
        last[event["node"]] = event
    return found
