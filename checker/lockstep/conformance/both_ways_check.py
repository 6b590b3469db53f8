"""Conformance in both directions: actions that a running system takes and the spec does not, and the reverse.

A trace shows what was done. A step that is never taken contradicts nothing, so a guard that is too strict is no
deviation. Here actions are tried on a copy of the system between two of its steps, whatever its schedule does: every
action with all arguments that the spec's quantifiers bind, and some that they do not. The system must take what the
spec allows and refuse what it does not, and each step must lead to the same: what every node shows, what was sent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from lockstep.base.characters import counted, visible_line
from lockstep.base.verdict import Verdict
from lockstep.conformance.json_values import to_tree, to_value
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import Events, TraceCheck
from lockstep.conformance.trace_verdict import Finding, failure, finding
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value, format_value
from lockstep.tla.values.quantifier_bounds import UnknownArgumentError
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace

#: A node, an action, and its arguments as an event has them.
Offer: TypeAlias = tuple[str, str, Mapping[str, Any]]


class SystemProbe(Protocol):
    """A running system between two of its steps; nothing that is tried changes it."""

    def offers(self) -> Iterator[Offer]:
        """Yield what else to try: arguments that no quantifier of the spec binds."""

    def take(self, node: str, action: str, args: Mapping[str, Any]) -> Sequence[Event] | None:
        """Take an action on a copy; return its event, and what others show then; None where it is refused."""


#: A run, step by step: the event, and the system after it.
ProbedRun: TypeAlias = Iterator[tuple[Event, SystemProbe]]


@dataclass(slots=True)
class BothWays:
    """The differences between a run of a system and the spec, in what both take and refuse.

    `steps` is after how many steps actions were tried, `taken` and `refused` how often both took or refused one;
    `findings` is where system and spec differ, or where the run itself leaves the spec.
    """

    source: str
    verdict: Verdict = Verdict.INCONCLUSIVE
    reason: str = "nothing was tried"
    steps: int = 0
    taken: int = 0
    refused: int = 0
    findings: list[Finding] = field(default_factory=list)


def check_both_ways(
    header: Header,
    run: ProbedRun,
    spec: Spec,
    interface: Interface,
    probed: Container[int],
    source: str,
    max_findings: int = 10,
) -> BothWays:
    """Follow a run of a system with the spec, and try after some of its steps what else it would do.

    Arguments: `header`, of the run's trace; `spec`, compiled with its constants; `probed`, the numbers of the steps,
    from 1 on; `max_findings`, how many differences end the check.
    """
    found = BothWays(source)
    prober = _Prober(header, spec, interface, found)
    place = "the initial state"
    try:
        state = prober.check.initial()
        for number, (event, trial) in enumerate(run, start=1):
            place = f"step {number} ({event.action} of {visible_line(event.node)})"
            after = prober.follow(state, event)
            if after is None or len(found.findings) >= max_findings:
                break
            state = after
            if number in probed:
                found.steps += 1
                prober.probe(state, event, trial)
    except Exception as error:  # Whatever it is, it is this run's alone.
        failed = failure(error, source, place)
        found.verdict, found.reason = failed.verdict, failed.reason
        return found
    if found.findings:
        found.verdict = Verdict.VIOLATED
        found.reason = f"{counted(len(found.findings), 'difference')}, the first after event {found.findings[0].seq}"
    elif found.taken and found.refused:
        found.verdict, found.reason = Verdict.HOLDS, "takes what the spec allows, and nothing else"
    return found


class _Prober:
    """One run and the spec, with the actions that are tried on both."""

    def __init__(self, header: Header, spec: Spec, interface: Interface, found: BothWays) -> None:
        nothing_written: Events = Trace(trace_lines(header, ()), found.source)
        self.spec, self.interface, self.found = spec, interface, found
        self.check = TraceCheck(nothing_written, spec, interface)
        found.findings = self.check.result.findings

    def follow(self, state: State, *events: Event) -> State | None:
        """Take events with the spec; note the finding, and return None, where they are not the spec's."""
        after: State | None = state
        for event in events:
            if after is not None:
                after = self.check.advance(after, event.seq, event)
        return after

    def probe(self, state: State, last: Event, trial: SystemProbe) -> None:
        """Try everything after an event: what the spec has arguments for, and what the system offers besides.

        If the arguments of an action have no end, only what the system offers is tried.
        """
        tried: set[tuple[str, tuple[Value, ...]]] = set()
        for name in self.spec.actions:
            for args in self._listed(state, name):
                key = (name, tuple(args.values()))
                if key not in tried:
                    tried.add(key)
                    self._try(state, last, trial, name, args)
        for node, name, tree in trial.offers():
            if name in self.spec.actions:
                params = self.spec.actions[name].params
                given = {params[0]: node, **tree}
                args = {param: to_value(given[param], self.interface.words) for param in params}
                if (name, tuple(args.values())) not in tried:
                    self._try(state, last, trial, name, args)

    def _listed(self, state: State, name: str) -> Iterator[Mapping[str, Value]]:
        with contextlib.suppress(UnknownArgumentError):
            yield from self.spec.arguments(state, name)

    def _try(self, state: State, last: Event, trial: SystemProbe, name: str, args: Mapping[str, Value]) -> None:
        node, *others = self.spec.actions[name].params
        words = self.interface.words
        tree = {param: to_tree(args[param], words) for param in others}
        events = trial.take(to_tree(args[node], words), name, tree)
        if events is not None:
            first = self._tried(last, events[0])
            if self.follow(state, first, *(self._tried(last, each) for each in events[1:])) is not None:
                self.found.taken += 1
        elif self.spec.step(state, name, args) is None:
            self.found.refused += 1
        else:
            refused = Event(seq=last.seq, node=to_tree(args[node], words), action=name, args=tree)
            arguments = [f"{param} = {format_value(args[param])}" for param in others]
            details = ["the spec allows it, and the system refuses it", *arguments]
            self.found.findings.append(finding(self.spec, self.interface, "refused", name, last.seq, refused, details))

    def _tried(self, last: Event, event: Event) -> Event:
        """Return an event as one of the place where it was tried."""
        return Event(last.seq, event.node, event.action, event.args, event.shows, event.sent)
