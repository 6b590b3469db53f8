"""Properties of a behaviour, step by step: all of them each time, or only what a step can have changed.

The literal way evaluates every formula as it stands after every step. The incremental way evaluates a part of a formula
again only where the step changed something on its footprint (:mod:`lockstep.tla.compile.footprints`). What it finds
false it asks the literal formula about, so a violation is always one of the formula itself; that no violation is missed
rests on the footprints, and tests compare the two ways on tampered traces.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from lockstep.conformance.affected_elements import Change, Concern, Footprints, States, at_elements
from lockstep.tla.compile.module.parts import PropertyPart
from lockstep.tla.spec import Spec
from lockstep.tla.state import KeysApart, State
from lockstep.tla.values.kinds import Fcn, TlaError, Value

__all__ = ["Branching", "Evaluation", "Incremental", "Literal", "Standing", "changes"]


class Evaluation(StrEnum):
    """How properties are evaluated."""

    LITERAL = "literal"
    INCREMENTAL = "incremental"


class Literal:
    """Evaluates every property after every step."""

    def __init__(self, spec: Spec) -> None:
        """Take the properties of a spec."""
        self._invariants, self._steps = dict(spec.invariants), dict(spec.action_properties)

    def begin(self, state: State) -> None:
        """Begin in a state, of which the invariants were evaluated."""

    def drop(self, name: str) -> None:
        """Evaluate a property no more: it has failed."""
        self._invariants.pop(name, None)
        self._steps.pop(name, None)

    def violated(self, state: State, after: State) -> list[str]:
        """Return the properties that fail in the state after a step, or of the step."""
        found = [name for name, holds in self._invariants.items() if not holds(after)]
        found += [name for name, holds in self._steps.items() if not holds(state, after)]
        return list(dict.fromkeys(found))  # a name may stand for one of each


@dataclass(slots=True)
class _Instance:
    """A part of a property with its elements; of a step, `restless` tells that it is false where nothing changes."""

    name: str
    part: PropertyPart
    elements: tuple[Value, ...]
    footprint: tuple[tuple[Value | None, ...], ...]
    of_step: bool
    concerns: tuple[Concern, ...]
    restless: bool = False


class Incremental:
    """Evaluates after a step the instances whose footprint it changed."""

    def __init__(self, spec: Spec) -> None:
        """Take the properties of a spec apart."""
        self._spec = spec
        self._instances = list(_instances(spec))
        self._footprints = Footprints(each.footprint for each in self._instances)
        self._restless: set[int] = set()
        self._affected: dict[Change, tuple[int, ...]] = {}
        names = dict.fromkeys([*spec.invariants, *spec.action_properties])
        self._order = {name: number for number, name in enumerate(names)}
        self._dropped: set[str] = set()

    def begin(self, state: State) -> None:
        """Begin in a state, of which the invariants were evaluated."""
        for number, instance in enumerate(self._instances):
            if instance.of_step and instance.name not in self._dropped:
                self._settle(number, instance, _is_true(instance, (state, state), (state, state), None))

    def drop(self, name: str) -> None:
        """Evaluate a property no more: it has failed."""
        self._dropped.add(name)
        self._affected.clear()
        self._restless = {number for number in self._restless if self._instances[number].name != name}

    def violated(self, state: State, after: State) -> list[str]:
        """Return the properties that fail in the state after a step, or of the step."""
        suspects = self.suspected(state, after)
        return self.confirmed(suspects, state, after) if suspects else []

    def suspected(self, state: State, after: State) -> set[str]:
        """Return the properties of which a part is false after a step, or has no value."""
        changed = list(changes(state, after))
        if not changed:
            return set()
        affected = set(self._restless)
        for change in changed:
            affected.update(self._of(change))
        suspects: set[str] = set()
        for number in affected:
            instance = self._instances[number]
            if not self._changed_well(number, instance, state, after, changed):
                suspects.add(instance.name)
        return suspects

    def _of(self, change: Change) -> tuple[int, ...]:
        """Return the instances that a change affects."""
        found = self._affected.get(change)
        if found is None:
            found = self._affected[change] = tuple(
                number
                for number in self._footprints.met_by(change)
                if self._instances[number].name not in self._dropped
            )
        return found

    def _changed_well(
        self, number: int, instance: _Instance, state: State, after: State, changed: Sequence[Change]
    ) -> bool:
        """Tell whether an instance is true after a step, and of one of steps besides if it is where nothing changes."""
        if not instance.of_step:
            return _is_true(instance, (state, None), (after, None), changed)
        known = None if instance.restless else changed
        holds = _is_true(instance, (state, state), (state, after), known)
        self._settle(number, instance, _is_true(instance, (state, state), (after, after), known))
        return holds

    def _settle(self, number: int, instance: _Instance, stands: bool) -> None:
        """Take down whether an instance of a step is true where nothing changes."""
        if stands is instance.restless:
            instance.restless = not stands
            (self._restless.discard if stands else self._restless.add)(number)

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Return properties in the order in which they are evaluated."""
        return sorted(names, key=self._order.__getitem__)

    def confirmed(self, suspects: Iterable[str], state: State, after: State) -> list[str]:
        """Return which properties fail, in their order, by the formulas as they stand."""
        invariants, steps = self._spec.invariants, self._spec.action_properties
        return [
            name
            for name in self.in_order(suspects)
            if (name in invariants and not invariants[name](after)) or (name in steps and not steps[name](state, after))
        ]


