"""Coverage: the parts of the protocol that the steps of a trace reach, as the spec defines them.

A check that a trace is a behaviour cannot see a step that is never taken. So a spec may define, each in its root
module:

    Reached(action, args, reached)   the parts that a step reaches: a set of <<kind, name>>, two strings
    Reachable                        all of these parts that there are
    Faults                           the names of the actions that are faults

`Reached` is evaluated of each step, with unprimed variables for the state before it and primed ones for the state
after it. `action` is the name of the step's action, `args` the record of its arguments, `reached` the set of parts that
the trace has reached before. It may take the first two alone, or nothing. The actions are parts as well, of the kind
"action", or "fault" for those in `Faults`. A spec that defines none of this has its actions as parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from lockstep.base.errors import NO_VALUE
from lockstep.tla.compile.spec_fault import SpecFault, fault_of
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, TlaError, Value, format_value
from lockstep.tla.values.quantifier_bounds import listed

#: A part of the protocol that a trace can reach: its kind and its name.
Reached: TypeAlias = tuple[str, str]

#: The definitions of a spec: of what a step reaches, of all that there is to reach, and of the actions that are faults.
REACHED, REACHABLE, FAULTS = "Reached", "Reachable", "Faults"

#: The numbers of arguments that `Reached` may take.
_ARITIES = (0, 2, 3)


class StepCoverage:
    """Counts the parts that the steps of one behaviour reach.

    `times` has how many steps reach each part; `parts` are all that the spec has.
    """

    def __init__(self, spec: Spec) -> None:
        """Begin before the first step; raises TlaError where the definitions are none of coverage, with their place."""
        self.times: Counter[Reached] = Counter()
        self.parts = all_parts(spec)
        self._spec, self._faults = spec, fault_actions(spec)
        self._arity = spec.arity(REACHED) if REACHED in spec.definitions else None
        if self._arity is not None and self._arity not in _ARITIES:
            raise _fault(spec, REACHED, f"takes {self._arity} arguments, not (action, args, reached)")
        self._before: frozenset[Value] = frozenset()
        self._known: frozenset[Value] = frozenset(self.parts) if REACHABLE in spec.definitions else frozenset()

    def count(self, state: State, action: str, args: Mapping[str, Value], after: State) -> None:
        """Count what a step reaches.

        Arguments: `state` and `after`, before and after it; `action` with its arguments `args`, by name.
        Raises TlaError, with its place, where that has no value, is no set of parts, or is not in `Reachable`.
        """
        found: set[Reached] = {(kind_of_action(action, self._faults), action)}
        if self._arity is not None:
            given: tuple[Value, ...] = (action, Fcn(dict(args)), self._before)
            try:
                value = self._spec.evaluate(REACHED, state, *given[: self._arity], after=after)
            except TlaError as error:
                called = f"{REACHED} of {action}"
                raise fault_of(error, self._spec.source, called, args, str(self._spec.definitions[REACHED])) from error
            found |= self._checked(value)
        self.times.update(found)
        if not found <= self._before:
            self._before |= found

    def _checked(self, value: Value) -> frozenset[Reached]:
        """Return the parts in a value of `Reached`, which must be in `Reachable` where there is that."""
        if not (type(value) is frozenset and value <= self._before):  # otherwise they were looked at before
            parts = _parts(self._spec, REACHED, value)
            if self._known and (unknown := parts - self._known):
                named = format_value(min(unknown))
                raise _fault(self._spec, REACHED, f"has {named}, which is not in {REACHABLE}")
            return parts
        return value


def all_parts(spec: Spec) -> frozenset[Reached]:
    """Return all parts that a trace can reach of a spec, whether its constants allow it or not: actions, and Reachable.

    Raises TlaError where the definitions are none of coverage, with their place.
    """
    faults = fault_actions(spec)
    actions = frozenset((kind_of_action(name, faults), name) for name in spec.actions)
    if not {REACHED, REACHABLE} <= spec.definitions.keys():
        return actions
    return actions | _parts(spec, REACHABLE, _value(spec, REACHABLE))


def fault_actions(spec: Spec) -> frozenset[str]:
    """Return the actions of a spec that are faults; raises TlaError where `Faults` has what is none of its actions."""
    if not {REACHED, FAULTS} <= spec.definitions.keys():
        return frozenset()
    names = frozenset(_elements(spec, FAULTS, _value(spec, FAULTS)))
    if others := sorted(format_value(name) for name in names if name not in spec.actions):
        raise _fault(spec, FAULTS, f"has {others[0]}, which is no action")
    return frozenset(map(str, names))


def kind_of_action(action: str, faults: Iterable[str]) -> str:
    """Return the kind of part that an action is: "fault" or "action"."""
    return "fault" if action in faults else "action"


def _value(spec: Spec, name: str) -> Value:
    if spec.arity(name):
        raise _fault(spec, name, "takes arguments, and must be a set")
    try:
        return spec.evaluate(name)
    except TypeError as error:
        raise _fault(spec, name, f"must be a constant set: {error}") from error


def _parts(spec: Spec, name: str, value: Value) -> frozenset[Reached]:
    """Return the parts in the value of a definition; raises TlaError where it is no set of <<kind, name>>."""
    found = frozenset(_elements(spec, name, value))
    for each in found:
        if not (type(each) is tuple and len(each) == 2 and all(type(word) is str for word in each)):
            raise _fault(spec, name, f"has {format_value(each)}, which is no <<kind, name>> of two strings")
    return found


def _elements(spec: Spec, name: str, value: Value) -> Iterable[Value]:
    try:
        return list(listed(value))
    except TlaError as error:
        raise _fault(spec, name, f"is no set that can be listed: {error}") from error


def _fault(spec: Spec, name: str, problem: str) -> SpecFault:
    return SpecFault(NO_VALUE, str(spec.definitions[name]), f"{name} {problem}")
