"""The properties that fail in states and by steps."""

from __future__ import annotations

from collections.abc import Hashable

from lockstep.conformance.property_evaluation import PropertyEvaluator, Standing
from lockstep.tla.spec import Spec
from lockstep.tla.state import DistinctKeys, State


class FailingProperties:
    """The properties that fail; the standing of the states of this line and of the one before is remembered.

    Each method raises TlaError, with the property's name, where a property has no value.
    """

    def __init__(self, spec: Spec) -> None:
        self._first = spec.initial_properties
        self._properties = PropertyEvaluator(spec)
        self._known, self._keys = dict[Hashable, Standing](), DistinctKeys()
        self._known_before, self._keys_before = dict[Hashable, Standing](), DistinctKeys()

    def in_state(self, state: State) -> frozenset[str]:
        """Return the properties that fail in a state."""
        return self._stands(state).failed

    def in_first_state(self, state: State) -> frozenset[str]:
        """Return the properties that fail in a state, or fail as it is the first one."""
        return self.in_state(state) | {name for name, holds in self._first.items() if not holds(state)}

    def by_step(self, state: State, after: State) -> frozenset[str]:
        """Return the properties that fail by a step, or after it."""
        failed, self._known[self._keys.key(after)] = self._properties.step(state, self._stands(state), after)
        return failed

    def forget(self) -> None:
        """Forget the states of the lines before the last one: they seldom come again."""
        self._known_before, self._known = self._known, {}
        self._keys_before, self._keys = self._keys, DistinctKeys()
        self._properties.forget()

    def _stands(self, state: State) -> Standing:
        key = self._keys.key(state)
        known = self._known.get(key)
        if known is None:
            known = self._known_before.get(self._keys_before.key(state)) or self._properties.standing(state)
            self._known[key] = known
        return known
