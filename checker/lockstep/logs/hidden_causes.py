"""Causes of a deviation of logs in steps without a line: what would let one of them come before the line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from lockstep.conformance.diagnosis import DeviationCause
from lockstep.conformance.expression_causes import expression_cause, is_literal
from lockstep.conformance.search_limit import SearchLimit
from lockstep.logs.log_deviation import LogDeviation, LogSteps
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.probed_values import OtherOutcome
from lockstep.tla.values.quantifier_bounds import Matching

#: The states before a line, and the arguments of each hidden action there, in which is seen what its steps evaluate.
MAX_STATES_SEEN, MAX_ARGUMENTS_SEEN = 8, 20


def hidden_causes(deviation: LogDeviation, steps: LogSteps, limit: SearchLimit) -> Iterator[DeviationCause]:
    """Yield the expressions with which the line, and others after it, would be explained by steps without a line.

    Each has another outcome whenever a step of the hidden action is taken, as well as its own.
    """
    # A value that is written down is the last to be blamed.
    found = sorted(_outcomes(steps).items(), key=lambda each: is_literal(steps.probed.probed[each[0][1].number].text))
    for (action, outcome), seen in found:
        if not limit.has_time("all expressions of the actions without a line were tried"):
            return
        accepts = steps.count_explained(outcome, action)
        if accepts:
            cause = expression_cause(deviation, steps, outcome, seen, deviation.last, accepts)
            reference = steps.check.interface.locate(action)
            # Its values are those of some step of the action, not of the one that is missing.
            yield replace(cause, action=action, node="", is_hidden=True, reference=reference, sides=())


def _outcomes(steps: LogSteps) -> dict[tuple[str, OtherOutcome], Mapping[int, Sequence[Value]]]:
    """Return other outcomes of what hidden actions evaluate, each with the action, and all that one of its steps does.

    A condition that is FALSE keeps a step from being taken: where there is such an evaluation it is the one to show.
    """
    found: dict[tuple[str, OtherOutcome], Mapping[int, Sequence[Value]]] = {}
    for state in islice(steps.states_before, MAX_STATES_SEEN):
        for action in steps.hidden:
            every = {name: Matching(name) for name in steps.probed.actions[action].params}
            with suppress(TlaError):
                for args in islice(steps.check.spec.arguments(state, action, every), MAX_ARGUMENTS_SEEN):
                    seen = steps.seen_in(state, action, args)
                    for outcome in steps.outcomes(seen, 1):
                        key = action, outcome
                        if not outcome.nth and (key not in found or seen[outcome.number][0] is False):
                            found[key] = seen
    return found
