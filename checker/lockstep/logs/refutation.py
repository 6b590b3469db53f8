"""Reasons why no behaviour explains a line: the nearest steps, and the formulas that they fail."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from lockstep.conformance.comparison import ObservationError, compare
from lockstep.logs.continuations import Continuation
from lockstep.logs.explanation_search import ExplainingRun
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_lines import Claim, ThreadLine
from lockstep.tla.explain import Branch
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError, Value, format_value
from lockstep.tla.values.quantifier_bounds import KnownValue, Matching

#: How many states are tried, how many arguments of an action in each, how many reasons are returned, and in how many
#: states and with how many arguments each is.
MAX_STATES, MAX_ARGUMENTS, MAX_REASONS, MAX_WAYS = 200, 40, 3, 12

#: How often a step that a line repeats is taken to see why it is not taken once more.
MAX_REPEATED = 20

#: A longer text is cut.
MAX_TEXT = 160


@dataclass(frozen=True, slots=True)
class ReachedPlace:
    """A place within a line that a behaviour comes to: the steps of `path` follow those of a run.

    They are hidden ones, and then those of the first `taken` of a reading's `claims`, and of the next one the first
    `repeated`.
    """

    run: ExplainingRun
    path: Continuation
    claims: tuple[Claim, ...]
    taken: int
    repeated: int = 0

    @property
    def claim(self) -> Claim:
        """The claim of the reading that comes next."""
        return self.claims[self.taken]

    @property
    def before(self) -> tuple[Claim, ...]:
        """The claims whose steps were taken."""
        again = (replace(self.claim, shows={}, repeat=self.repeated),) if self.repeated else ()
        return (*self.claims[: self.taken], *again)

    @property
    def state(self) -> State:
        """The state there."""
        return self.path.state


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a behaviour does not go on with a claim, with the formula that failed, and how near it came.

    `nearness` is how many steps of the line were taken, whether the action was enabled, how many conjuncts held, and,
    negative, for how many elements the one that failed is false. `args` are those of the step; None where there are
    none that the line agrees with.
    """

    nearness: tuple[int, int, int, int]
    at: ReachedPlace
    title: str
    details: tuple[str, ...]
    formula: str
    place: str
    args: Mapping[str, Value] | None

    @property
    def is_enabled(self) -> bool:
        """Whether the step is one of the spec, and what the line shows is otherwise."""
        return self.nearness[1] == 1

    def text(self, *, with_state: bool) -> list[str]:
        """Return the lines of the reason: the action, its false conjunct with both values, the values of the state."""
        lines = [self.title, *(f"  {detail}" for detail in self.details)]
        if with_state:
            table = self.at.state.as_dict()
            named = [name for name in table if re.search(rf"\b{re.escape(name)}\b", self.formula)]
            lines += [f"  state {name} = {_short(table[name])}" for name in named or table]
        return lines


def nearest_reasons(line: ThreadLine, runs: tuple[ExplainingRun, ...], steps: LineSteps) -> list[tuple[Reason, ...]]:
    """Return the nearest reasons why some runs do not go on to a line, by action and formula, the nearest first.

    Each is as often there as there are states, or arguments, in which it is the reason.

    Arguments: `runs`, which explain the lines before; `steps`, the spec with its hidden actions.
    """
    found = defaultdict[tuple[str, str], list[Reason]](list)
    for run, before in islice(_reached(runs, steps), MAX_STATES):
        for claims in line.readings:
            for reason in _reading_reasons(ReachedPlace(run, before, claims, 0), steps):
                found[reason.title.partition("(")[0], reason.formula].append(reason)
    ways = (sorted(each, key=lambda reason: reason.nearness, reverse=True)[:MAX_WAYS] for each in found.values())
    return [tuple(each) for each in sorted(ways, key=lambda each: each[0].nearness, reverse=True)[:MAX_REASONS]]


def _reached(runs: tuple[ExplainingRun, ...], steps: LineSteps) -> Iterator[tuple[ExplainingRun, Continuation]]:
    """Yield the states before a line, those without hidden steps first, each with the run that it follows."""
    yield from ((run, Continuation(run.state)) for run in runs)
    for run in runs:
        yield from ((run, path) for path in steps.hidden_from(run.state) if path.steps)


