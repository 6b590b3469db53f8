"""The choice of the causes of a deviation: where they are looked for, and those that are named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockstep.base.package_data import common_dir
from lockstep.conformance.cause_search import CauseSearch
from lockstep.conformance.changed_lines import LineSearch
from lockstep.conformance.changed_steps import ChangedSteps
from lockstep.conformance.deviation import Deviation
from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.initial_causes import changed_beginnings, initial_causes
from lockstep.conformance.nearest_change import nearest_change
from lockstep.conformance.search_limit import SearchLimit
from lockstep.conformance.stated_rule import stated_rule

#: The causes that are named of one deviation.
MAX_CAUSES = 3

#: The likelier a kind of cause is where several explain as much, the lower.
_RANKS = {
    "flaws": 0,
    "repeated": 1,
    "formula": 2,
    "update": 3,
    "use": 3,
    "updates": 4,
    "value": 5,
    "step": 6,
    "event": 7,
    "number": 8,
    "rule": 9,
}


def most_accepted(causes: Iterable[DeviationCause]) -> int:
    """Return the number of events that the spec allows by the cause that explains most; 0 without causes."""
    return max((cause.accepts for cause in causes), default=0)


def causes_of(
    deviation: Deviation,
    steps: ChangedSteps,
    limit: SearchLimit,
    past: Sequence[int],
    *,
    is_known: bool = False,
    has_beginning: bool = True,
) -> list[DeviationCause]:
    """Return the changes of a spec, or of a trace, that let it go on past a deviation; or what comes nearest to one.

    Arguments: `past`, the places of the events that happened before it; `is_known`, whether there is a cause already;
    `has_beginning`, whether the spec has one initial state, which the trace begins in.
    """
    common = common_modules()
    search, lines = CauseSearch(deviation, steps, limit, common), LineSearch(deviation, steps, limit)
    causes = [*search.decisions(past), *lines.causes()]
    if causes or is_known:
        return causes
    beginnings = [*changed_beginnings(deviation, steps, limit)] if has_beginning else []
    causes = [*initial_causes(deviation, steps, beginnings)]
    if not causes:
        nearest = lines.alone() or nearest_change(deviation, steps, limit, beginnings, common)
        other = nearest or stated_rule(deviation, steps)
        causes += [] if other is None else [other]
    return causes


def common_modules() -> frozenset[str]:
    """Return the names of the modules that many specs share."""
    return frozenset(path.stem for path in common_dir().glob("*.tla"))


#: The kinds of causes that come last in what was recorded, and in what was computed: there no line is a slip.
RECORDED, COMPUTED = frozenset({"number"}), frozenset({"value", "step", "event"})


def likeliest(causes: Sequence[DeviationCause], unlikely: frozenset[str] = RECORDED) -> tuple[DeviationCause, ...]:
    """Return the likeliest causes: the flaws that explain most, and of each other rank one that explains as much.

    An expression comes last which other steps speak against, or that is in a module which many specs share; so do the
    kinds that are `unlikely`. Within a rank they have the order in which they are given.
    """
    flaws = _explaining_most([cause for cause in causes if cause.kind == "flaws"], 0)
    least, common = most_accepted(flaws), common_modules()
    ranked: dict[tuple[int, bool], DeviationCause] = {}
    for cause in _explaining_most([cause for cause in causes if cause.kind != "flaws"], least):
        ranked.setdefault((_RANKS[cause.kind], cause.is_hidden), cause)

    def rank(cause: DeviationCause) -> tuple[bool, int]:
        is_common = cause.place.partition(".tla")[0] in common
        return bool(cause.against) or is_common or cause.kind in unlikely, _RANKS[cause.kind]

    return (*flaws, *sorted(ranked.values(), key=rank))[:MAX_CAUSES]


def _explaining_most(causes: Sequence[DeviationCause], least: int) -> list[DeviationCause]:
    most = most_accepted(causes)
    return [cause for cause in causes if cause.accepts == most >= least]
