"""The spec's behaviour so far: its state, and the events that led there.

The steps and the values that they show are the recording's; the spec's state decides which message a line means, and
what a routine waits for. Values of the recording never go into it: they go into the events, which the check compares
with the spec by itself. A trial takes a step from a state, this one or another, and leaves the behaviour as it is.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lockstep.conformance.json_values import Words, to_tree, to_value
from lockstep.systems.hashicorp.recorded_calls import Tree
from lockstep.systems.hashicorp.recorded_uses import RecordedUses
from lockstep.systems.recording_file import RecordingLine
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.function_operators import in_domain
from lockstep.tla.values.kinds import ArgumentError, Fcn, Value, as_fcn
from lockstep.trace.trace_format import OBSERVE, Event

#: What a main loop does first once it has noticed that its server follows; or the server starts again.
_AS_FOLLOWER = frozenset(
    {
        *("AppendEntries", "InstallSnapshot", "RequestVote", "RequestPreVote", "TimeoutNow", "HeartbeatTimeout"),
        *("Crash", "Restart"),
    }
)
#: What it may do once more as a candidate or a leader before it notices.
_AS_OVERTAKEN = frozenset(
    {
        *("ElectSelf", "HandleRequestVoteResponse", "HandleRequestPreVoteResponse"),
        *("DispatchLogs", "DispatchNoop", "AppendConfigurationEntry"),
    }
)

DONE: Tree = {"result": "DONE", "write": 0}


class NotAStepError(Exception):
    """The spec has no such step: its behaviour in the lines after it is not known."""


class RecordingReplay:
    """A behaviour of the spec, step by step; `line` is the one that is being read."""

    def __init__(self, spec: Spec, whole_log: Callable[[str], Any], uses: RecordedUses | None = None) -> None:
        """Begin in the spec's initial state.

        Arguments: `whole_log` returns the log of a server as it was recorded; `uses` are those of the lines.
        """
        self.spec, self.whole_log, self._uses = spec, whole_log, uses or RecordedUses()
        self.words = Words({**spec.model_values, **spec.constants}["NoNode"])
        (self.state,) = spec.initial_states()
        self._events: list[Event] = []
        #: The number of events by action, and of those that have no line.
        self.actions, self.hidden = Counter[str](), Counter[str]()
        #: The lines whose event stands before one of a line above.
        self.moved = array("Q")
        self.line: RecordingLine | None = None
        #: The servers whose main loop was taken to notice at once that they follow; no line says when it did.
        self.noticed = set[str]()
        #: The servers whose main loop campaigns before it notices that they follow.
        self.campaigning = set[str]()
        #: Called with the node of a step and the state that it leads to, before it is taken: another may come first.
        self.before_step: Callable[[str, State], None] = lambda _node, _after: None
        #: Called with the node where there is no such step: another one may make it possible.
        self.before_refusal: Callable[[str], None] = lambda _node: None

    def take(
        self,
        node: str,
        action: str,
        args: Mapping[str, Any] | None = None,
        shows: Mapping[str, Any] | None = None,
        sent: tuple[Tree, ...] | None = None,
        *,
        line: RecordingLine | None = None,
        hidden: bool = False,
    ) -> None:
        """Take a step.

        Arguments: `args`, `shows` and `sent`, as a trace has them; `line`, if it is not the one being read; `hidden`,
        whether the step has no line.
        Raises NotAStepError, once the event is recorded, where the spec has no such step.
        """
        after = self.trial(node, action, args or {})
        if after is None:
            self.before_refusal(node)
            after = self.trial(node, action, args or {})
        else:
            present = self.state
            self.before_step(node, after)
            if self.state is not present:
                after = self.trial(node, action, args or {})
        shown = dict(shows or {})
        if after is not None and "log" in shown and not self._has_indexes(node, after, shown["log"]):
            shown["log"] = self.whole_log(node)
        disputed = after is None and node in self.noticed and action in _AS_OVERTAKEN
        self._record(node, action, args or {}, shown, sent, line, hidden=hidden, disputed=disputed)
        if after is None:
            raise NotAStepError
        if action in _AS_FOLLOWER and "Heartbeat" not in (args or {}).get("m", {}).values():
            self.noticed.discard(node)
        self.state = after

    def _has_indexes(self, node: str, state: State, shown: Any) -> bool:
        """Return whether the log of a server has the indexes that are shown."""
        log = fields(fields(state["node"])[node])["log"]
        return not isinstance(shown, dict) or "#map" in shown or all(in_domain(int(index), log) for index in shown)

    def require_snapshot(self, node: str, place: Tree) -> None:
        """Raise NotAStepError where a server has restored a snapshot, and the spec's last one is another.

        The last event shows the difference; from then on the state of the FSM is not known.
        """
        if self.tree(self.server(node)["lastSnapshot"]) != place:
            raise NotAStepError

    def reach_select(self, node: str) -> None:
        """Let a main loop that was about to campaign come to where it takes an event.

        A heartbeat beside it has made the server a follower, or the requests for pre-votes were never sent.
        """
        server = self.server(node)
        if server["loop"] == "CAMPAIGN" and server["role"] == "Follower":
            self.take(node, "RunFollower", hidden=True)
        elif server["loop"] == "CAMPAIGN" and self.trial(node, "PreElectSelf", {}) is not None:
            self.take(node, "PreElectSelf", hidden=True)

    def notice(self, node: str) -> None:
        """Let a main loop notice that a heartbeat beside it has made a candidate or a leader a follower.

        The library has no line for that. Where the main loop took one more event as a candidate or a leader first, but
        for a pre-vote by which it campaigns, the order of the steps is disputed.
        """
        if self.server(node)["loop"] == "OVERTAKEN" and node not in self.campaigning:
            self.take(node, "RunFollower", hidden=True)
            self.noticed.add(node)

    def observe(self, node: str, shows: Mapping[str, Any]) -> None:
        """A node shows something."""
        self._record(node, OBSERVE, {}, shows, None, None)

    def _record(
        self,
        node: str,
        action: str,
        args: Mapping[str, Any],
        shows: Mapping[str, Any],
        sent: tuple[Tree, ...] | None,
        line: RecordingLine | None,
        *,
        hidden: bool = False,
        disputed: bool = False,
    ) -> None:
        source = line or self.line
        assert source is not None
        if hidden:
            self.hidden[action] += 1
        elif self.line is None or source.seq != self.line.seq:
            self.moved.append(source.number)
        if action == OBSERVE:
            self._uses.observed(source.number)
        elif not hidden:
            self._uses.acted(source.number)
        step = (action, dict(args), dict(shows), sent)
        place = self.actions.total()
        self.actions[action] += 1
        self._events.append(Event(place, node, *step, t_ms=source.t_ms, line=source.number, disputed=disputed))

    def take_events(self) -> list[Event]:
        """Return the events behind those that were returned before."""
        found, self._events = self._events, []
        return found

    def trial(self, node: str, action: str, args: Mapping[str, Any]) -> State | None:
        """Return the state after a step, None where there is none."""
        first = self.spec.actions[action].params[0]
        values = {first: node, **{name: to_value(tree, self.words) for name, tree in args.items()}}
        try:
            return self.spec.step(self.state, action, values)
        except ArgumentError:
            return None

    def trial_in(self, state: State | None, node: str, action: str, args: Mapping[str, Any]) -> State | None:
        """Return the state to which a step leads from another state, the present one if None; None: there is none."""
        present = self.state
        self.state = state or present
        try:
            return self.trial(node, action, args)
        finally:
            self.state = present

    def trial_of(self, node: str, steps: Iterable[tuple[str, Mapping[str, Any]]]) -> State | None:
        """Return the state after several steps, None where the spec has no such steps."""
        present = self.state
        try:
            for action, args in steps:
                after = self.trial(node, action, args)
                if after is None:
                    return None
                self.state = after
            return self.state
        finally:
            self.state = present

    def unawaited_answer(self, node: str, action: str, args: Mapping[str, Any]) -> Tree | None:
        """Return the answer that a node would have given to a request if its caller had waited for it, if any."""
        m = args["m"]
        found = self.message(m, awaited=False)
        if found is None:
            return None
        src, present = m["src"], self.state
        awaited = as_fcn({**fields(found), "awaited": True})
        network = dict(fields(present["network"]))
        network[src] = as_fcn({**fields(network[src]), node: as_fcn({awaited: 1})})
        network[node] = as_fcn({**fields(network[node]), src: as_fcn({})})
        try:
            self.state = present.replace(network=as_fcn(network))
            after = self.trial(node, action, {**args, "m": {**m, "awaited": True}})
            answers = [] if after is None else list(self.under_way(node, src, after))
        finally:
            self.state = present
        return self.tree(answers[0]) if answers else None

    # ---- The spec's state ----

    def server(self, node: str, state: State | None = None) -> Mapping[str, Any]:
        """Return the record of a server in a state, by default the present one."""
        return fields(fields((state or self.state)["node"])[node])

    def runner(self, node: str, peer: str) -> Mapping[str, Any]:
        """Return the routines of a leader for a peer."""
        return fields(fields(self.server(node)["replication"])[peer])

    def under_way(self, src: str, dst: str, state: State | None = None) -> Iterator[Value]:
        """Yield the messages from one node to another."""
        channel = fields((state or self.state)["network"])[src]
        bag = fields(channel)[dst]
        yield from bag.d if isinstance(bag, Fcn) else ()

    def message(self, tree: Tree, state: State | None = None, *, awaited: bool | None = None) -> Value | None:
        """Return the message under way that has all fields of a tree; those that the tree lacks may be anything."""
        return next(self._messages(tree, state, awaited), None)

    def sends(self, tree: Tree, after: State) -> bool:
        """Return whether a step to a state has sent an unawaited message with all fields of a tree: one copy more."""
        before = self._copies(tree, self.state)
        return any(
            self._copies(tree, after)[each] > before.get(each, 0) for each in self._messages(tree, after, awaited=False)
        )

    def _copies(self, tree: Tree, state: State) -> dict[Value, int]:
        bag = fields(fields(state["network"])[tree["src"]])[tree["dst"]]
        return dict(bag.d) if isinstance(bag, Fcn) else {}

    def _messages(self, tree: Tree, state: State | None, awaited: bool | None) -> Iterator[Value]:
        wanted = {name: to_value(part, self.words) for name, part in tree.items() if name != "snapshot"}
        if awaited is not None:
            wanted["awaited"] = awaited
        snapshot = {name: to_value(part, self.words) for name, part in tree.get("snapshot", {}).items()}
        for found in self.under_way(tree["src"], tree["dst"], state):
            parts = fields(found)
            if all(parts.get(name) == value for name, value in wanted.items()) and all(
                fields(parts["snapshot"]).get(name) == value for name, value in snapshot.items()
            ):
                yield found

    def tree(self, value: Value) -> Any:
        """Return a value as a trace has it."""
        return to_tree(value, self.words)


def fields(value: Value) -> dict[Any, Any]:
    """Return the parts of a record, or of a function on names."""
    assert isinstance(value, Fcn)
    return value.d
