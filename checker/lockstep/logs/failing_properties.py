"""Which properties fail by the steps from state to state."""

from __future__ import annotations

from collections.abc import Hashable

from lockstep.conformance.property_evaluation import PropertyEvaluator, Standing
from lockstep.tla.spec import Spec
from lockstep.tla.state import KeysApart, State


class Failing:
    """Tells which properties fail, and remembers what stands of the states of this line and of the one before.

    Each raises TlaError, with the property's name, where a property has no value.
    """

    def __init__(self, spec: Spec) -> None:
        """Take the properties of a spec."""
        self._first = spec.initial_properties
        self._properties = PropertyEvaluator(spec)
        self._known, self._keys = dict[Hashable, Standing](), KeysApart()
        self._known_before, self._keys_before = dict[Hashable, Standing](), KeysApart()

    def at(self, state: State) -> frozenset[str]:
        """Return the properties that fail in a state."""
        return self._stands(state).failed

    def at_first(self, state: State) -> frozenset[str]:
        """Return the properties that fail in a state, or fail as it is the first one."""
        return self.at(state) | {name for name, holds in self._first.items() if not holds(state)}

    def by(self, state: State, after: State) -> frozenset[str]:
        """Return the properties that fail by a step, or after it."""
        failed, self._known[self._keys.of(after)] = self._properties.step(state, self._stands(state), after)
        return failed

    def forget(self) -> None:
        """Forget what stands of the states before the line before: they seldom come again."""
        self._known_before, self._known = self._known, {}
        self._keys_before, self._keys = self._keys, KeysApart()
        self._properties.forget()

    def _stands(self, state: State) -> Standing:
        key = self._keys.of(state)
        known = self._known.get(key)
        if known is None:
            known = self._known_before.get(self._keys_before.of(state)) or self._properties.standing(state)
            self._known[key] = known
        return known
