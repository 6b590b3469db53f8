"""Values of events as the spec has them, and the errors of malformed ones, for every engine alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from lockstep.base.characters import visible_line
from lockstep.conformance.comparison import (
    Comparison,
    ComparisonCache,
    ObservationError,
    ShownValue,
    compare,
    spelling_hint,
)
from lockstep.conformance.json_values import to_value
from lockstep.conformance.spec_interface import Interface
from lockstep.tla.spec import ActionInfo
from lockstep.tla.values.equality import eq
from lockstep.tla.values.kinds import Fcn, TlaTypeError, Value, format_value
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import OBSERVE, Event


class EventReader:
    """Reads the events of one trace; raises TraceError with file, line and field where one is malformed.

    Arguments: `source`, the trace's file; `actions` of the spec; `interface`, where the two meet.
    """

    def __init__(self, source: str, actions: Mapping[str, ActionInfo], interface: Interface) -> None:
        self.source, self.actions, self.interface = source, actions, interface
        self.words = interface.words
        self._comparisons = ComparisonCache(self.words)

    def arguments(self, line: int, event: Event) -> dict[str, Value]:
        """Return the arguments of the event's action, by the spec's names; its node is the first, or it names all."""
        action = self.actions.get(event.action)
        if action is None:
            near = spelling_hint(event.action, self.actions)
            raise self.malformed(line, "action", f"the spec has no action {event.action!r}{near}")
        first = action.params[:1] if event.node else ()
        if self.interface.args_name_all and event.args.keys() >= set(first):
            first = ()
        bound = {name: self.node(event) for name in first}
        others = [name for name in action.params if name not in bound]
        for name in others:
            if name not in event.args:
                raise self.malformed(line, f"args.{name}", f"{event.action} needs it")
        for name in event.args:
            if name not in others:
                raise self.malformed(line, f"args.{name}", f"{event.action} has none such")
        return bound | {name: self.value(event.args[name], line, f"args.{name}") for name in others}

    def is_observation(self, event: Event) -> bool:
        """Return whether an event is no step; a spec may have an action of that name, and then it is one."""
        return event.action == OBSERVE and OBSERVE not in self.actions

    def refuse_arguments(self, line: int, event: Event) -> None:
        """Raise TraceError where an observation, which is no step, has arguments."""
        if event.args:
            raise self.malformed(line, "args", f"{OBSERVE} takes none")

    def node(self, event: Event) -> Value:
        """Return the node as the spec has it: a string, or the model value of that name."""
        return self.words.strings.get(event.node, event.node)

    def value(self, tree: Any, line: int, path: str) -> Value:
        """Return the value of a JSON tree."""
        try:
            return to_value(tree, self.words)
        except ValueError as error:
            raise self.malformed(line, path, str(error)) from error

    def message(self, tree: Any, line: int, path: str) -> Value:
        """Return the value of a message."""
        value = self.value(tree, line, path)
        address = () if self.interface.outbox is None else self.interface.outbox.address
        if not isinstance(value, Fcn) or not value.d.keys() >= set(address):
            needs = " and ".join(f"`{name}`" for name in address)
            raise self.malformed(line, path, f"no message of the spec: it needs {needs or 'fields'}")
        return value

    def malformed(self, line: int, path: str, problem: str) -> TraceError:
        """Make the error of a field."""
        return TraceError(self.source, line, f"field `{path}`: {problem}")

    def no_node(self, line: int) -> TraceError:
        """Make the error of an event without a node that shows something of one."""
        return self.malformed(line, "node", f"missing: the spec's {self.interface.observe} takes one")

    def no_outbox(self, line: int) -> TraceError:
        """Make the error of messages that nothing of the spec can be compared with."""
        return self.malformed(line, "sent", "the spec does not say what a node sends")

    def compare(self, event: Event, line: int, observable: Value) -> Comparison:
        """Compare what an event shows with what the spec says."""
        try:
            return self._comparisons.compare(event.node, event.shows, observable)
        except ObservationError as error:
            raise TraceError(self.source, line, str(error)) from error

    def shown_values(self, event: Event, line: int, observable: Value) -> list[ShownValue]:
        """Return each value that an event shows beside the spec's."""
        try:
            return compare(event.shows, observable, self.words)
        except ObservationError as error:
            raise TraceError(self.source, line, str(error)) from error

    def sent_details(self, event: Event, line: int, outbox: Collection[Value], added: Counter[Value]) -> list[str]:
        """Compare both ways: each message claimed is one that the step sent, each one sent is claimed.

        Arguments: `outbox`, the messages under way from the node after the step; `added`, those that are new.
        Returns a line for each difference.
        """
        claimed: Counter[Value] = Counter()
        details: list[str] = []
        for index, tree in enumerate(event.sent or ()):
            message = self.message(tree, line, f"sent[{index}]")
            if not self._is_among(message, outbox, line, f"sent[{index}]"):
                details.append(
                    f"not under way from {visible_line(event.node)} after this step: {format_value(message)}"
                )
            claimed[message] += 1
        details += _message_lines("under way, but not sent by this step", (claimed - added).keys() & set(outbox))
        return details + _message_lines("sent by this step, and not in the trace", added - claimed)

    def _is_among(self, message: Value, outbox: Iterable[Value], line: int, path: str) -> bool:
        try:
            return any(eq(message, other) for other in outbox)
        except TlaTypeError as error:
            raise self.malformed(line, path, f"no message of the spec: {error}") from error


def _message_lines(what: str, messages: Iterable[Value]) -> list[str]:
    return [f"{what}: {text}" for text in sorted(map(format_value, messages))]
