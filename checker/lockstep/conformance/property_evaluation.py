"""Evaluation of properties step by step: all of them each time, or only those that a step can have changed.

The literal way evaluates every formula as it stands after every step. The incremental way evaluates a part of a formula
again only where the step changed something on its footprint (:mod:`lockstep.tla.compile.footprints`). A part that is
false is evaluated literally, so a violation is always one of the formula itself; that no violation is missed rests on
the footprints, and tests compare the two ways on tampered traces.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from lockstep.conformance.affected_elements import AffectedElements, Change, FootprintIndex, States, at_elements
from lockstep.tla.compile.property_parts import PropertyPart
from lockstep.tla.spec import Spec
from lockstep.tla.state import DistinctKeys, State
from lockstep.tla.values.kinds import Fcn, TlaError, Value

#: The most sets of changes that are remembered with the parts that they affect.
MAX_REMEMBERED_CHANGES = 10_000


class LiteralEvaluation:
    """Evaluation of every property after every step of one behaviour."""

    def __init__(self, spec: Spec) -> None:
        self._invariants, self._steps = dict(spec.invariants), dict(spec.action_properties)

    def begin(self, state: State) -> None:
        """Begin in a state whose invariants were evaluated."""

    def drop(self, name: str) -> None:
        """Evaluate a property no more: it has failed."""
        self._invariants.pop(name, None)
        self._steps.pop(name, None)

    def violated(self, state: State, after: State) -> list[str]:
        """Return the properties that fail in the state after a step, or of the step."""
        found = [name for name, holds in self._invariants.items() if not holds(after)]
        found += [name for name, holds in self._steps.items() if not holds(state, after)]
        return list(dict.fromkeys(found))  # a name may stand for one of each


class NoEvaluation:
    """Evaluation of no property, where the steps alone are wanted."""

    def __init__(self, spec: Spec) -> None:
        """Take a spec as every evaluation does."""

    def begin(self, state: State) -> None:
        """Begin in a state."""

    def drop(self, name: str) -> None:
        """Drop a property, which is not evaluated anyway."""

    def violated(self, state: State, after: State) -> list[str]:
        """Return no property."""
        return []


class IncrementalEvaluation:
    """Evaluation of what a step can have changed, after each step of one behaviour."""

    def __init__(self, spec: Spec) -> None:
        self._spec, self._evaluator = spec, PropertyEvaluator(spec, one_behaviour=True)
        self._stutter_sensitive: frozenset[int] = frozenset()
        names = dict.fromkeys([*spec.invariants, *spec.action_properties])
        self._order = {name: number for number, name in enumerate(names)}

    def begin(self, state: State) -> None:
        """Begin in a state whose invariants were evaluated."""
        self._stutter_sensitive = self._evaluator.stutter_sensitive(state)

    def drop(self, name: str) -> None:
        """Evaluate a property no more: it has failed."""
        self._stutter_sensitive -= self._evaluator.drop(name)

    def violated(self, state: State, after: State) -> list[str]:
        """Return the properties that fail in the state after a step, or of the step."""
        suspects = self.suspected(state, after)
        return self.confirmed(suspects, state, after) if suspects else []

    def suspected(self, state: State, after: State) -> set[str]:
        """Return the properties with a part that is false after a step, or has no value."""
        step = _Step(state, after, tuple(changes(state, after)))
        if not step.changed:
            return set()
        affected = self._evaluator.affected_by(step.changed)
        names = {name for name, parts in affected.invariants.items() if not self._evaluator.parts_hold(parts, step)}
        by_step, self._stutter_sensitive = self._evaluator.suspected_steps(
            affected.steps, self._stutter_sensitive, step
        )
        return names | by_step

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


#: The two ways to evaluate properties, and that of evaluating none.
Evaluation: TypeAlias = LiteralEvaluation | IncrementalEvaluation | NoEvaluation


class Standing(NamedTuple):
    """The invariants that fail in a state, and the parts of properties that are false of a stuttering step there."""

    failed: frozenset[str]
    stutter_sensitive: frozenset[int]


class _Step(NamedTuple):
    """A step: the states before and after it, and where they differ."""

    state: State
    after: State
    changed: tuple[Change, ...]


@dataclass(slots=True)
class _PartInstance:
    """A part of a property for some elements of constant sets."""

    name: str
    part: PropertyPart
    elements: tuple[Value, ...]
    footprint: tuple[tuple[Value | None, ...], ...]
    of_step: bool
    affected: tuple[AffectedElements, ...]


class _Affected(NamedTuple):
    """The parts that changes affect, by their numbers: of invariants, by name, and of properties of steps."""

    invariants: dict[str, tuple[int, ...]]
    steps: frozenset[int]


class PropertyEvaluator:
    """Evaluation of all properties in the states and steps of behaviours, which may have states in common.

    The standing of a state follows from that of one before it; no behaviour is remembered.
    """

    def __init__(self, spec: Spec, *, one_behaviour: bool = False) -> None:
        """Take the properties of a spec apart.

        Arguments: `one_behaviour`, whether the states come one after the other, none of them twice: then no answer is
        kept for later, which takes as long as the state is large.
        """
        self._invariants, self._steps = spec.invariants, spec.action_properties
        self._parts = list(_parts(spec))
        self._footprints = FootprintIndex(each.footprint for each in self._parts)
        self._affected: dict[tuple[Change, ...], _Affected] = {}
        self._dropped: set[str] = set()
        self._reads = {name: self._read_by(name, spec.variables) for name in spec.invariants}
        self._holding: dict[tuple[str, Hashable], bool] | None = None if one_behaviour else {}
        self._keys = DistinctKeys()

    def _read_by(self, name: str, variables: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers of the variables that an invariant reads."""
        mine = [each for each in self._parts if each.name == name and not each.of_step]
        read = {path[0] for each in mine for path in each.footprint}
        return tuple(number for number, variable in enumerate(variables) if variable in read)

    def forget(self) -> None:
        """Forget for which values of the variables they read the invariants are true."""
        if self._holding is not None:
            self._holding.clear()
            self._keys.clear()

    def drop(self, name: str) -> set[int]:
        """Evaluate a property no more; return the numbers of its parts."""
        self._dropped.add(name)
        self._affected.clear()
        return {number for number, each in enumerate(self._parts) if each.name == name}

    def standing(self, state: State) -> Standing:
        """Return the standing of a state, evaluated from scratch."""
        failed = frozenset(name for name, holds in self._invariants.items() if not _evaluated(name, holds, state))
        return Standing(failed, self.stutter_sensitive(state))

    def stutter_sensitive(self, state: State) -> frozenset[int]:
        """Return the parts of properties of steps that are false of a step that leaves a state as it is."""
        return frozenset(
            number
            for number, each in enumerate(self._parts)
            if each.of_step
            and each.name not in self._dropped
            and not _part_holds(each, (state, state), (state, state), None)
        )

    def step(self, state: State, known: Standing, after: State) -> tuple[frozenset[str], Standing]:
        """Return what fails by a step or after it, and the standing of the state after it.

        Arguments: `known`, the standing of the state before.
        """
        step = _Step(state, after, tuple(changes(state, after)))
        if not step.changed:
            return known.failed, known
        affected = self.affected_by(step.changed)
        failed = known.failed
        for name, parts in affected.invariants.items():
            holds = self._invariant_holds(name, parts, known, step)
            if holds is (name in failed):
                failed = failed - {name} if holds else failed | {name}
        suspects, stutter_sensitive = self.suspected_steps(affected.steps, known.stutter_sensitive, step)
        by_step = {name for name in suspects if not _evaluated(name, self._steps[name], state, after)}
        return failed | by_step, Standing(failed, stutter_sensitive)

    def affected_by(self, changed: tuple[Change, ...]) -> _Affected:
        """Return the parts of properties that changes affect."""
        found = self._affected.get(changed)
        if found is None:
            if len(self._affected) >= MAX_REMEMBERED_CHANGES:
                self._affected.clear()
            invariants: dict[str, list[int]] = {}
            steps = set()
            for number in sorted({number for change in changed for number in self._footprints.affected_by(change)}):
                part = self._parts[number]
                if part.name in self._dropped:
                    continue
                if part.of_step:
                    steps.add(number)
                else:
                    invariants.setdefault(part.name, []).append(number)
            by_name = {name: tuple(numbers) for name, numbers in invariants.items()}
            found = self._affected[changed] = _Affected(by_name, frozenset(steps))
        return found

    def parts_hold(self, numbers: Iterable[int], step: _Step) -> bool:
        """Return whether parts of an invariant that holds before a step are true after it.

        Where one is false or has no value, the invariant as a whole must be evaluated.
        """
        before, after, changed = (step.state, None), (step.after, None), step.changed
        return all(_part_holds(self._parts[number], before, after, changed) for number in numbers)

    def suspected_steps(
        self, affected: frozenset[int], stutter_sensitive: frozenset[int], step: _Step
    ) -> tuple[set[str], frozenset[int]]:
        """Return the properties of steps with a part that is false, and the stutter-sensitive parts afterwards.

        Arguments: `affected`, by the step; `stutter_sensitive`, the parts that are in the state before.
        """
        suspects: set[str] = set()
        numbers = affected | stutter_sensitive
        if not numbers:
            return suspects, stutter_sensitive
        state, after = step.state, step.after
        later = set(stutter_sensitive)
        for number in numbers:
            part = self._parts[number]
            changed = None if number in stutter_sensitive else step.changed
            if not _part_holds(part, (state, state), (state, after), changed):
                suspects.add(part.name)
            stutters = _part_holds(part, (state, state), (after, after), changed)
            (later.discard if stutters else later.add)(number)
        return suspects, stutter_sensitive if later == stutter_sensitive else frozenset(later)

    def _invariant_holds(self, name: str, parts: Iterable[int], known: Standing, step: _Step) -> bool:
        """Return whether an invariant is true after a step; where it was before, look at what was changed alone."""
        if self._holding is None:
            return self._decide_invariant(name, parts, known, step)
        key = name, self._keys.key(tuple([step.after[number] for number in self._reads[name]]))
        holds = self._holding.get(key)
        if holds is None:
            holds = self._holding[key] = self._decide_invariant(name, parts, known, step)
        return holds

    def _decide_invariant(self, name: str, parts: Iterable[int], known: Standing, step: _Step) -> bool:
        if name not in known.failed and self.parts_hold(parts, step):
            return True
        return _evaluated(name, self._invariants[name], step.after)


