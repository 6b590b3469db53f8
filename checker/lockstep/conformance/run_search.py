"""Behaviours that differ in few steps, each up to the first thing that is wrong, and a search among them.

A candidate has its first steps in common with the best run so far, and goes on from the state after them: states and
what stands of them are never changed, so that they are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.progress import Say, silent
from lockstep.conformance.property_evaluation import PropertyEvaluator, Standing
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError

T = TypeVar("T")

#: The findings at the end of a run: each property that fails there, by name, or how the trace leaves the spec.
Wrong: TypeAlias = frozenset[tuple[str, ...]]

#: After this many candidates it is forgotten for which values the invariants are true: that only costs time.
FORGET_EVERY = 20


class BudgetSpentError(Exception):
    """The time is over; the best run so far stands."""


class DeviationError(Exception):
    """A step is not the spec's; `wrong` is what is wrong with it."""

    def __init__(self, *wrong: str) -> None:
        super().__init__(*wrong)
        self.wrong: Wrong = frozenset({wrong})


@dataclass(frozen=True, slots=True)
class CandidateRun(Generic[T]):
    """A behaviour from the initial state: its steps, the states (one more), what stands of each, what is wrong last.

    Where the last step leaves the spec there is no state after it.
    """

    steps: tuple[T, ...]
    states: tuple[State, ...]
    known: tuple[Standing, ...]
    wrong: Wrong = frozenset()


class RunReplay(Generic[T]):
    """Replay of steps up to the first that is wrong.

    Arguments: `take`, which returns a step as it was taken, with the state after it, and None where the step goes;
    it raises DeviationError where it is not the spec's. `only`: the properties that count, if not all.
    """

    def __init__(
        self, spec: Spec, take: Callable[[State, T], tuple[T, State] | None], only: Collection[str] | None = None
    ) -> None:
        self._spec, self._take, self._only = spec, take, only
        self._properties = PropertyEvaluator(spec)

    def begin(self, state: State) -> CandidateRun[T]:
        """Return the run without a step, in the state that every behaviour begins in."""
        known = self._properties.standing(state)
        at_first = {name for name, holds in self._spec.initial_properties.items() if not holds(state)}
        return CandidateRun((), (state,), (known,), self._wanted(known.failed | at_first))

    def after(self, base: CandidateRun[T], count: int, rest: Iterable[T]) -> CandidateRun[T]:
        """Return the run that begins with the first `count` steps of another, and goes on with `rest`."""
        steps = list(base.steps[:count])
        states, known = list(base.states[: count + 1]), list(base.known[: count + 1])
        wrong: Wrong = frozenset()
        for step in rest:
            try:
                taken = self._take(states[-1], step)
            except DeviationError as error:
                steps.append(step)
                wrong = error.wrong
                break
            if taken is None:
                continue
            step_taken, state = taken
            failed, standing = self._properties.step(states[-1], known[-1], state)
            steps.append(step_taken)
            states.append(state)
            known.append(standing)
            wrong = self._wanted(failed)
            if wrong:
                break
        return CandidateRun(tuple(steps), tuple(states), tuple(known), wrong)

    def forget(self) -> None:
        """Let go of what is remembered only to save time."""
        self._properties.forget()

    def _wanted(self, failed: Iterable[str]) -> Wrong:
        return frozenset((name,) for name in failed if self._only is None or name in self._only)


class RunSearch(Generic[T]):
    """Search for shorter runs that are wrong in the same way; `best` is the shortest so far.

    Arguments: `replay`, which takes the steps; `first`, the run that is to become shorter; `deadline`, how
    long it may take; `say`, which reports progress; `ends`, whether a run may end with a step at which something is
    wrong: with any, if not given.
    """

    def __init__(
        self,
        replay: RunReplay[T],
        first: CandidateRun[T],
        deadline: Deadline = NEVER,
        say: Say = silent,
        *,
        ends: Callable[[T], bool] | None = None,
    ) -> None:
        self._replay, self._deadline, self._say, self._ends = replay, deadline, say, ends
        self.best, self.wanted = first, first.wrong
        self.tried = 0

    def without(self, places: Collection[int]) -> bool:
        """Leave out the steps at these places, and return whether what is left is wrong in the same way."""
        first = min(places)
        rest = [step for place, step in enumerate(self.best.steps) if place > first and place not in places]
        found = self.candidate(first, rest)
        if found is None or len(found.steps) >= len(self.best.steps):
            return False
        self.best = found
        return True

    def candidate(self, count: int, rest: Iterable[T]) -> CandidateRun[T] | None:
        """Return the run that keeps the first `count` steps and goes on with `rest`, if it is wrong in the same way.

        Raises BudgetSpentError where the time is over.
        """
        if self._deadline.is_over():
            raise BudgetSpentError
        self.tried += 1
        self._say(f"{len(self.best.steps):,} steps, {self.tried:,} runs tried")
        if self.tried % FORGET_EVERY == 0:
            self._replay.forget()
        try:
            found = self._replay.after(self.best, count, rest)
        except TlaError:  # a behaviour in which a formula has no value is none to show
            return None
        is_end = self._ends is None or not found.steps or self._ends(found.steps[-1])
        return found if is_end and found.wrong == self.wanted else None
