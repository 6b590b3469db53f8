"""What a trace of DLedger reaches of the protocol: actions, faults, answers, changes of dispatchers, of logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lockstep.systems.system import Reached
from lockstep.trace.trace_format import Event

#: The actions of the environment that are faults.
FAULTS = (
    "Lose",
    "Duplicate",
    "PushTimeOut",
    "Crash",
    "Shutdown",
    "LosePower",
    "CrashInPersistTerm",
    "CrashInPersistCheckPoint",
)
#: The actions that elect a leader.
ELECTIONS = ("ChangeToLeader", "ElectLeader")
#: The action that may elect a leader, message by message.
PARSED = "ParseVoteResponses"
#: The actions by which a leader commits.
COMMITS = ("QuorumAckChecker", "ActOnQuorumIndex")
#: What a client that waits is told. The spec has no set of these: it says who waits no more, and who was told.
TOLD = ("SUCCESS", "TERM_CHANGED", "WAIT_QUORUM_ACK_TIMEOUT")
#: What may become of a log, and of who leads.
LOGS = (
    "another leader",
    "leader change and cut",
    "entries committed",
    "commit learnt",
    "entries cut",
    "late TRUNCATE cuts",
    "late TRUNCATE passes",
    "cut entries back",
    "commit past the end",
)


def reached(events: Iterable[Event]) -> Iterator[Reached]:
    """Yield what a trace reaches, again and again where it is reached again.

    Actions; the code of each answer that is sent, and of each that a client gets; a dispatcher's change of state, as
    `COMPARE -> TRUNCATE`; and of the log what `_Logs` says of it.
    """
    dispatchers: dict[tuple[str, str], str] = {}
    clients, logs = _Clients(), _Logs()
    for event in events:
        yield kind_of_action(event.action), event.action
        for message in event.sent or ():
            if message.get("kind") == "response":
                yield "answer", f"{message['type']} {message['code']}"
        for peer, shown in event.shows.get("dispatchers", {}).items():
            before = dispatchers.get((event.node, peer), shown["type"])
            if before != shown["type"]:
                yield "dispatcher", f"{before} -> {shown['type']}"
            dispatchers[event.node, peer] = shown["type"]
        yield from (("client", code) for code in clients.told(event))
        yield from (("log", what) for what in logs.became(event))


def kind_of_action(action: str) -> str:
    """Return whether an action counts as a fault."""
    return "fault" if action in FAULTS else "action"


class _Clients:
    """What clients are told, event by event: why nothing is appended, and what became of an entry they wait for."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[dict[str, Any]]] = {}
        self._acknowledged = 0

    def told(self, event: Event) -> Iterator[str]:
        if event.action == "RefuseAppend":
            yield event.args["code"]
        if event.action == "CheckResponseFuturesTimeout":
            yield "WAIT_QUORUM_ACK_TIMEOUT"
        waited = self._waiting.get(event.node, [])
        self._waiting[event.node] = event.shows.get("futures", {"#set": waited})["#set"]
        of_another_term = [each for each in waited if each["entry"]["term"] != event.shows.get("currTerm")]
        if event.action == "QuorumAckChecker" and of_another_term:
            yield "TERM_CHANGED"
        acknowledged = len(event.shows.get("acknowledged", {}).get("#set", ()))
        if acknowledged > self._acknowledged:
            yield "SUCCESS"
        self._acknowledged = max(self._acknowledged, acknowledged)


class _Logs:
    """What becomes of logs and leaders, event by event."""

    def __init__(self) -> None:
        self._ends: dict[str, int] = {}
        self._terms: dict[str, int] = {}
        self._committed: dict[str, int] = {}
        self._logs: dict[str, list[Any]] = {}
        self._led = False
        self._seen: set[str] = set()

    def became(self, event: Event) -> Iterator[str]:
        """Yield what an event does to logs.

        "entries cut" where TRUNCATE shortens one, "late TRUNCATE cuts" where it cuts what its own leader appended
        behind the entry, "late TRUNCATE passes" where that stays; "cut entries back" where a restart brings entries
        back; "entries committed" by a leader, "commit learnt" by a follower, "commit past the end" where that index
        lies behind the last entry; "another leader" where a second leader is elected, and "leader change and cut" once
        there were both.
        """
        node, shows = event.node, event.shows
        before = self._ends.get(node, -1)
        end, committed = shows.get("ledgerEndIndex", before), shows.get("committedIndex", -1)
        if event.action == "HandleDoTruncate" and end < before:
            yield "entries cut"
            self._seen.add("cut")
        if event.action == "HandleDoTruncate" and self._is_late(event, before):
            yield "late TRUNCATE cuts" if end < before else "late TRUNCATE passes"
        if event.action == "Restart" and end > before:
            yield "cut entries back"
        if committed > self._committed.get(node, -1) and event.action != "Restart":
            yield "entries committed" if event.action in COMMITS else "commit learnt"
        if committed > end:
            yield "commit past the end"
        self._ends[node], self._committed[node] = end, committed
        self._terms[node] = shows.get("ledgerEndTerm", -1)
        self._logs[node] = shows.get("log", self._logs.get(node, []))
        yield from self._leaders(event)

    def _is_late(self, event: Event, end: int) -> bool:
        """Tell whether a TRUNCATE keeps an entry behind which its own leader has appended more.

        It is told from the trace alone: the spec's IsLateTruncate never holds where a plan runs as published.
        """
        m, log = event.args["m"], self._logs.get(event.node, [])
        keeps = m["index"] < end and log[m["index"]] == m["entry"]
        its_leader = m["src"] == event.shows.get("leaderId") and m["term"] == event.shows.get("currTerm")
        return bool(keeps and its_leader and self._terms.get(event.node) == m["term"])

    def _leaders(self, event: Event) -> Iterator[str]:
        if event.action in ELECTIONS or (event.action == PARSED and event.shows.get("role") == "LEADER"):
            if self._led:
                yield "another leader"
                self._seen.add("leader")
            self._led = True
        if self._seen == {"leader", "cut"}:
            yield "leader change and cut"
            self._seen.clear()
