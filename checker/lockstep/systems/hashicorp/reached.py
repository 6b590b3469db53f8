"""Parts of the protocol that a trace reaches: actions, faults, failed writes, answers, roles, logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lockstep.systems.system import Reached
from lockstep.trace.trace_format import Event

#: The actions of the environment that are faults.
FAULTS = ("Lose", "Duplicate", "RPCError", "Crash")

#: The answers. A refusal of AppendEntries is one that the leader has to expect, or not.
ANSWERS = (
    *(f"{type_} {answer}" for type_ in ("RequestVote", "RequestPreVote") for answer in ("granted", "refused")),
    *("AppendEntries success", "AppendEntries refused", "AppendEntries refused, no backoff"),
    *(f"{type_} {answer}" for type_ in ("Heartbeat", "InstallSnapshot") for answer in ("success", "refused")),
    "TimeoutNow received",
)

#: Changes of logs, of the leader and of the group, and answers to a client that asks who leads.
LOGS = (
    "another leader",
    "entries committed",
    "commit learnt",
    "entries cut",
    "log compacted",
    "gap in a log",
    "snapshot saved",
    "FSM set back",
    "start from a snapshot",
    "configuration committed",
    "leader removed",
    "leader verified",
    "leader refuted",
    "vote torn",
)


def reached(events: Iterable[Event]) -> Iterator[Reached]:
    """Yield what a trace reaches, again and again where it is reached again.

    Actions; where a write of an action fails or is the last, as `ElectSelf CRASH`; answers; changes of role, as
    `Follower -> Candidate`; and of the rest what LOGS has.
    """
    before: dict[str, Mapping[str, Any]] = {}
    for event in events:
        yield kind_of_action(event.action), event.action
        result = event.args.get("outcome", {}).get("result", "DONE")
        if result != "DONE":
            yield "outcome", f"{event.action} {result}"
        yield from (("answer", answer(message)) for message in event.sent or () if message["kind"] == "response")
        last = before.get(event.node, {})
        role = last.get("role", "Follower")
        if event.shows.get("role", role) != role:
            yield "role", f"{role} -> {event.shows['role']}"
        shown = {**last, **event.shows}
        yield from (("log", what) for what in _became(event, last, shown))
        before[event.node] = shown


def kind_of_action(action: str) -> str:
    """Return whether an action counts as a fault."""
    return "fault" if action in FAULTS else "action"


def answer(message: Mapping[str, Any]) -> str:
    """Return the answer that a response is, as ANSWERS has it."""
    type_ = message["type"]
    if "granted" in message:
        return f"{type_} {'granted' if message['granted'] else 'refused'}"
    if "success" not in message:
        return f"{type_} received"
    said = "success" if message["success"] else "refused"
    return f"{type_} {said}, no backoff" if message.get("noRetryBackoff") else f"{type_} {said}"


def _became(event: Event, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an event does to its server, by what that showed before and shows after."""
    if "log" not in before or "log" not in after:
        return
    action, log, old = event.action, _indexes(after), _indexes(before)
    if after["role"] == "Leader" != before["role"] and after["currentTerm"] > 2:
        yield "another leader"
    if after["commitIndex"] > before["commitIndex"]:
        yield "entries committed" if action == "ProcessLogs" else "commit learnt"
    if action == "AppendEntries" and _is_cut(before, after):
        yield "entries cut"
    if old and min(log, default=0) > min(old):
        yield "log compacted"
    if log and max(log) - min(log) + 1 > len(log):
        yield "gap in a log"
    if action == "PersistSnapshot" and after["snapshots"] != before["snapshots"]:
        yield "snapshot saved"
    runs = after["role"] != "Shutdown"  # of a process that died in it the FSM is gone, not set back
    if action == "InstallSnapshot" and runs and after["fsm"]["index"] < before["fsm"]["index"]:
        yield "FSM set back"
    if action == "Restart" and after["snapshots"]:
        yield "start from a snapshot"
    committed = [each["configurations"]["committedIndex"] for each in (before, after)]
    if action == "ProcessLogs" and committed[1] > committed[0]:
        yield "configuration committed"
    if action == "ProcessLogs" and before["role"] == "Leader" != after["role"]:
        yield "leader removed"
    if action == "HandleVerify":
        yield "leader verified" if after["role"] == "Leader" else "leader refuted"
    candidate = event.args["m"]["src"] if action == "RequestVote" else event.node
    if before["lastVoteTerm"] < after["lastVoteTerm"] and after["lastVoteCand"] != candidate:
        yield "vote torn"


def _indexes(shown: Mapping[str, Any]) -> list[int]:
    return list(_entries(shown["log"]))


def _entries(log: Any) -> dict[int, Any]:
    """Return the entries of a log by their indexes: ITF has a list where these are 1 to n, and pairs elsewhere."""
    return dict(enumerate(log, 1)) if isinstance(log, list) else dict(log["#map"])


def _is_cut(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether an entry is another one, or gone."""
    if before["log"] is after["log"]:
        return False
    entries = _entries(after["log"])
    return any(entries.get(index) != entry for index, entry in _entries(before["log"]).items())
