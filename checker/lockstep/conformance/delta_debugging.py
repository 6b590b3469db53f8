"""The 1-minimal run on the spec: no step, and no group of steps that have something in common, can go.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002): chunks of steps
first, half of all, then smaller ones, then single steps; from the last to the first, since a candidate has all before
its chunk in common with the best run. Then whatever is of one node, of one term, of one value: the steps that share a
word or number in a field, of their arguments, of the messages that they send, or of what the node shows at a glance
after them. Last the elements of sequences that are arguments, such as the entries of a batch. Whatever succeeds begins
the single steps anew; and once nothing does, all begins anew with the chunks, until nothing changes: what was minimised
stays as it is if it is minimised again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from lockstep.conformance.rebinding import RecordedStep
from lockstep.conformance.run_search import BudgetSpentError, CandidateRun, RunSearch
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn, ModelValue, Value, sort_key

#: Returns, by the states before and after a step, what the node shows afterwards, and the messages that it sent.
StepObservation: TypeAlias = Callable[[State, State, RecordedStep], tuple[Value, Collection[Value]]]


def minimise_steps(search: RunSearch[RecordedStep], observe: StepObservation) -> bool:
    """Make the best run of a search 1-minimal; return False where the time was over before.

    Arguments: `observe`, what is observed of a step.
    """
    try:
        before = None
        while search.best is not before:  # two steps may be able to go together once others have gone
            before = search.best
            size = len(before.steps) // 2
            while size > 1:
                _leave_out_chunks(search, size)
                size = min(size, len(search.best.steps)) // 2
            _leave_out_singles(search, observe)
    except BudgetSpentError:
        return False
    return True


def _leave_out_singles(search: RunSearch[RecordedStep], observe: StepObservation) -> None:
    """Leave out single steps, groups, and elements of arguments, until none can go."""
    while True:
        while _leave_out_chunks(search, 1):
            pass
        if not _leave_out_group(search, observe) and not _shorten_argument(search):
            return


def _leave_out_chunks(search: RunSearch[RecordedStep], size: int) -> bool:
    """Try to leave out `size` steps at once, from the last to the first; return whether any could go."""
    before = len(search.best.steps)
    end = before
    while end > 0:
        search.without(range(max(end - size, 0), end))
        end = min(end - size, len(search.best.steps))
    return len(search.best.steps) < before


def _leave_out_group(search: RunSearch[RecordedStep], observe: StepObservation) -> bool:
    """Leave out the first group of steps that can go; single steps were tried."""
    return any(search.without(group) for group in groups(search.best, observe) if len(group) > 1)


def groups(run: CandidateRun[RecordedStep], observe: StepObservation) -> Iterator[frozenset[int]]:
    """Yield the places of the steps of each node, then of those that share a word or number in a field, each once."""
    by_node: dict[str, list[int]] = {}
    shared: dict[tuple[object, ...], set[int]] = {}
    for place, step in enumerate(run.steps):
        by_node.setdefault(step.node, []).append(place)
        shown, sent = observe(run.states[place], run.states[place + 1], step)
        plain = _plain_parts(shown.d if isinstance(shown, Fcn) else {})
        for name, value in (*_leaves("", Fcn(dict(step.args))), *_leaves("", tuple(sent)), *plain):
            shared.setdefault((name, sort_key(value)), set()).add(place)
    found = dict.fromkeys(frozenset(by_node[node]) for node in sorted(by_node))
    found |= dict.fromkeys(frozenset(shared[key]) for key in sorted(shared))
    yield from found


def _plain_parts(record: Mapping[Value, Value]) -> Iterator[tuple[str, Value]]:
    yield from ((str(name), value) for name, value in record.items() if isinstance(value, int | str | ModelValue))


def _leaves(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    """Yield the words and numbers in a value, each with the name of the field that it is in."""
    if isinstance(value, Fcn):
        for key, part in value.d.items():
            yield from _leaves(key if isinstance(key, str) else name, part)
    elif isinstance(value, tuple | frozenset):
        for part in value:
            yield from _leaves(name, part)
    elif isinstance(value, int | str | ModelValue):
        yield name, value


def _shorten_argument(search: RunSearch[RecordedStep]) -> bool:
    """Leave out an element of a sequence that is an argument, where the step is taken with just that."""
    for place, step in enumerate(search.best.steps):
        for shorter in _shorter(step):
            found = search.candidate(place, [shorter, *search.best.steps[place + 1 :]])
            if found is None or place >= len(found.steps) or found.steps[place].args != shorter.args:
                continue
            if _size(found) < _size(search.best):
                search.best = found
                return True
    return False


def _shorter(step: RecordedStep) -> Iterator[RecordedStep]:
    for name, value in step.args.items():
        if isinstance(value, tuple):
            for at in range(len(value) if len(value) > 1 else 0):
                yield replace(step, args={**step.args, name: value[:at] + value[at + 1 :]})


def _size(run: CandidateRun[RecordedStep]) -> tuple[int, int]:
    """Return a measure that falls whenever a better run is found, so that the search ends."""
    elements = sum(len(value) for step in run.steps for value in step.args.values() if isinstance(value, tuple))
    return len(run.steps), elements