def _is_true(instance: _Instance, before: States, states: States, changed: Sequence[Change] | None) -> bool:
    """Evaluate an instance; where it has no value the formula as a whole must tell.

    Where it is true of the states `before`, and `changed` is where the others differ from them, it is enough to
    look at the elements which that concerns.
    """
    part, elements = instance.part, instance.elements
    try:
        if not instance.concerns or changed is None:
            return part.holds(*states, *elements)
        guard = part.eaches[0].guard
        if guard is not None and not guard(*states, *elements):
            return True
        concerned = [concern.concerned(before, states, changed) for concern in instance.concerns]
        if None in concerned:
            return part.holds(*states, *elements)
        return all(
            each.holds(*states, *elements, one)
            for each, ones in zip(part.eaches, concerned, strict=True)
            for one in ones or ()
        )
    except TlaError:
        return False


class Standing(NamedTuple):
    """What is known of a state: the invariants that fail there, and the instances that fail where it stays the same."""

    failed: frozenset[str]
    restless: frozenset[int]


class _Taken(NamedTuple):
    """A step: the states before and after it, and where they differ."""

    state: State
    after: State
    changed: Sequence[Change]


class _Affected(NamedTuple):
    """What a change affects: invariants, by their names and by their instances, and instances of steps."""

    names: frozenset[str]
    of_states: tuple[int, ...]
    of_steps: frozenset[int]