def _reading_reasons(before: ReachedPlace, steps: LineSteps) -> Iterator[Reason]:
    """Yield why the steps of a reading cannot be taken one after the other from here."""
    places = [before]
    for taken, claim in enumerate(before.claims, 1):
        after: list[ReachedPlace] = []
        for place in places:
            try:
                after += (replace(place, path=path, taken=taken) for path in steps.claimed(place.path, claim))
            except TlaError:
                continue
        if not after:
            for place in places:
                yield from _claim_reasons(place, steps)
                yield from _reasons_to_repeat(place, steps)
            return
        places = after


def _reasons_to_repeat(at: ReachedPlace, steps: LineSteps) -> Iterator[Reason]:
    """Yield why a step that a line repeats is not taken once more, or is not enough."""
    once = replace(at.claim, shows={}, repeat=1)
    for count in range(1, min(at.claim.repeat, MAX_REPEATED)):
        try:
            path = next(steps.claimed(at.path, once), None)
        except TlaError:
            return
        if path is None:
            return
        known = {name: KnownValue(name, value) for name, value in path.steps[-1].args.items()}
        once, at = replace(once, args=known), replace(at, path=path, repeated=count)
        yield from _claim_reasons(at, steps)


def _claim_reasons(at: ReachedPlace, steps: LineSteps) -> Iterator[Reason]:
    claim = at.claim
    if not claim.action:
        yield from _observation_reasons(at, at.state, {}, steps, "what is observed")
        return
    found = False
    for args in _arguments(at.state, claim, steps):
        found = True
        explanation = steps.spec.explain(at.state, claim.action, args)
        title = f"{claim.action}({', '.join(f'{name} = {_short(value)}' for name, value in args.items())})"
        if explanation.enabled:
            for after in steps.spec.steps(at.state, claim.action, args):
                yield from _observation_reasons(at, after, args, steps, title)
        elif explanation.branches:
            branch = explanation.branches[0]
            text = " ".join(branch.failed.text.split())
            nearness = (at.taken, 0, len(branch.held), -branch.failing)
            place = str(branch.failed.loc)
            yield Reason(nearness, at, f"{title} is not enabled", tuple(_branch_lines(branch)), text, place, args)
    if not found:
        yield _without_arguments(at, steps)


def _arguments(state: State, claim: Claim, steps: LineSteps) -> Iterator[dict[str, Value]]:
    params = steps.spec.actions[claim.action].params
    given = {name: claim.args.get(name, Matching(name)) for name in params}
    try:
        yield from islice(steps.spec.arguments(state, claim.action, given), MAX_ARGUMENTS)
    except TlaError:
        return


def _without_arguments(at: ReachedPlace, steps: LineSteps) -> Reason:
    claim = at.claim
    known = {name: each.value for name, each in claim.args.items() if isinstance(each, KnownValue)}
    claimed = [
        f"the line has {name} = {_short(known[name])}" if name in known else f"the line has a part of {name}"
        for name in claim.args
    ]
    text = f"{claim.action} cannot be taken with what the line has"
    details = (*claimed, "which is in no set that its quantifiers range over")
    args = known if known.keys() == set(steps.spec.actions[claim.action].params) else None
    return Reason((at.taken, -1, 0, 0), at, text, details, "", "", args)


def _branch_lines(branch: Branch) -> Iterator[str]:
    yield f"{branch.failed.loc}: {_cut(' '.join(branch.failed.text.split()))}"
    if branch.left is not None and branch.right is not None:
        yield f"left:  {_short(branch.left[0])}"
        yield f"right: {_short(branch.right[0])}"
    yield from (f"with {name} = {_short(value)}" for name, value in branch.bound)
    if branch.error is not None:
        yield branch.error


def _observation_reasons(
    at: ReachedPlace, after: State, args: Mapping[str, Value], steps: LineSteps, title: str
) -> Iterator[Reason]:
    claim = at.claim
    try:
        compared = compare(claim.shows, steps.observable(after, claim), steps.interface.words)
    except (ObservationError, TlaError) as error:
        yield Reason((at.taken, 1, 0, 0), at, title, (str(error),), "", "", args)
        return
    wrong = [each for each in compared if not each.equal]
    if wrong:
        details = tuple(
            f"{each.path}: the line shows {_short(each.observed)}, the spec says {_short(each.expected)}"
            for each in wrong
        )
        nearness = (at.taken, 1, len(compared) - len(wrong), 0)
        formula = " ".join(each.path for each in wrong)
        yield Reason(nearness, at, f"after {title}" if claim.action else title, details, formula, "", args)


def _short(value: Value) -> str:
    return _cut(format_value(value))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 4]} ..."
