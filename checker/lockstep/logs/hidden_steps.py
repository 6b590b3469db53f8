"""Hidden steps, which no line describes, and the states that they lead to, up to each action's bound."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from lockstep.base.deadline import Deadline
from lockstep.base.progress import REPORT_INTERVAL
from lockstep.logs.continuations import HiddenStep, Move, Moves, ReachedState, StartState, add_least
from lockstep.logs.failing_properties import FailingProperties
from lockstep.tla.spec import Spec
from lockstep.tla.state import DistinctKeys, State
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.quantifier_bounds import Matching

#: The number of states for which the hidden steps are remembered.
MAX_REMEMBERED = 20_000

#: Returns the states after other steps of an action from a state, with given arguments.
OtherSteps: TypeAlias = Callable[[State, str, Mapping[str, Value]], Iterable[State]]

#: Hidden steps, each with its action, the state after it, and the arguments.
_Listed = list[tuple[str, State, Mapping[str, Value]]]


class HiddenSteps:
    """Hidden steps of one spec.

    `left_out` gets the reasons why not every way was tried, if that is so.
    """

    def __init__(
        self,
        spec: Spec,
        bounds: Mapping[str, int],
        max_steps: int,
        failing: FailingProperties,
        left_out: dict[str, None],
        deadline: Deadline,
        others: OtherSteps | None = None,
    ) -> None:
        """Take hidden steps.

        Args:
            bounds: the actions that are hidden, and how often each may be taken between two lines.
            max_steps: how many steps are tried at most before one line.
            deadline: after which no more are tried.
            others: steps that are taken besides those of the spec.
        """
        self._spec, self._bounds, self._max_steps, self._failing = spec, dict(bounds), max_steps, failing
        self._left_out, self._deadline, self._tried = left_out, deadline, 0
        self._others = others
        self._names = tuple(self._bounds)
        self._moves = {name: Moves(spec, name) for name in self._names}
        self._unseen: dict[tuple[str, Hashable], list[Move]] = {}
        self._read = DistinctKeys()
        self._next: dict[Hashable, list[HiddenStep]] = {}
        self._states = DistinctKeys()
        self._can_list = True

    def forget(self) -> None:
        """Begin with the next line: what was tried before the last one does not count."""
        self._tried = 0

    def reached(self, begins: Sequence[StartState]) -> list[ReachedState]:
        """Return the states that hidden steps lead to from any of some states, as many as may come between two lines.

        They are searched for from all of these at once. A way to a state is left out where another makes it needless:
        one that fails no more, and used each hidden action no more often.
        """
        keys = DistinctKeys()
        found: dict[Hashable, list[ReachedState]] = {}
        nothing = (0,) * len(self._names)
        for number, begin in enumerate(begins):
            found.setdefault(keys.key(begin.state), []).append(ReachedState(begin.state, begin.failed, nothing, number))
        pending = [each for alike in found.values() for each in alike] if self._names else []
        while pending:
            further: list[ReachedState] = []
            for each in pending:
                for after in self._from(each):
                    if self._is_too_much():
                        return _least(found)
                    if _add_reached(found.setdefault(keys.key(after.state), []), after):
                        further.append(after)
            pending = further
        return _least(found)

    def _is_too_much(self) -> bool:
        self._tried += 1
        if self._tried > self._max_steps:
            self._left_out.setdefault(f"more than {self._max_steps:,} hidden steps may come before one line")
            return True
        return self._tried % REPORT_INTERVAL == 0 and self._deadline.is_over()

    def _from(self, before: ReachedState) -> Iterator[ReachedState]:
        used = before.used
        left = [count < self._bounds[name] for name, count in zip(self._names, used, strict=True)]
        if any(left):
            for step in self._steps(before.state):
                kind = step.kind
                if left[kind]:
                    more = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                    failed = before.failed | step.failed if step.failed else before.failed
                    yield ReachedState(step.state, failed, more, before.origin, before, step)

    # ---- The steps from one state ----

    def _steps(self, state: State) -> list[HiddenStep]:
        key = self._states.key(state)
        known = self._next.get(key)
        if known is None:
            if len(self._next) >= MAX_REMEMBERED:
                self._next.clear()
                self._states.clear()
                key = self._states.key(state)
            known = self._next[key] = list(self._find(state))
        return known

    def _find(self, state: State) -> Iterator[HiddenStep]:
        keys = self._keys_of_moves(state)
        if not all(key in self._unseen for key in keys):
            if len(self._unseen) >= MAX_REMEMBERED:
                self._unseen.clear()
                self._read.clear()
                keys = self._keys_of_moves(state)
            self._unseen.update(zip(keys, self._listed(state), strict=True))
        for kind, key in enumerate(keys):
            yield from self._steps_by(kind, state, self._unseen[key])

    def _keys_of_moves(self, state: State) -> list[tuple[str, Hashable]]:
        """Return what the moves of each hidden action from a state are remembered by: what the action reads of it."""
        return [(name, self._read.key(self._moves[name].read(state))) for name in self._names]

    def _steps_by(self, kind: int, state: State, moves: Iterable[Move]) -> Iterator[HiddenStep]:
        name = self._names[kind]
        for move in moves:
            after = self._moves[name].after(state, move)
            try:
                yield HiddenStep(kind, name, move[0], after, self._failing.by_step(state, after))
            except TlaError as error:
                self._leave_out(name, error)

    def _listed(self, state: State) -> list[list[Move]]:
        """Return the steps of each hidden action."""
        by_name: dict[str, list[Move]] = {name: [] for name in self._names}
        found = self._all_at_once(state) if self._others is None else None
        keys = {name: DistinctKeys() for name in self._names}
        listed: set[tuple[str, Hashable]] = set()
        for name, after, args in self._one_by_one(state) if found is None else found:
            key = name, keys[name].key(after)
            if key not in listed:
                listed.add(key)
                by_name[name].append(self._moves[name].move(args, after))
        return list(by_name.values())

    def _all_at_once(self, state: State) -> _Listed | None:
        """Return the hidden steps among all successors, None where some successor has no value."""
        found: _Listed = []
        try:
            for name, args, after in self._spec.successors(state) if self._can_list else ():
                if name in self._bounds:
                    found.append((name, after, args))
        except TlaError:  # perhaps of an action that is not hidden, as one that takes any number
            self._can_list = False
        return found if self._can_list else None

    def _one_by_one(self, state: State) -> _Listed:
        """Return the hidden steps of each action with each of its arguments."""
        found: _Listed = []
        for name in self._names:
            bounds = {param: Matching(param) for param in self._spec.actions[name].params}
            try:
                for args in self._spec.arguments(state, name, bounds):
                    others = () if self._others is None else self._others(state, name, args)
                    for after in chain(self._spec.steps(state, name, args), others):
                        found.append((name, after, args))
            except TlaError as error:
                self._leave_out(name, error)
        return found

    def _leave_out(self, name: str, error: TlaError) -> None:
        self._left_out.setdefault(f"{name}, which is hidden: {error}")


def _add_reached(alike: list[ReachedState], new: ReachedState) -> bool:
    """Add a way to a state unless another makes it needless; return whether it was added."""
    if any(other.no_worse(new.failed, new.used) for other in alike):
        return False
    if alike:
        alike[:] = [other for other in alike if not new.no_worse(other.failed, other.used)]
    alike.append(new)
    return True


def _least(found: Mapping[Hashable, Sequence[ReachedState]]) -> list[ReachedState]:
    """Return the ways to each state that no other one makes needless."""
    least: list[ReachedState] = []
    for alike in found.values():
        if len(alike) == 1:
            least.append(alike[0])
            continue
        best: list[ReachedState] = []
        for each in alike:
            add_least(best, each)
        least += best
    return least