class Branching:
    """Evaluates the properties of many behaviours that have states in common: all of them, in every state and step.

    What stands of a state is worked out from what stands of one before it; no behaviour is remembered.
    """

    def __init__(self, spec: Spec, *, one_behaviour: bool = False) -> None:
        """Take the properties of a spec apart.

        Arguments: `one_behaviour`, whether the states come one after the other, none of them twice: then no answer is
        kept for later, which takes as long as the state is large.
        """
        self._invariants, self._steps = spec.invariants, spec.action_properties
        self._instances = list(_instances(spec))
        self._footprints = Footprints(each.footprint for each in self._instances)
        self._affected: dict[Change, _Affected] = {}
        self._reads = {name: self._read_by(name, spec.variables) for name in spec.invariants}
        self._holding: dict[tuple[str, Hashable], bool] | None = None if one_behaviour else {}
        self._keys = KeysApart()

    def _read_by(self, name: str, variables: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of the variables that an invariant reads."""
        mine = [each for each in self._instances if each.name == name and not each.of_step]
        read = {path[0] for each in mine for path in each.footprint}
        return tuple(number for number, variable in enumerate(variables) if variable in read)

    def forget(self) -> None:
        """Forget of which values of what they read the invariants are true."""
        if self._holding is not None:
            self._holding.clear()
            self._keys.clear()

    def standing(self, state: State) -> Standing:
        """Return what stands of a state that none is known before."""
        failed = frozenset(name for name, holds in self._invariants.items() if not _asked(name, holds, state))
        restless = (
            number
            for number, instance in enumerate(self._instances)
            if instance.of_step and not _holds(instance, state, state)
        )
        return Standing(failed, frozenset(restless))

    def step(self, state: State, known: Standing, after: State) -> tuple[frozenset[str], Standing]:
        """Return what fails by a step or after it, and what stands of the state after it.

        Arguments: `known`, what stands of the state before.
        """
        changed = list(changes(state, after))
        if not changed:
            return known.failed, known
        affected = list(map(self._of, changed))
        names = affected[0].names if len(affected) == 1 else frozenset().union(*(each.names for each in affected))
        step = _Taken(state, after, changed)
        there = known.failed
        for name in names:
            stays = self._stays(name, affected, known, step)
            if stays is (name in there):
                there = there - {name} if stays else there | {name}
        of_steps = known.restless.union(*(each.of_steps for each in affected))
        if not of_steps:
            return there, Standing(there, known.restless)
        by_step, restless = self._by_step(of_steps, known, step)
        return there | by_step, Standing(there, restless)

    def _stays(self, name: str, affected: Sequence[_Affected], known: Standing, step: _Taken) -> bool:
        """Tell whether an invariant is true after a step; where it was before, look at what was changed alone."""
        if self._holding is None:
            return self._holds_after(name, affected, known, step)
        key = name, self._keys.of(tuple([step.after[number] for number in self._reads[name]]))
        holds = self._holding.get(key)
        if holds is None:
            holds = self._holding[key] = self._holds_after(name, affected, known, step)
        return holds

    def _holds_after(self, name: str, affected: Sequence[_Affected], known: Standing, step: _Taken) -> bool:
        if name not in known.failed:
            numbers = {number for each in affected for number in each.of_states if name == self._instances[number].name}
            before, states = (step.state, None), (step.after, None)
            if all(_is_true(self._instances[each], before, states, step.changed) for each in numbers):
                return True
        return _asked(name, self._invariants[name], step.after)

    def _by_step(self, numbers: Iterable[int], known: Standing, step: _Taken) -> tuple[frozenset[str], frozenset[int]]:
        """Return which properties of steps fail, and which instances do where the state after stays the same."""
        state, after = step.state, step.after
        suspects: set[str] = set()
        restless = set(known.restless)
        for number in numbers:
            instance = self._instances[number]
            changed = None if number in known.restless else step.changed
            if not _is_true(instance, (state, state), (state, after), changed):
                suspects.add(instance.name)
            stands = _is_true(instance, (state, state), (after, after), changed)
            (restless.discard if stands else restless.add)(number)
        failed = frozenset(name for name in suspects if not _asked(name, self._steps[name], state, after))
        return failed, known.restless if restless == known.restless else frozenset(restless)

    def _of(self, change: Change) -> _Affected:
        """Return what a change affects."""
        found = self._affected.get(change)
        if found is None:
            numbers = self._footprints.met_by(change)
            of_states = tuple(number for number in numbers if not self._instances[number].of_step)
            names = frozenset(self._instances[number].name for number in of_states)
            found = self._affected[change] = _Affected(names, of_states, frozenset(numbers).difference(of_states))
        return found


def _holds(instance: _Instance, state: State, after: State | None) -> bool:
    """Evaluate an instance as a whole; where it has no value the formula must tell."""
    try:
        return instance.part.holds(state, after, *instance.elements)
    except TlaError:
        return False


def _asked(name: str, formula: Callable[..., bool], *states: State) -> bool:
    """Evaluate a property as it stands; raises TlaError, with its name, where it has no value."""
    try:
        return formula(*states)
    except TlaError as error:
        raise TlaError(f"{name} has no value: {error}") from error


def _instances(spec: Spec) -> Iterator[_Instance]:
    for name, parts in spec.parts.items():
        for part in parts:
            for elements in part.elements:
                paths = (at_elements(path, elements) for path in part.footprint)
                concerns = tuple(Concern(each, elements) for each in part.eaches)
                yield _Instance(name, part, elements, tuple(paths), part.of_step, concerns)


def changes(state: State, after: State) -> Iterator[Change]:
    """Yield where two states differ, as far as identity tells: a part that is the same object has not changed."""
    for name, old, new in zip(after.variables, state, after, strict=True):
        if old is new:
            continue
        if type(old) is not Fcn or type(new) is not Fcn or old.d.keys() != new.d.keys():
            yield (name,)
            continue
        for key, within in new.d.items():
            before = old.d[key]
            if before is within:
                continue
            if type(before) is not Fcn or type(within) is not Fcn or before.d.keys() != within.d.keys():
                yield (name, key)
                continue
            for field, value in within.d.items():
                if before.d[field] is not value:
                    yield (name, key, field)
