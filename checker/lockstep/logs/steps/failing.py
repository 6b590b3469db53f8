"""Which properties fail by the steps from state to state."""

from __future__ import annotations

from lockstep.conformance.incremental import Branching, Standing
from lockstep.tla.spec import Spec
from lockstep.tla.state import State


class Failing:
    """Tells which properties fail, and remembers what stands of the states of this line and of the one before.

    Each raises TlaError, with the property's name, where a property has no value.
    """

    def __init__(self, spec: Spec) -> None:
        """Take the properties of a spec."""
        self._first = spec.initial_properties
        self._properties = Branching(spec)
        self._known: dict[State, Standing] = {}
        self._known_before: dict[State, Standing] = {}

    def at(self, state: State) -> frozenset[str]:
        """Return the properties that fail in a state."""
        return self._stands(state).failed

    def at_first(self, state: State) -> frozenset[str]:
        """Return the properties that fail in a state, or fail as it is the first one."""
        return self.at(state) | {name for name, holds in self._first.items() if not holds(state)}

    def by(self, state: State, after: State) -> frozenset[str]:
        """Return the properties that fail by a step, or after it."""
        failed, self._known[after] = self._properties.step(state, self._stands(state), after)
        return failed

    def forget(self) -> None:
        """Forget what stands of the states before the line before: they seldom come again."""
        self._known_before, self._known = self._known, {}
        self._properties.forget()

    def _stands(self, state: State) -> Standing:
        known = self._known.get(state)
        if known is None:
            known = self._known_before.get(state) or self._properties.standing(state)
            self._known[state] = known
        return known
