"""A session: the tree of the states that a player has reached, and the steps that can be taken from each of them.

The tree only grows. A step from the last state goes on, one from an earlier state makes a branch, and undoing a step
shows the state before it. No state is ever changed, and nothing here knows of pages or of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.conformance.property_evaluation import PropertyEvaluator, Standing
from lockstep.tla.explain import Explanation
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import ArgumentError, ModelValue, TlaError, Value
from lockstep.tla.values.quantifier_bounds import UnknownArgumentError
from lockstep.trace.trace_format import Event

__all__ = ["CannotPlayError", "NoSuchStateError", "Offer", "Offers", "Session", "StepRefusedError", "Suggest", "Visit"]

#: Limits for the initial states to choose from, and for the steps that are offered in a state.
MAX_INITIAL, MAX_OFFERS = 200, 2_000

#: Number of arguments of an action for which it is explained why the action is not enabled.
MAX_ARGUMENTS = 40


class CannotPlayError(BadInputError):
    """There is nothing to play: the spec has no initial state, or evaluates none."""


class NoSuchStateError(BadInputError):
    """The session has no state of this number."""


class StepRefusedError(Exception):
    """A step cannot be taken; `lines` name the first false conjunct of each branch, with the values of both sides."""

    def __init__(self, title: str, lines: Sequence[str] = ()) -> None:
        """Name the step, and the reasons."""
        super().__init__(title)
        self.lines = tuple(lines)


@dataclass(frozen=True, slots=True)
class Visit:
    """A state of the session, with the step that led to it.

    `number` is its place in the order in which the states were reached, `parent` that of the state before, None for an
    initial state; `depth` counts the steps to it. `choice` is its place among several successors, where action and
    arguments leave that open. `failed` names the properties that are false of the step or of the state. A step that
    was read from a trace has its `line` there, and its `event`.
    """

    number: int
    parent: int | None
    depth: int
    action: str
    args: Mapping[str, Value]
    state: State
    known: Standing
    failed: frozenset[str]
    choice: int = 0
    line: int | None = None
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """A step that the spec allows: action, arguments, the state after it, and its place among several such states."""

    action: str
    args: Mapping[str, Value]
    after: State
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Offers:
    """The steps that the spec allows in a state; `notes` name reasons why others are not listed."""

    steps: tuple[Offer, ...]
    notes: tuple[str, ...] = ()

    @property
    def enabled(self) -> frozenset[str]:
        """The names of the actions with a step."""
        return frozenset(step.action for step in self.steps)


#: A step: action, arguments, the state after it.
_Step: TypeAlias = tuple[str, Mapping[str, Value], State]

#: Suggests steps of a state: actions with arguments.
Suggest: TypeAlias = Callable[[Visit], Iterable[tuple[str, Mapping[str, Value]]]]


def _nothing(_: Visit) -> Iterable[tuple[str, Mapping[str, Value]]]:
    return ()


class Session:
    """The states that were reached, and the steps between them."""

    def __init__(self, spec: Spec, suggest: Suggest = _nothing) -> None:
        """Start in the first initial state of a spec.

        Arguments: `suggest`, what a player may want to do whose arguments cannot be listed; offered where the spec
        allows it.
        Raises CannotPlayError where there is none, and TlaError where a property has no value there.
        """
        self.spec = spec
        self.initial: tuple[State, ...] = ()
        if spec.has_behaviour:
            self.initial = tuple(dict.fromkeys(islice(spec.initial_states(), MAX_INITIAL)))
        if not self.initial:
            raise CannotPlayError(f"{spec.name} has no initial state to play from")
        self.visits: list[Visit] = []
        self._properties = PropertyEvaluator(spec)
        self._offers: dict[int, Offers] = {}
        self._suggest = suggest
        # An infinite set that fails here fails everywhere, and late: after most of the work, and a search for where.
        self._lists_by_action = self._successors(self.initial[0]) is None
        self._children: dict[tuple[int | None, State, str, tuple[Value, ...]], int] = {}
        self.begin()

    def copy(self) -> Session:
        """Return a session with the same states, from which each of the two goes on by itself."""
        other = copy(self)
        other.visits, other._offers, other._children = [*self.visits], {**self._offers}, {**self._children}
        return other

    # ---- The tree ----

    def visit(self, number: int) -> Visit:
        """Return a state by its number; raises NoSuchStateError."""
        if not 0 <= number < len(self.visits):
            raise NoSuchStateError(f"there is no state {number}; there are {len(self.visits)}, from 0 on")
        return self.visits[number]

    def path(self, number: int) -> tuple[Visit, ...]:
        """Return the states from the initial one to this, both included; raises NoSuchStateError."""
        found = [self.visit(number)]
        while found[-1].parent is not None:
            found.append(self.visits[found[-1].parent])
        return tuple(reversed(found))

    def ends(self) -> tuple[Visit, ...]:
        """Return the ends of the branches: the states from which no step was taken yet."""
        inner = {each.parent for each in self.visits}
        return tuple(each for each in self.visits if each.number not in inner)

    def begin(self, choice: int = 0) -> Visit:
        """Go to an initial state, by its place among them; raises NoSuchStateError."""
        if not 0 <= choice < len(self.initial):
            raise NoSuchStateError(f"there is no initial state {choice}; there are {len(self.initial)}, from 0 on")
        state = self.initial[choice]
        known = self._properties.standing(state)
        at_first = {name for name, holds in self.spec.initial_properties.items() if not holds(state)}
        return self._reached(None, Offer("Init", {}, state, choice), known.failed | at_first, known)

    def take(self, at: int, offer: Offer, line: int | None = None, event: Event | None = None) -> Visit:
        """Take a step that the spec allows in a state; one that was taken there before leads to the same state.

        Arguments: `line` and `event`, of a trace that the step was read from.
        Raises NoSuchStateError, and TlaError where a property has no value.
        """
        before = self.visit(at)
        failed, known = self._properties.step(before.state, before.known, offer.after)
        return self._reached(before, offer, failed, known, line, event)

    def _reached(
        self,
        before: Visit | None,
        offer: Offer,
        failed: frozenset[str],
        known: Standing,
        line: int | None = None,
        event: Event | None = None,
    ) -> Visit:
        parent = None if before is None else before.number
        key = (parent, offer.after, offer.action, tuple(offer.args.values()))
        if key not in self._children:
            self._children[key] = len(self.visits)
            depth = 0 if before is None else before.depth + 1
            made = Visit(
                len(self.visits),
                parent,
                depth,
                offer.action,
                offer.args,
                offer.after,
                known,
                failed,
                offer.choice,
                line,
                event,
            )
            self.visits.append(made)
        return self.visits[self._children[key]]

    # ---- The steps that can be taken ----

    def offers(self, at: int) -> Offers:
        """Return the steps that the spec allows in a state, within the bounds of its cfg; raises NoSuchStateError."""
        if at not in self._offers:
            self._offers[at] = self._offered(self.visit(at))
        return self._offers[at]

    def _offered(self, visit: Visit) -> Offers:
        state = visit.state
        if not self.spec.constraint(state):
            return Offers((), ("the cfg's CONSTRAINT is false in this state: a search does not go on from it",))
        notes: list[str] = []
        steps = self._listed(state, notes)
        if len(steps) > MAX_OFFERS:
            notes.append(f"there are more than {MAX_OFFERS:,} steps; the first are offered")
        offered = [*self._numbered(state, [*steps[:MAX_OFFERS], *self._suggested(visit)])]
        return Offers(tuple(offered), tuple(notes))

    def _listed(self, state: State, notes: list[str]) -> list[_Step]:
        """Return the first steps of a state; where an action has no value, or an infinite set, those of the others."""
        steps = None if self._lists_by_action else self._successors(state)
        return list(islice(self._by_action(state, notes), MAX_OFFERS + 1)) if steps is None else steps

    def _successors(self, state: State) -> list[_Step] | None:
        """Return the first steps of a state, all actions at once; None where one of them has no value."""
        try:
            return list(islice(self.spec.successors(state), MAX_OFFERS + 1))
        except TlaError:
            return None

    def _suggested(self, visit: Visit) -> Iterator[tuple[str, Mapping[str, Value], State]]:
        """Yield the suggested steps that the spec allows."""
        for name, args in self._suggest(visit):
            with suppress(TlaError):
                for after in self.spec.steps(visit.state, name, args):
                    yield name, args, after

    def _by_action(self, state: State, notes: list[str]) -> Iterator[tuple[str, dict[str, Value], State]]:
        for name in self.spec.actions:
            try:
                for args in self.spec.arguments(state, name):
                    for after in self.spec.steps(state, name, args):
                        yield name, args, after
            except UnknownArgumentError as error:
                notes.append(f"the arguments of {name} must be written: {error}")
            except TlaError as error:
                notes.append(f"{name} has no value here: {error}")

    def _numbered(self, state: State, steps: Sequence[tuple[str, Mapping[str, Value], State]]) -> Iterator[Offer]:
        """Yield each step once, numbering the states after it where action and arguments leave them open."""
        afters: dict[tuple[str, tuple[Value, ...]], list[State]] = {}
        for action, args, after in steps:
            known = afters.setdefault((action, tuple(args.values())), [])
            if after not in known:
                known.append(after)
                if self.spec.action_constraint(state, after):
                    yield Offer(action, args, after, len(known) - 1)

    def step(self, at: int, action: str, args: Mapping[str, Value], choice: int = 0) -> Offer:
        """Return the step of an action with given arguments in a state that was reached; raises as step_from does."""
        return self.step_from(self.visit(at).state, action, args, choice)

    def step_from(self, state: State, action: str, args: Mapping[str, Value], choice: int = 0) -> Offer:
        """Return the step of an action with given arguments in any state.

        Raises StepRefusedError where the spec or the cfg's constraints do not allow it; ArgumentError where an argument
        cannot be compared with the set that it is from; BadInputError where there is no such action, or it has other
        parameters.
        """
        self._refuse_unknown(action, args)
        if not self.spec.constraint(state):
            raise StepRefusedError("the cfg's CONSTRAINT is false in the state before")
        try:
            afters = list(dict.fromkeys(self.spec.steps(state, action, args)))
        except ArgumentError:
            raise
        except TlaError as error:
            raise StepRefusedError(f"{action} has no value with these arguments", [str(error)]) from error
        if not afters:
            branches = self.spec.explain(state, action, args).branches
            lines = [line for branch in branches for line in str(branch).split("\n")]
            raise StepRefusedError(f"{action} is not enabled with these arguments", lines)
        if not 0 <= choice < len(afters):
            raise StepRefusedError(f"{action} leads to {len(afters)} states with these arguments, not {choice + 1}")
        if not self.spec.action_constraint(state, afters[choice]):
            raise StepRefusedError("the cfg's ACTION_CONSTRAINT is false of this step")
        return Offer(action, {name: args[name] for name in self.spec.actions[action].params}, afters[choice], choice)

    def why_not(self, at: int, action: str, args: Mapping[str, Value]) -> Explanation:
        """Explain why an action is not enabled with given arguments; raises BadInputError as step does."""
        self._refuse_unknown(action, args)
        return self.spec.explain(self.visit(at).state, action, args)

    def _refuse_unknown(self, action: str, args: Mapping[str, Value] | None = None) -> None:
        known = self.spec.actions.get(action)
        if known is None:
            raise BadInputError(f"the spec has no action {action!r}{did_you_mean(action, self.spec.actions)}")
        if args is not None and args.keys() != set(known.params):
            raise BadInputError(f"{action} takes ({', '.join(known.params)}), not ({', '.join(args)})")

    def arguments(self, at: int, action: str) -> tuple[list[dict[str, Value]], bool]:
        """Return arguments for which to explain why an action is not enabled, and whether there are more.

        They are the values that its quantifiers bind. Where one of them ranges over an empty set, such as the messages
        of an empty channel, the name of the parameter stands for its value: the empty set is why the action fails.
        """
        state = self.visit(at).state
        self._refuse_unknown(action)
        listed: list[dict[str, Value]] = []
        with suppress(TlaError):
            for args in self.spec.arguments(state, action):
                if args not in listed:
                    listed.append(args)
                if len(listed) > MAX_ARGUMENTS:
                    return listed[:MAX_ARGUMENTS], True
        return listed or list(self._placeholders(state, action)), False

    def _placeholders(self, state: State, action: str) -> Iterator[dict[str, Value]]:
        """Yield arguments in which the name of a parameter stands for its value, but for the first parameter.

        Its values are those that another action binds which has this parameter alone, such as the node.
        """
        params = self.spec.actions[action].params
        first = dict.fromkeys(self._first_arguments(state, params[0])) if params else {}
        rest = {name: ModelValue(name) for name in params}
        if not first:
            yield rest
        for value in islice(first, MAX_ARGUMENTS):
            yield {**rest, params[0]: value}

    def _first_arguments(self, state: State, name: str) -> Iterator[Value]:
        for action in self.spec.actions.values():
            if action.params == (name,):
                with suppress(TlaError):
                    yield from (args[name] for args in self.spec.arguments(state, action.name))
                    return
