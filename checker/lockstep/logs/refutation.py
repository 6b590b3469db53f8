"""Reasons why no behaviour explains a line: the nearest steps, and the formulas that they fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
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

#: How many states are tried, how many arguments of an action in each, and how many reasons are returned.
MAX_STATES, MAX_ARGUMENTS, MAX_REASONS = 200, 40, 3

#: A longer text is cut.
MAX_TEXT = 160


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a state does not go on to a line, with the formula that failed, and how near it came.

    `nearness` is how many steps of the line were taken, whether the action was enabled, how many conjuncts held, and,
    negative, for how many elements the one that failed is false.
    """

    nearness: tuple[int, int, int, int]
    state: State
    title: str
    details: tuple[str, ...]
    formula: str
    place: str

    def text(self, *, with_state: bool) -> list[str]:
        """Return the lines of the reason: the action, its false conjunct with both values, the values of the state."""
        lines = [self.title, *(f"  {detail}" for detail in self.details)]
        if with_state:
            table = self.state.as_dict()
            named = [name for name in table if re.search(rf"\b{re.escape(name)}\b", self.formula)]
            lines += [f"  state {name} = {_short(table[name])}" for name in named or table]
        return lines


def nearest_reasons(line: ThreadLine, runs: tuple[ExplainingRun, ...], steps: LineSteps) -> list[Reason]:
    """Return the nearest reasons why some runs do not go on to a line, one for each action and formula.

    Arguments: `runs`, which explain the lines before; `steps`, the spec with its hidden actions.
    """
    best: dict[tuple[str, str], Reason] = {}
    for before in islice(_reached(runs, steps), MAX_STATES):
        for claims in line.readings:
            for reason in _reading_reasons(before, claims, steps):
                key = reason.title.partition("(")[0], reason.formula
                if key not in best or reason.nearness > best[key].nearness:
                    best[key] = reason
    return sorted(best.values(), key=lambda reason: reason.nearness, reverse=True)[:MAX_REASONS]


def _reached(runs: tuple[ExplainingRun, ...], steps: LineSteps) -> Iterator[Continuation]:
    """Yield the states before a line, those without hidden steps first."""
    yield from (Continuation(run.state) for run in runs)
    for run in runs:
        yield from (path for path in steps.hidden_from(run.state) if path.steps)


def _reading_reasons(before: Continuation, claims: tuple[Claim, ...], steps: LineSteps) -> Iterator[Reason]:
    """Yield why the steps of a reading cannot be taken one after the other from here."""
    paths = [before]
    for taken, claim in enumerate(claims):
        after: list[Continuation] = []
        for path in paths:
            try:
                after += steps.claimed(path, claim)
            except TlaError:
                continue
        if not after:
            for path in paths:
                yield from _claim_reasons(path, claim, steps, taken)
            return
        paths = after


def _claim_reasons(before: Continuation, claim: Claim, steps: LineSteps, taken: int) -> Iterator[Reason]:
    if not claim.action:
        yield from _observation_reasons(before.state, before.state, claim, steps, taken, "what is observed")
        return
    found = False
    for args in _arguments(before.state, claim, steps):
        found = True
        explanation = steps.spec.explain(before.state, claim.action, args)
        title = f"{claim.action}({', '.join(f'{name} = {_short(value)}' for name, value in args.items())})"
        if explanation.enabled:
            for after in steps.spec.steps(before.state, claim.action, args):
                yield from _observation_reasons(before.state, after, claim, steps, taken, title)
        elif explanation.branches:
            branch = explanation.branches[0]
            text = " ".join(branch.failed.text.split())
            nearness = (taken, 0, len(branch.held), -branch.failing)
            place = str(branch.failed.loc)
            yield Reason(nearness, before.state, f"{title} is not enabled", tuple(_branch_lines(branch)), text, place)
    if not found:
        yield _without_arguments(before.state, claim, taken)


def _arguments(state: State, claim: Claim, steps: LineSteps) -> Iterator[dict[str, Value]]:
    params = steps.spec.actions[claim.action].params
    given = {name: claim.args.get(name, Matching(name)) for name in params}
    try:
        yield from islice(steps.spec.arguments(state, claim.action, given), MAX_ARGUMENTS)
    except TlaError:
        return


def _without_arguments(state: State, claim: Claim, taken: int) -> Reason:
    claimed = [
        f"the line has {name} = {_short(each.value)}"
        if isinstance(each, KnownValue)
        else f"the line has a part of {name}"
        for name, each in claim.args.items()
    ]
    text = f"{claim.action} cannot be taken with what the line has"
    return Reason(
        (taken, -1, 0, 0), state, text, (*claimed, "which is in no set that its quantifiers range over"), "", ""
    )


def _branch_lines(branch: Branch) -> Iterator[str]:
    yield f"{branch.failed.loc}: {_cut(' '.join(branch.failed.text.split()))}"
    if branch.left is not None and branch.right is not None:
        yield f"left:  {_short(branch.left[0])}"
        yield f"right: {_short(branch.right[0])}"
    yield from (f"with {name} = {_short(value)}" for name, value in branch.bound)
    if branch.error is not None:
        yield branch.error


def _observation_reasons(
    before: State, after: State, claim: Claim, steps: LineSteps, taken: int, title: str
) -> Iterator[Reason]:
    try:
        compared = compare(claim.shows, steps.observable(after, claim), steps.interface.words)
    except (ObservationError, TlaError) as error:
        yield Reason((taken, 1, 0, 0), before, title, (str(error),), "", "")
        return
    wrong = [each for each in compared if not each.equal]
    if wrong:
        details = tuple(
            f"{each.path}: the line shows {_short(each.observed)}, the spec says {_short(each.expected)}"
            for each in wrong
        )
        nearness = (taken, 1, len(compared) - len(wrong), 0)
        formula = " ".join(each.path for each in wrong)
        yield Reason(nearness, before, f"after {title}" if claim.action else title, details, formula, "")


def _short(value: Value) -> str:
    return _cut(format_value(value))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 4]} ..."
