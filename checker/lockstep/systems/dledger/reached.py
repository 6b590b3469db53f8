"""What a trace of DLedger reaches of the protocol: actions, answers, dispatcher transitions, faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lockstep.systems.system import Reached
from lockstep.trace.format import Event

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


def reached(events: Iterable[Event]) -> Iterator[Reached]:
    """Yield what a trace reaches, again and again where it is reached again.

    Actions; the code of each answer that is sent, and of each but success that a client gets; a dispatcher's
    change of state, as `COMPARE -> TRUNCATE`; and of the log "entries cut" where TRUNCATE shortens it, "cut entries
    back" where a restart brings entries back, "another leader" where a second leader is elected, and "leader change
    and cut" once there were both.
    """
    ends: dict[str, int] = {}
    dispatchers: dict[tuple[str, str], str] = {}
    led, seen = False, set[str]()
    for event in events:
        yield "fault" if event.action in FAULTS else "action", event.action
        if event.action == "RefuseAppend":
            yield "client", event.args["code"]
        if event.action == "CheckResponseFuturesTimeout":
            yield "client", "WAIT_QUORUM_ACK_TIMEOUT"
        for message in event.sent or ():
            if message.get("kind") == "response":
                yield "answer", f"{message['type']} {message['code']}"
        for peer, shown in event.shows.get("dispatchers", {}).items():
            before = dispatchers.get((event.node, peer), shown["type"])
            if before != shown["type"]:
                yield "dispatcher", f"{before} -> {shown['type']}"
            dispatchers[event.node, peer] = shown["type"]
        end = event.shows.get("ledgerEndIndex", ends.get(event.node, -1))
        if event.action == "HandleDoTruncate" and end < ends.get(event.node, -1):
            yield "log", "entries cut"
            seen.add("cut")
        if event.action == "Restart" and end > ends.get(event.node, -1):
            yield "log", "cut entries back"
        ends[event.node] = end
        if event.action in ELECTIONS or (event.action == PARSED and event.shows.get("role") == "LEADER"):
            if led:
                yield "log", "another leader"
                seen.add("leader")
            led = True
        if seen == {"leader", "cut"}:
            yield "log", "leader change and cut"
            seen.clear()
