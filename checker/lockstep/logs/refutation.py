"""Why not: for a line that no behaviour explains, what comes nearest, and what it fails at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from lockstep.conformance.comparison import ObservationError, compare
from lockstep.logs.continuations import Path
from lockstep.logs.explanation_search import Run
from lockstep.logs.line_steps import Steps
from lockstep.logs.log_lines import Claim, Line
from lockstep.tla.explain import Branch
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError, Value, format_value
from lockstep.tla.values.quantifier_bounds import Exactly, Matching

#: How many states, and arguments of an action in each, are asked for a reason; how many reasons are told.
_STATES, _ARGUMENTS, _TOLD = 200, 40, 3

#: A text longer than this is cut.
_LONG = 160


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a state does not go on to a line: the lines to print, the formula that failed, and how near it came.

    `nearness` is how many steps of the line were taken, whether the action was enabled, how many conjuncts held, and,
    less than none, for how many elements the one that failed is false.
    """

    nearness: tuple[int, int, int, int]
    state: State
    title: str
    details: tuple[str, ...]
    formula: str
    place: str


def why_not(line: Line, runs: tuple[Run, ...], steps: Steps) -> list[Reason]:
    """Return the nearest reasons why some runs do not go on to a line, one for each action and formula.

    Arguments: `runs`, which explain the lines before; `steps`, the spec with its hidden actions.
    """
    best: dict[tuple[str, str], Reason] = {}
    for before in islice(_reached(runs, steps), _STATES):
        for claims in line.readings:
            for reason in _reasons(before, claims, steps):
                key = reason.title.partition("(")[0], reason.formula
                if key not in best or reason.nearness > best[key].nearness:
                    best[key] = reason
    return sorted(best.values(), key=lambda reason: reason.nearness, reverse=True)[:_TOLD]


def told(reason: Reason, state_too: bool) -> list[str]:
    """Return the lines of one reason: the action, its false conjunct with both values, and what the state has of it."""
    lines = [reason.title, *(f"  {detail}" for detail in reason.details)]
    if state_too:
        lines += [f"  state {name} = {_short(value)}" for name, value in _mattering(reason)]
    return lines


def _mattering(reason: Reason) -> Iterator[tuple[str, Value]]:
    """Yield the variables that the formula names; all of them where it names none."""
    table = reason.state.as_dict()
    named = [name for name in table if re.search(rf"\b{re.escape(name)}\b", reason.formula)]
    yield from ((name, table[name]) for name in named or table)


def _reached(runs: tuple[Run, ...], steps: Steps) -> Iterator[Path]:
    """Yield the states before a line, those without hidden steps first."""
    yield from (Path(run.state) for run in runs)
    for run in runs:
        yield from (path for path in steps.hidden_from(run.state) if path.steps)


def _reasons(before: Path, claims: tuple[Claim, ...], steps: Steps) -> Iterator[Reason]:
    """Yield why the steps of a reading cannot be taken one after the other from here."""
    paths = [before]
    for taken, claim in enumerate(claims):
        after: list[Path] = []
        for path in paths:
            try:
                after += steps.claimed(path, claim)
            except TlaError:
                continue
        if not after:
            for path in paths:
                yield from _of_claim(path, claim, steps, taken)
            return
        paths = after


def _of_claim(before: Path, claim: Claim, steps: Steps, taken: int) -> Iterator[Reason]:
    if not claim.action:
        yield from _of_sight(before.state, before.state, claim, steps, taken, "what is seen")
        return
    found = False
    for args in _arguments(before.state, claim, steps):
        found = True
        explanation = steps.spec.explain(before.state, claim.action, args)
        title = f"{claim.action}({', '.join(f'{name} = {_short(value)}' for name, value in args.items())})"
        if explanation.enabled:
            for after in steps.spec.steps(before.state, claim.action, args):
                yield from _of_sight(before.state, after, claim, steps, taken, title)
        elif explanation.branches:
            branch = explanation.branches[0]
            text = " ".join(branch.failed.text.split())
            nearness = (taken, 0, len(branch.held), -branch.failing)
            place = str(branch.failed.loc)
            yield Reason(nearness, before.state, f"{title} is not enabled", tuple(_of_branch(branch)), text, place)
    if not found:
        yield _without_arguments(before.state, claim, taken)


def _arguments(state: State, claim: Claim, steps: Steps) -> Iterator[dict[str, Value]]:
    params = steps.spec.actions[claim.action].params
    given = {name: claim.told.get(name, Matching(name)) for name in params}
    try:
        yield from islice(steps.spec.arguments(state, claim.action, given), _ARGUMENTS)
    except TlaError:
        return


def _without_arguments(state: State, claim: Claim, taken: int) -> Reason:
    said = [
        f"the line tells {name} = {_short(each.value)}"
        if isinstance(each, Exactly)
        else f"the line tells a part of {name}"
        for name, each in claim.told.items()
    ]
    text = f"{claim.action} cannot be taken with what the line tells"
    return Reason((taken, -1, 0, 0), state, text, (*said, "which is in no set that its quantifiers range over"), "", "")


def _of_branch(branch: Branch) -> Iterator[str]:
    yield f"{branch.failed.loc}: {_cut(' '.join(branch.failed.text.split()))}"
    if branch.left is not None and branch.right is not None:
        yield f"left:  {_short(branch.left[0])}"
        yield f"right: {_short(branch.right[0])}"
    yield from (f"with {name} = {_short(value)}" for name, value in branch.bound)
    if branch.error is not None:
        yield branch.error


def _of_sight(before: State, after: State, claim: Claim, steps: Steps, taken: int, title: str) -> Iterator[Reason]:
    try:
        compared = compare(claim.shows, steps.seen(after, claim), steps.interface.words)
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
    return text if len(text) <= _LONG else f"{text[: _LONG - 4]} ..."
