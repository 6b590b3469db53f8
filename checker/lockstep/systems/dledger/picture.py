"""Pictures of nodes of DLedger."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from lockstep.systems.node_picture import DrawnEntry, DrawnNode, Mark, Picture, Variables, shown
from lockstep.tla.values.kinds import Value


def _draw(state: Variables, node: Value, lowest: int) -> DrawnNode:
    mine = state["node"].d[node].d
    is_leader = mine["role"] == "LEADER"
    facts = [("currTerm", str(mine["currTerm"])), ("currVoteFor", shown(mine["currVoteFor"]))]
    if is_leader:
        facts += [
            (f"dispatcher of {shown(peer)}", str(dispatcher.d["type"]))
            for peer, dispatcher in _by_peer(mine["dispatchers"])
        ]
    else:
        facts.append(("leaderId", shown(mine["leaderId"])))
    return DrawnNode(
        role=mine["role"],
        is_up=mine["role"] != "DOWN",
        facts=tuple(facts),
        log=tuple(
            DrawnEntry(index, entry.d["term"], shown(entry.d["value"]), index <= mine["committedIndex"])
            for index, entry in enumerate(mine["log"][lowest:], start=lowest)
        ),
        marks=tuple(_marks(mine, is_leader)),
    )


def _end(state: Variables, node: Value) -> int:
    return len(state["node"].d[node].d["log"]) - 1


def _marks(mine: dict[str, Value], is_leader: bool) -> Iterator[Mark]:
    yield Mark("ledgerEndIndex", len(mine["log"]) - 1)
    for name in ("committedIndex", "checkPoint", "lastAppliedIndex"):
        yield Mark(name, mine[name])
    if not is_leader:
        return
    yield Mark("lastQuorumIndex", mine["lastQuorumIndex"])
    for peer, index in _by_peer(mine["peerWaterMarks"]):
        yield Mark(f"waterMark of {shown(peer)}", index)
    for peer, dispatcher in _by_peer(mine["dispatchers"]):
        for name in ("writeIndex", "compareIndex"):
            yield Mark(f"{name} of {shown(peer)}", dispatcher.d[name])


def _by_peer(table: Value) -> list[tuple[Value, Value]]:
    """List the rows of a node's table of its peers; a group of one has none."""
    return [] if isinstance(table, tuple) else sorted(table.d.items(), key=lambda each: shown(each[0]))


def _label(message: Value) -> str:
    m = message.d
    what = m["type"] if m["kind"] == "request" else f"{m['type']}: {m['code']}"
    return f"{what} {m['index']}" if "index" in m else f"{what}, term {m['term']}"


def _entry(entry: Value) -> str:
    return f"{shown(entry.d['value'])} (term {entry.d['term']})"


def _grants(message: Value) -> bool:
    m = message.d
    return bool(m["kind"] == "response" and m["type"] == "VOTE" and m["code"] == "ACCEPT")


def _votes(action: str, args: Mapping[str, Value]) -> list[tuple[Value, Value]]:
    """Return the votes of an election without messages: of all voters in one step, or of one."""
    node = args.get("n")
    if action == "ElectLeader":
        return [(voter, node) for voter in sorted(args.get("voters", ()), key=shown) if voter != node]
    if action == "SetCurrVoteFor":
        return [(node, args["candidate"])] if args.get("candidate", node) != node else []
    return []


PICTURE = Picture(
    nodes="node",
    draw=_draw,
    end=_end,
    label=_label,
    loses=frozenset({"Lose"}),
    doubles=frozenset({"Duplicate"}),
    changes=frozenset({"awaited"}),
    log="log",
    log_begins=0,
    entry=_entry,
    grants=_grants,
    votes=_votes,
)

#: The faults of the network, of a process or of a machine, and the recovery from them.
FAULTS = (
    PICTURE.loses
    | PICTURE.doubles
    | {
        *("Crash", "Shutdown", "LosePower", "CrashInPersistTerm", "CrashInPersistCheckPoint", "Restart"),
    }
)

#: The actions by which a leader takes a client's write, with what makes their other arguments out of a text.
CLIENT_WRITES: Mapping[str, Callable[[str], Mapping[str, Value]]] = MappingProxyType(
    {"AppendAsLeader": lambda text: {"value": text}}
)
