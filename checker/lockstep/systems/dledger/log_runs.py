"""Steps from one line to the next under construction: the state they have come to, and how they led there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lockstep.conformance.comparison import equal_count
from lockstep.logs.continuations import Step
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, ModelValue, Value
from lockstep.trace.trace_format import OBSERVE

#: The actions that may be hidden: those of which DLedger logs nothing, or nothing where they go well; and
#: CheckAppendFuture, whose lines are not read.
HIDDEN = frozenset(
    {
        "NextTerm",
        "SetCurrVoteFor",
        "AppendAsLeader",
        "DoCompare",
        "HandleDoCompare",
        "HandleCompareResponse",
        "DoAppend",
        "HandleDoAppend",
        "CheckAppendFuture",
        "HandleAppendResponse",
        "RefreshOwnWaterMark",
        "QuorumAckChecker",
        "DoCommit",
        "HandleDoCommit",
        "PersistCheckPoint",
        "Crash",
        "CrashInPersistTerm",
        "CrashInPersistCheckPoint",
    }
)

_WAITED = ("COMPARE", "TRUNCATE")


@dataclass(frozen=True, slots=True)
class Taken(Step):
    """One step of a node, or an observation of it, and what it then shows; `args` are those but for the node."""

    node: str
    shows: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """Steps from a state: the last state, the last step, and the run before that; runs share what they have in common.

    `saves` are the committed indexes that nodes will find in their checkpoints when they next restart.
    """

    spec: Spec
    state: State
    saves: Mapping[str, int] = field(default_factory=dict)
    last: Taken | None = None
    before: Run | None = None

    def steps(self) -> tuple[Taken, ...]:
        """Return the steps in their order."""
        found: list[Taken] = []
        run: Run | None = self
        while run is not None and run.last is not None:
            found.append(run.last)
            run = run.before
        return tuple(reversed(found))

    def take(
        self, action: str, node: str, *, shows: Mapping[str, Any] | None = None, hidden: bool = False, **args: Value
    ) -> Run | None:
        """Return the run after a step; None where the spec does not allow it, or the node then shows something else.

        A checkpoint is saved, which no line tells of, as soon as there is what a restart will find in it.
        """
        params = self.spec.actions[action].params
        after = self.spec.step(self.state, action, {params[0]: node, **args})
        if after is None:
            return None
        run = Run(self.spec, after, self.saves, Taken(action, args, after, hidden, node, shows or {}), self)
        if not run.fits(node, shows or {}):
            return None
        committed = self.saves.get(node)
        is_due = committed == run.of(node, "committedIndex") != run.of(node, "checkPoint")
        return run.hide("PersistCheckPoint", node) or run if is_due else run

    def hide(self, action: str, node: str, **args: Value) -> Run | None:
        """Return the run after a step that no line tells of, one of HIDDEN."""
        if action not in HIDDEN:
            raise ValueError(f"{action} is not hidden: DLedger logs it")
        return self.take(action, node, hidden=True, **args)

    def observe(self, node: str, shows: Mapping[str, Any]) -> Run | None:
        """Return the run after an observation that is no step, or None where the node shows something else."""
        if not self.fits(node, shows):
            return None
        return Run(self.spec, self.state, self.saves, Taken(OBSERVE, {}, self.state, False, node, shows), self)

    def fits(self, node: str, shows: Mapping[str, Any]) -> bool:
        """Tell whether the node shows this."""
        return not shows or equal_count(shows, self.spec.evaluate(OBSERVE, self.state, node)) is not None

    # ---- What the spec's state says ----

    def of(self, node: str, name: str) -> Any:
        """Return a field of the node's state."""
        return self.state["node"].d[node].d[name]

    def dispatcher(self, node: str, peer: str, name: str) -> Any:
        """Return a field of the node's dispatcher for a peer."""
        return self.of(node, "dispatchers").d[peer].d[name]

    def mark(self, node: str, peer: str) -> int:
        """Return the watermark that the node keeps of a peer."""
        found: int = self.of(node, "peerWaterMarks").d[peer]
        return found

    def end(self, node: str) -> int:
        """Return the node's ledgerEndIndex."""
        return len(self.of(node, "log")) - 1

    def leads(self, node: str) -> bool:
        """Tell whether the node leads."""
        return bool(self.of(node, "role") == "LEADER")

    def leader_of(self, node: str) -> str | None:
        """Return who leads the node: itself, or the leader of its term that it follows."""
        if self.leads(node):
            return node
        leader = self.of(node, "leaderId")
        if self.of(node, "role") != "FOLLOWER" or isinstance(leader, ModelValue) or not self.leads(leader):
            return None
        same_term = self.of(leader, "currTerm") == self.of(node, "currTerm")
        return str(leader) if same_term else None

    def messages(self, source: str, target: str, kind: str, type_: str, index: int | None = None) -> list[Fcn]:
        """Return the messages under way from one node to another, of an index or in the order of indexes."""
        channel = self.state["network"].d[source].d[target]
        table = channel.d if isinstance(channel, Fcn) else {}
        found = [m for m in table if m.d["type"] == type_ and m.d["kind"] == kind]
        if index is not None:
            found = [m for m in found if m.d["index"] == index]
        return sorted(found, key=_place) if len(found) > 1 else found


def essence(state: State) -> tuple[Value, frozenset[Value]]:
    """Return what tells a state from others: the nodes, and COMPAREs and TRUNCATEs that are waited for.

    Other messages that stayed under way are of no consequence: each may be late for ever.
    """
    rows = (row for row in state["network"].d.values() if isinstance(row, Fcn))  # a group of one has none
    channels = (channel for row in rows for channel in row.d.values())
    messages = (m for channel in channels if isinstance(channel, Fcn) for m in channel.d)
    return state["node"], frozenset(m for m in messages if m.d["type"] in _WAITED and m.d.get("awaited", True))


def _place(message: Fcn) -> tuple[Any, ...]:
    """Return what orders messages of one type, whatever the order in which a set lists them."""
    fields = message.d
    entry = fields["entry"].d if "entry" in fields else {"term": -1, "value": ""}
    numbers = [fields.get(name, -1) for name in ("index", "commitIndex", "term", "beginIndex", "endIndex")]
    return (*numbers, fields.get("code", ""), fields.get("awaited", False), entry["term"], entry["value"])