def _part_holds(part: _PartInstance, before: States, states: States, changed: Sequence[Change] | None) -> bool:
    """Evaluate a part; return False where it has no value.

    Where it is true of the states `before`, and `changed` is where the others differ from them, it is enough to
    evaluate it for the elements that this affects.
    """
    formula, elements = part.part, part.elements
    try:
        if not part.affected or changed is None:
            return formula.holds(*states, *elements)
        guard = formula.eaches[0].guard
        if guard is not None and not guard(*states, *elements):
            return True
        affected = [each.affected(before, states, changed) for each in part.affected]
        if None in affected:
            return formula.holds(*states, *elements)
        return all(
            each.holds(*states, *elements, one)
            for each, ones in zip(formula.eaches, affected, strict=True)
            for one in ones or ()
        )
    except TlaError:
        return False


def _evaluated(name: str, formula: Callable[..., bool], *states: State) -> bool:
    """Evaluate a property as it stands; raises TlaError, with its name, where it has no value."""
    try:
        return formula(*states)
    except TlaError as error:
        raise TlaError(f"{name} has no value: {error}") from error


def _parts(spec: Spec) -> Iterator[_PartInstance]:
    for name, parts in spec.parts.items():
        for part in parts:
            for elements in part.elements:
                paths = (at_elements(path, elements) for path in part.footprint)
                affected = tuple(AffectedElements(each, elements) for each in part.eaches)
                yield _PartInstance(name, part, elements, tuple(paths), part.of_step, affected)


def changes(state: State, after: State) -> Iterator[Change]:
    """Yield the places where two states differ, by identity: a part that is the same object has not changed."""
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
