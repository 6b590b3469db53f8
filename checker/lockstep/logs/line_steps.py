"""All steps that explain lines, with hidden ones before them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import BadInputError
from lockstep.conformance.comparison import ObservationError, compare, equal_count
from lockstep.conformance.spec_interface import Interface
from lockstep.logs.continuations import (
    Continuation,
    ExplainingStep,
    Move,
    Moves,
    ReachedState,
    StartState,
    add_least,
    values_at,
)
from lockstep.logs.failing_properties import FailingProperties
from lockstep.logs.hidden_steps import HiddenSteps, OtherSteps
from lockstep.logs.log_lines import Claim, ThreadLine
from lockstep.tla.spec import Spec
from lockstep.tla.state import DistinctKeys, State
from lockstep.tla.values.kinds import ArgumentError, ForeignWordError, TlaError, Value, format_value
from lockstep.tla.values.quantifier_bounds import KnownValue, Matching

#: How many hidden steps are tried at most before one line.
MAX_HIDDEN_STEPS = 300_000


class LineSteps:
    """The steps of one spec that explain lines.

    `left_out` has the reasons why not every explanation was tried, if that is so: then nothing is refuted.
    """

    def __init__(
        self,
        spec: Spec,
        interface: Interface,
        hidden: Mapping[str, int],
        max_hidden_steps: int = MAX_HIDDEN_STEPS,
        deadline: Deadline = NEVER,
        others: OtherSteps | None = None,
    ) -> None:
        """Take steps of a spec.

        Args:
            interface: where a log meets it.
            hidden: the actions that may be taken without a line, and how often between two lines.
            max_hidden_steps: how many hidden steps are tried at most before one line.
            deadline: after which no more hidden steps are tried.
            others: steps that are taken besides those of the spec.
        """
        self.spec, self.interface, self.hidden = spec, interface, dict(hidden)
        self.left_out: dict[str, None] = {}
        self._failing = FailingProperties(spec)
        self._others = others
        self._hidden = HiddenSteps(spec, hidden, max_hidden_steps, self._failing, self.left_out, deadline, others)
        self._shown: dict[tuple[int, Hashable], bool] = {}
        read = interface.read_variables(spec)
        self._read: Callable[[State], tuple[Value, ...]] = values_at(read) if read is not None else lambda state: state
        self._moves = {name: Moves(spec, name) for name in spec.actions}
        self._known_moves: dict[tuple[int, Hashable], list[Move]] = {}
        self._explained: dict[tuple[Hashable, ThreadLine], list[Continuation]] = {}
        self._keys = DistinctKeys()

    def starts(self) -> list[Continuation]:
        """Return the initial states that the spec allows, each once, with the properties that fail there."""
        keys = DistinctKeys()
        states = {keys.key(state): state for state in self.spec.initial_states()}
        return [Continuation(state, self._failing.in_first_state(state)) for state in states.values()]

    def start_in(self, state: State) -> Continuation:
        """Return a state in which a log begins in the middle of a behaviour, with what fails there."""
        return Continuation(state, self._failing.in_state(state))

    def forget(self) -> None:
        """Forget what was found before the line before: the states of a log seldom come again."""
        self._failing.forget()
        self._hidden.forget()
        self._shown.clear()
        self._known_moves.clear()
        self._explained.clear()
        self._keys.clear()

    def hidden_from(self, state: State) -> list[Continuation]:
        """Return the ways from a state by hidden steps, as many as may come between two lines, and by none."""
        return [Continuation(each.state, each.failed, each.steps()) for each in self.reached([Continuation(state)])]

    def reached(self, begins: Sequence[StartState]) -> list[ReachedState]:
        """Return the states that hidden steps lead to from any of some states."""
        return self._hidden.reached(begins)

    def essence(self, state: State) -> Hashable:
        """Return the key of the state, until the next line: all of it may matter to the lines to come."""
        return self._keys.key(state)

    def explaining(self, state: State, line: ThreadLine, _positions: tuple[int, ...] = ()) -> list[Continuation]:
        """Return the continuations of a state that explain a line, with no hidden steps before it.

        Among those that end in the same state, only the least are returned.
        """
        key = self._keys.key(state), line
        known = self._explained.get(key)
        if known is None:
            found: dict[Hashable, list[Continuation]] = {}
            for claims in line.readings:
                for path in self._understood(Continuation(state), claims):
                    add_least(found.setdefault(self._keys.key(path.state), []), path)
            known = self._explained[key] = [path for alike in found.values() for path in alike]
        return known

    def _understood(self, before: Continuation, claims: Iterable[Claim]) -> list[Continuation]:
        found = [before]
        for claim in claims:
            try:
                found = [after for each in found for after in self.claimed(each, claim)]
            except ForeignWordError as error:
                raise BadInputError(f"`{error.name}`: {error}") from error
            except ArgumentError as error:
                # A value that no such step has: this reading does not fit.
                if not isinstance(claim.args.get(error.name), KnownValue):
                    self._leave_out(str(error))
                return []
            except TlaError as error:
                self._leave_out(f"{claim.action}: {error}" if claim.action else str(error))
                return []
        return found

    def claimed(self, before: Continuation, claim: Claim) -> Iterator[Continuation]:
        """Yield the continuations by one step that a line claims, or by none where it claims none."""
        if not claim.action:
            if self.shows(before.state, claim):
                yield before
            return
        if claim.repeat > 1:
            yield from (each for each in self._repeated(before, claim) if self.shows(each.state, claim))
            return
        for args, state in self._taken(before.state, claim):
            if self.shows(state, claim):
                yield self._gone_on(before, claim.action, args, state)

    def _repeated(self, before: Continuation, claim: Claim) -> Iterator[Continuation]:
        """Yield the ways to take a step once, and once more with the same arguments, and so on."""
        found = [self._gone_on(before, claim.action, *taken) for taken in self._taken(before.state, claim)]
        yield from found
        for _ in range(claim.repeat - 1):
            again = (after for each in found for after in self._again(each))
            found = list({(self._keys.key(each.state), each.failed): each for each in again}.values())
            yield from found

    def _again(self, path: Continuation) -> Iterator[Continuation]:
        last = path.steps[-1]
        for after in self._successors(path.state, last.action, last.args):
            yield self._gone_on(path, last.action, last.args, after)

    def _gone_on(self, before: Continuation, action: str, args: Mapping[str, Value], after: State) -> Continuation:
        failed = before.failed | self._failing.by_step(before.state, after)
        return Continuation(after, failed, (*before.steps, ExplainingStep(action, args, after, hidden=False)))

    def shows(self, state: State, claim: Claim) -> bool:
        """Return whether a state shows what a line claims."""
        if not claim.shows:
            return True
        key = id(claim), self._keys.key(self._read(state))
        known = self._shown.get(key)
        if known is None:
            count = equal_count(claim.shows, self.observable(state, claim), self.interface.words)
            known = self._shown[key] = count is not None
        return known

    def observable(self, state: State, claim: Claim) -> Value:
        """Return what a line may show of a state."""
        return self.interface.observable(self.spec, state, claim.node)

    def mistake(self, state: State, line: ThreadLine) -> str | None:
        """Return what a line has that the spec cannot have, however it is read; None where there is nothing such."""
        for before in self.hidden_from(state):
            found = [self._mistake(before, claims) for claims in line.readings]
            if all(found):
                return found[0]
        return None

    def _mistake(self, before: Continuation, claims: Iterable[Claim]) -> str | None:
        try:
            for claim in claims:
                for state in self._after(before.state, claim):
                    compare(claim.shows, self.observable(state, claim), self.interface.words)
        except ObservationError as error:
            return str(error)
        except ArgumentError as error:
            return f"`{error.name}`: {error}"
        except TlaError:
            return next(filter(None, map(self._unknown_node, claims)), None)
        return None

    def _unknown_node(self, claim: Claim) -> str | None:
        """Return why a line's node cannot be observed, not even in the first state; None where it can be."""
        if claim.node is None or not claim.shows:
            return None
        try:
            self.observable(next(iter(self.spec.initial_states())), claim)
        except TlaError as error:
            return f"`node`: {self.interface.observe}({format_value(claim.node)}) has no value: {error}"
        return None

    def _after(self, state: State, claim: Claim) -> Iterator[State]:
        return (after for _, after in self._taken(state, claim)) if claim.action else iter((state,))

    def _taken(self, state: State, claim: Claim) -> Iterator[tuple[Mapping[str, Value], State]]:
        """Yield the arguments of each step that a line may claim, and the state after it."""
        moves = self._moves[claim.action]
        key = id(claim), self._keys.key(moves.read(state))
        known = self._known_moves.get(key)
        if known is None:
            found: dict[tuple[Hashable, Hashable], Move] = {}
            keys = DistinctKeys()
            for args in self._arguments(state, claim):
                given = self._keys.key(tuple(args.values()))
                for after in self._successors(state, claim.action, args):
                    found.setdefault((given, keys.key(after)), moves.move(args, after))
            known = self._known_moves[key] = list(found.values())
        return ((move[0], moves.after(state, move)) for move in known)

    def _successors(self, state: State, action: str, args: Mapping[str, Value]) -> Iterable[State]:
        usual = self.spec.steps(state, action, args)
        return usual if self._others is None else chain(usual, self._others(state, action, args))

    def _arguments(self, state: State, claim: Claim) -> Iterable[Mapping[str, Value]]:
        params = self.spec.actions[claim.action].params
        claimed = [claim.args.get(name) for name in params]
        if all(type(each) is KnownValue for each in claimed):  # the step itself checks that there are such arguments
            return ({name: each.value for name, each in zip(params, claimed, strict=True) if type(each) is KnownValue},)
        known = {name: each or Matching(name) for name, each in zip(params, claimed, strict=True)}
        return self.spec.arguments(state, claim.action, known)

    def _leave_out(self, reason: str) -> None:
        self.left_out.setdefault(reason)
