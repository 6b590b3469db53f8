"""Drawing a server of hashicorp/raft."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from lockstep.systems.node_picture import DrawnEntry, DrawnNode, Mark, Picture, Variables, shown
from lockstep.tla.values.growing_functions import GrowingFcn
from lockstep.tla.values.kinds import Fcn, Value


def _draw(state: Variables, node: Value, lowest: int) -> DrawnNode:
    mine = state["node"].d[node].d
    is_leader = mine["role"] == "Leader"
    vote = f"{shown(mine['lastVoteCand'])} in term {mine['lastVoteTerm']}"
    return DrawnNode(
        role=mine["role"],
        is_up=mine["role"] != "Shutdown",
        facts=(
            ("currentTerm", str(mine["currentTerm"])),
            ("lastVote", vote),
            ("leader", shown(mine["leader"])),
            ("fsm", str(mine["fsm"].d["index"])),
        ),
        log=tuple(
            DrawnEntry(index, entry.d["term"], _held(entry.d), index <= mine["commitIndex"])
            for index, entry in _entries(mine["log"], lowest)
        ),
        marks=tuple(_marks(mine, node, is_leader)),
        snapshot=mine["lastSnapshot"].d["index"] or None,
    )


def _entries(log: Value, lowest: int) -> list[tuple[int, Value]]:
    """List a log by its indexes, from one on; with a gap it is no sequence."""
    if isinstance(log, GrowingFcn):
        return [(index, log.apply(index)) for index in range(max(lowest, log.low), log.high + 1)]
    if isinstance(log, Fcn):
        return sorted((index, entry) for index, entry in log.d.items() if index >= lowest)
    skipped = max(0, lowest - 1)
    return list(enumerate(log[skipped:], start=skipped + 1))


def _end(state: Variables, node: Value) -> int:
    log = state["node"].d[node].d["log"]
    if isinstance(log, GrowingFcn):
        return log.high
    return max(log.d, default=-1) if isinstance(log, Fcn) else len(log) or -1


def _held(entry: dict[str, Value]) -> str:
    if entry["type"] == "Command":
        return shown(entry["value"])
    if entry["type"] == "Configuration":
        return f"voters {shown(entry['configuration'].d['voters'])}"
    return str(entry["type"])


def _marks(mine: dict[str, Value], node: Value, is_leader: bool) -> Iterator[Mark]:
    yield Mark("lastLogIndex", mine["lastLog"].d["index"])
    yield Mark("commitIndex", mine["commitIndex"])
    yield Mark("lastApplied", mine["lastApplied"])
    if not is_leader:
        return
    marks, runners = mine["leaderState"].d["matchIndexes"].d, mine["replication"].d
    for peer in sorted(runners, key=shown):
        if peer != node and runners[peer].d["running"]:
            yield Mark(f"nextIndex of {shown(peer)}", runners[peer].d["nextIndex"])
            yield Mark(f"matchIndex of {shown(peer)}", marks[peer])


def _label(message: Value) -> str:
    m = message.d
    if m["kind"] == "request":
        entries = m.get("entries", ())
        return f"{m['type']} {m['prevLogEntry']} +{len(entries)}" if m["type"] == "AppendEntries" else str(m["type"])
    said = next((m[name] for name in ("granted", "success") if name in m), None)
    return f"{m['type']}: {'done' if said is None else 'yes' if said else 'no'}"


def _entry(entry: Value) -> str:
    return f"{_held(entry.d)} (term {entry.d['term']})"


def _grants(message: Value) -> bool:
    m = message.d
    return m["kind"] == "response" and m["type"] == "RequestVote" and bool(m["granted"])


PICTURE = Picture(
    nodes="node",
    draw=_draw,
    end=_end,
    label=_label,
    loses=frozenset({"Lose"}),
    doubles=frozenset({"Duplicate"}),
    changes=frozenset({"awaited"}),
    log="log",
    log_begins=1,
    entry=_entry,
    grants=_grants,
    votes=lambda action, args: (),
)

#: Faults of the network and of processes, and the recovery from them; a crash or a store failure within a step
#: is an argument of that step, its outcome.
FAULTS = PICTURE.loses | PICTURE.doubles | {"Crash", "Restart"}


def _dispatched(text: str) -> Mapping[str, Value]:
    """Return the arguments of DispatchLogs for one command, which is stored without a failure."""
    command = Fcn({"type": "Command", "value": text})
    return {"logs": (command,), "outcome": Fcn({"result": "DONE", "write": 0})}


#: The actions by which a leader takes a client's write, with what makes their other arguments out of a text.
CLIENT_WRITES: Mapping[str, Callable[[str], Mapping[str, Value]]] = MappingProxyType({"DispatchLogs": _dispatched})
