"""The interface of a spec for traces: the definitions that events are compared with, and what their words mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lockstep.conformance.finding_codes import PROPERTY
from lockstep.conformance.json_values import WORDS, Words
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, Value


@dataclass(frozen=True, slots=True)
class Outbox:
    """The definitions of a spec that give what a node has sent.

    `operator` gives, of a node, the messages under way from it; `network` is the variable that holds, by node, its
    channels, each a sequence or a bag of messages; `address` are the fields that every message has.
    """

    operator: str
    network: str
    address: tuple[str, ...] = ()


def no_location(_action: str) -> str:
    """Return "": no reference implements the action."""
    return ""


@dataclass(frozen=True, slots=True)
class Interface:
    """The names of a spec that the check of a trace must know, since the spec itself does not say them.

    `observe` names the definition that gives what a trace may show, of a node if it takes one; where the spec does not
    define it, a trace shows the variables by name. `outbox` gives what a node has sent, if the spec has that. `words`
    are what null and strings of the trace stand for. `codes` are the codes of the properties by name. `locate`
    returns where a reference implements an action, as FILE:LINE, or "". `has_unchecked` says whether the cfg has a
    property that no trace is checked for. An event's node is the first parameter of its action; where `args_name_all`,
    its arguments may name that parameter, too, and then the node is no more than the one that shows something.
    """

    observe: str = "Observe"
    outbox: Outbox | None = None
    words: Words = WORDS
    codes: Mapping[str, str] = field(default_factory=dict)
    locate: Callable[[str], str] = no_location
    has_unchecked: bool = False
    args_name_all: bool = False

    def code_of(self, name: str) -> str:
        """Return the code of a property that is violated."""
        return self.codes.get(name, PROPERTY)

    def takes_node(self, spec: Spec) -> bool:
        """Return whether what a trace may show is defined for each node."""
        return self.observe in spec.definitions and spec.arity(self.observe) > 0

    def observable(self, spec: Spec, state: State, node: Value | None = None) -> Value:
        """Return what a trace may show of a state, of a node if that is defined for each.

        Raises TlaError where it has no value.
        """
        if self.observe not in spec.definitions:
            return Fcn(dict(state.as_dict()))
        return spec.evaluate(self.observe, state, *([node] if spec.arity(self.observe) else []))

    def read_variables(self, spec: Spec) -> list[int] | None:
        """Return the numbers of the variables that `observable` reads; None where that is not known."""
        try:
            read = {path[0] for path in spec.footprint(self.observe)}
        except KeyError:
            return None
        return [number for number, name in enumerate(spec.variables) if name in read]

    def has_outbox(self, spec: Spec) -> bool:
        """Return whether a spec says what a node has sent."""
        outbox = self.outbox
        return outbox is not None and outbox.operator in spec.definitions and outbox.network in spec.variables


def copies(channels: Value) -> Counter[Value]:
    """Count the messages in a node's channels of the spec: a channel is a sequence, or a bag of copies by message."""
    found: Counter[Value] = Counter()
    for channel in channels.d.values() if isinstance(channels, Fcn) else ():  # a node alone has no channels
        found.update(channel.d if isinstance(channel, Fcn) else Counter(channel))
    return found
