"""The check of a sequence of full states: is it a behaviour of the spec, and does each property hold?

The first state must be an initial one. Each other one must be a successor of the state before by some action of the
next-state relation, with some arguments, or equal it: a behaviour of TLA+ may stutter. Which action it was is found;
one that the file names is tried first. The spec computes with its own states, to which those of the file are equal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import GaveUpError
from lockstep.base.spelling import did_you_mean
from lockstep.base.verdict import Verdict
from lockstep.conformance.comparison import ObservationError, compare
from lockstep.conformance.finding_codes import NO_STEP
from lockstep.conformance.json_values import Words, to_tree
from lockstep.conformance.property_evaluation import IncrementalEvaluation
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.step_coverage import StepCoverage
from lockstep.conformance.trace_verdict import (
    INIT,
    Finding,
    TraceVerdict,
    conclude,
    failure,
    finding,
    place_of_property,
)
from lockstep.tla.compile.spec_fault import with_place
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.equality import eq
from lockstep.tla.values.itf_values import from_itf
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, TlaTypeError, Value, format_value
from lockstep.trace.itf_reader import ItfState, ItfTrace
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event

#: How many initial states are compared with the first one.
MAX_INITIAL_STATES = 1_000_000

#: How many of the nearest states are shown where none is equal, in how many parts of a variable each, and the length at
#: which a text is cut.
MAX_NEAREST, MAX_PARTS, MAX_TEXT = 3, 8, 160

_STUTTERS = "a step that changes nothing"


@dataclass(frozen=True, slots=True)
class SpecStep:
    """A step that the spec allows: its action, "Init" for the first state, with its arguments, and the state after it.

    The action of a step that changes nothing is "". `differing` names the variables in which the file has another
    value.
    """

    action: str
    args: Mapping[str, Value]
    state: State
    differing: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The step in a line."""
        args = ", ".join(f"{name} = {_short(value)}" for name, value in self.args.items())
        return f"{self.action}({args})" if args else self.action


@dataclass(frozen=True, slots=True)
class RefusedState:
    """A state of the file that the spec does not allow: its values, its index, and the state before, if there is one.

    `goes_back`: it is the one that the loop goes back to, after the last.
    """

    given: Mapping[str, Value]
    index: int
    before: State | None
    goes_back: bool = False


def check_states(
    trace: ItfTrace, spec: Spec, interface: Interface, deadline: Deadline = NEVER, *, covers: bool = False
) -> TraceVerdict:
    """Check a behaviour whose states all have every variable.

    Arguments: `trace`, the behaviour; `interface` has the strings that stand for model values, and codes of properties;
    `deadline`, after which the verdict is left open; `covers`, whether the verdict is to have what the steps reach.
    Returns the verdict; a malformed file is one, too, and so is an error of the spec, with the state it had come to.
    """
    return follow_states(trace, spec, interface, deadline, covers=covers).result


def follow_states(
    trace: ItfTrace, spec: Spec, interface: Interface, deadline: Deadline = NEVER, *, covers: bool = False
) -> StateCheck:
    """Check a behaviour as check_states does, and return the check, with the steps that the spec takes besides."""
    begin = time.perf_counter()
    check = StateCheck(trace, spec, interface, deadline)
    try:
        if covers:
            check.coverage = StepCoverage(spec)
            check.result.note_reached(check.coverage.times, check.coverage.parts)
        check.run()
    except Exception as error:  # Whatever it is, it is this trace's alone.
        check.result.fail(failure(with_place(error, spec.source), trace.source, check.place))
    check.result.seconds = time.perf_counter() - begin
    return check


class StateCheck:
    """One check: what was found in `result`, the spec's steps in `taken`, and the state that is none of its, if any.

    There is a step for each state up to there.
    """

    def __init__(self, trace: ItfTrace, spec: Spec, interface: Interface, deadline: Deadline) -> None:
        """Prepare the check of a behaviour, as check_states does it."""
        self.trace, self.spec, self.interface, self.deadline = trace, spec, interface, deadline
        self.names = frozenset(interface.words.strings) | _name_of(interface.words.null)
        self.result = TraceVerdict(trace.source, Verdict.INCONCLUSIVE, "")
        self.place = "states[0]"
        self.stuttering = 0
        self.taken: list[SpecStep] = []
        self.refused: RefusedState | None = None
        self.coverage: StepCoverage | None = None

    def run(self) -> None:
        """Check the behaviour from its begin to its end, or to where it leaves the spec."""
        self._refuse_names()
        self._refuse_constants()
        state = self._initial()
        if state is not None:
            self._follow(state)
        if self.stuttering:
            self.result.notes.append(f"note: {self.stuttering:,} of the steps change nothing")
        if self.trace.left_out:
            self.result.notes.append(f"note: left out, for no spec has them: {', '.join(self.trace.left_out)}")
        conclude(self.result, has_unchecked=self.interface.has_unchecked)

    # ---- The file ----

    def _refuse_names(self) -> None:
        for name in self.trace.variables:
            if name not in self.spec.variables:
                near = did_you_mean(name, self.spec.variables)
                raise TraceError(self.trace.source, 1, f"field `vars`: the spec has no variable {name!r}{near}")
        for name in self.spec.variables:
            if name not in self.trace.variables:
                raise TraceError(self.trace.source, 1, f"field `vars`: the spec's variable {name!r} is missing")

    def _refuse_constants(self) -> None:
        for name, tree in self.trace.params:
            if name not in self.spec.constants:
                near = did_you_mean(name, self.spec.constants)
                raise TraceError(self.trace.source, 1, f"field `params`: the spec has no constant {name!r}{near}")
            given, here = self._decoded(0, name, tree), self.spec.constants[name]
            if not _equal(given, here):
                problem = f"it is {_short(given)}, and {_short(here)} with the cfg"
                raise TraceError(self.trace.source, self.trace.states[0].line, f"field `states[0].{name}`: {problem}")

    def values(self, index: int) -> dict[str, Value]:
        """Return the values of the spec's variables in a state of the file; raises TraceError where one is none."""
        given = self.trace.states[index].values
        return {name: self._decoded(index, name, given[name]) for name in self.spec.variables}

    def _decoded(self, index: int, name: str, tree: object) -> Value:
        try:
            return from_itf(tree, self.names)
        except ValueError as error:
            problem = f"field `states[{index}].{name}`: {error}"
            raise TraceError(self.trace.source, self._at(index).line, problem) from error

    def _at(self, index: int) -> ItfState:
        return self.trace.states[index]

    # ---- The behaviour ----

    def _initial(self) -> State | None:
        given = self.values(0)
        allowed = (SpecStep(INIT, {}, state) for state in islice(self.spec.initial_states(), MAX_INITIAL_STATES))
        found = self._found(RefusedState(given, 0, None), 0, allowed, "no initial state is like it")
        if found is not None:
            self.taken.append(found)
            for table in (self.spec.invariants, self.spec.initial_properties):
                for name, holds in table.items():
                    if not holds(found.state):
                        self._violated(name, 0, INIT)
        return None if found is None else found.state

    def _follow(self, state: State) -> None:
        properties = IncrementalEvaluation(self.spec)
        for name in self.result.violations:
            properties.drop(name)
        properties.begin(state)
        for index in range(1, len(self.trace.states)):
            self.place = f"states[{index}]"
            found = self._step(RefusedState(self.values(index), index, state), index, "no step leads to it")
            if found is None:
                return
            self.result.events += 1
            self.result.steps += found.action != ""
            if self.coverage is not None and found.action:
                self.coverage.count(state, found.action, found.args, found.state)
            for name in properties.violated(state, found.state):
                self._violated(name, index, found.action or _STUTTERS)
                properties.drop(name)
            state = found.state
            self.taken.append(found)
        if self.trace.loop is not None:
            self._loop(state, self.taken[self.trace.loop].state, properties)

    def _loop(self, state: State, first: State, properties: IncrementalEvaluation) -> None:
        """Check the step from the last state to the one that the loop goes back to."""
        last, back = len(self.trace.states) - 1, f"states[{self.trace.loop}]"
        self.place = f"the loop, from states[{last}]"
        refused = RefusedState(first.as_dict(), self.trace.loop or 0, state, goes_back=True)
        found = self._step(refused, last, f"no step leads from it back to {back}")
        if found is not None:
            for name in properties.violated(state, found.state):
                self._violated(name, last, found.action or _STUTTERS)

    def _step(self, refused: RefusedState, index: int, problem: str) -> SpecStep | None:
        """Return the step to a state; where there is none, None, with a finding at the state of an index."""
        state, given = refused.before, refused.given
        assert state is not None
        self._refuse_late(index)
        if is_same(given, state):
            self.stuttering += 1
            self.result.observed += len(given)
            return SpecStep("", {}, state)
        claimed = self._claimed(state, index)
        if claimed is not None and is_same(given, claimed.state):
            self.result.observed += len(given)
            return claimed
        successors = (SpecStep(action, args, after) for action, args, after in self.spec.successors(state))
        try:
            return self._found(refused, index, successors, problem)
        except TlaError as error:
            if claimed is None:
                raise
            why = f"the action that the file names leads to another one, and no list has all steps: {error}"
            return self._found(refused, index, [claimed], why)

    def claimed_step(self, index: int) -> tuple[str, dict[str, Value]] | None:
        """Return the action that the file names for a state, with its arguments; None where the spec has no such."""
        claim = self._at(index).claimed_step
        known = None if claim is None else self.spec.actions.get(claim[0])
        if claim is None or known is None or set(known.params) != claim[1].keys():
            return None
        try:
            return claim[0], {name: from_itf(tree, self.names) for name, tree in claim[1].items()}
        except ValueError:
            return None

    def _claimed(self, state: State, index: int) -> SpecStep | None:
        """Return the state that the file's action leads to; None where it names none that is enabled.

        An action alone is never believed: it is the step of the spec to try first.
        """
        claim = self.claimed_step(index)
        if claim is None:
            return None
        try:
            after = self.spec.step(state, *claim)
        except TlaError:
            return None
        return None if after is None else SpecStep(*claim, after)

    def _found(self, refused: RefusedState, index: int, allowed: Iterable[SpecStep], problem: str) -> SpecStep | None:
        """Return the state that is allowed and equal to the given one; None, with a finding, where there is none."""
        given = refused.given
        nearest: dict[tuple[str, ...], SpecStep] = {}
        for each in allowed:
            self._refuse_late(index)
            differing = differing_variables(given, each.state)
            if not differing:
                self.result.observed += len(given)
                return each
            nearest.setdefault((each.action, *differing), replace(each, differing=differing))
        best = sorted(nearest.values(), key=lambda near: len(near.differing))[:MAX_NEAREST]
        self._refuse_incomparable(index, given, best)
        self.refused = refused
        details = [f"states[{index}]: {problem}", *self._nearest(given, best)]
        event = Event(seq=index, node="", action=best[0].action if best else "")
        line = self._at(index).line
        self.result.findings.append(
            Finding(
                kind="state",
                code=NO_STEP,
                name=self.spec.name,
                line=line,
                seq=index,
                node="",
                action=event.action,
                details=tuple(details),
                spec_line=self._place(event.action),
                source=self.trace.source,
            )
        )
        return None

    def _refuse_late(self, index: int) -> None:
        if self.deadline.is_over():
            raise GaveUpError(f"{self.deadline.spent()} at line {self._at(index).line:,}, states[{index}]")

    def _refuse_incomparable(self, index: int, given: Mapping[str, Value], nearest: Iterable[SpecStep]) -> None:
        """Raise TraceError where a value of the file cannot be compared with what the spec has there."""
        for near in nearest:
            for name in near.differing:
                try:
                    eq(given[name], near.state[name])
                except TlaTypeError as error:
                    problem = f"field `states[{index}].{name}`: {error}"
                    raise TraceError(self.trace.source, self._at(index).line, problem) from error

    def _nearest(self, given: Mapping[str, Value], nearest: list[SpecStep]) -> Iterator[str]:
        if not nearest:
            yield "no action is enabled in the state before"
        for near in nearest:
            yield "the nearest initial state:" if near.action == INIT else f"after {near.title}:"
            for name in near.differing:
                for path, mine, other in different_parts(name, given[name], near.state[name], self.interface.words):
                    yield f"  {path}: the file has {_short(mine)}, the spec {_short(other)}"

    def _place(self, action: str) -> str:
        if action == INIT:
            return str(self.spec.init_place or "")
        return str(self.spec.actions[action].loc) if action in self.spec.actions else ""

    def _violated(self, name: str, index: int, action: str) -> None:
        event = Event(seq=index, node="", action=action)
        place = place_of_property(self.spec, name)
        line = self._at(index).line
        self.result.findings.append(finding(self.spec, self.interface, "property", name, line, event, [], place))


def _name_of(null: Value | None) -> frozenset[str]:
    return frozenset([null.name]) if isinstance(null, ModelValue) else frozenset()


def is_same(given: Mapping[str, Value], state: State) -> bool:
    """Return whether a state of the spec has the given values."""
    return not differing_variables(given, state)


def differing_variables(given: Mapping[str, Value], state: State) -> tuple[str, ...]:
    """Return the variables that have another value in a state than the given one."""
    return tuple(name for name, value in state.as_dict().items() if not _equal(given[name], value))


def different_parts(name: str, given: Value, other: Value, words: Words) -> list[tuple[str, Value, Value]]:
    """Return the parts in which two values of a variable differ, each with its path; all where their forms differ."""
    try:
        compared = compare({name: to_tree(given, words)}, Fcn({name: other}), words)
    except ObservationError:
        compared = []
    parts = [(each.path, each.observed, each.expected) for each in compared if not each.equal]
    return parts if 0 < len(parts) <= MAX_PARTS else [(name, given, other)]


def _equal(left: Value, right: Value) -> bool:
    try:
        return eq(left, right)
    except TlaTypeError:
        return False


def _short(value: Value) -> str:
    text = format_value(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 4]} ..."
