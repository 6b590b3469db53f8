"""What a set has that another has not, be they long sets that were made of one another, or plain ones."""

from __future__ import annotations

from lockstep.conformance.affected_elements import _new
from lockstep.tla.values.growing import GrowingSet
from lockstep.tla.values.kinds import Fcn, Value
from lockstep.tla.values.lazy.sets import member
from lockstep.tla.values.operators.sets import cup


def entry(index: int) -> Fcn:
    return Fcn({"index": index, "value": "v"})


MANY = frozenset(entry(index) for index in range(2000))


def grown(*more: int) -> list[GrowingSet]:
    """Return long sets, each with one more element than the one before."""
    member(entry(-1), MANY)  # so it is known that all are of one make
    sets: list[Value] = [MANY]
    for index in more:
        sets.append(cup(sets[-1], frozenset({entry(index)})))
    found = [each for each in sets if isinstance(each, GrowingSet)]
    assert len(found) == len(more)
    return found


def test_all_that_was_added_in_several_steps_is_new() -> None:
    first, *_, last = grown(5000, 6000, 7000, 8000)
    assert _new(last, first) == {entry(6000), entry(7000), entry(8000)}
    assert _new(last, MANY) == {entry(5000), entry(6000), entry(7000), entry(8000)}
    assert _new(last, frozenset()) == frozenset(last.items())


def test_an_older_set_has_nothing_new_and_a_set_made_otherwise_has_what_the_other_lacks() -> None:
    first, second = grown(5000, 6000)
    (other,) = grown(7000)
    branch = cup(first, frozenset({entry(9000)}))
    assert _new(first, second) == frozenset()
    assert _new(second, second) == frozenset()
    assert _new(other, second) == {entry(7000)}
    assert isinstance(branch, GrowingSet)
    assert _new(branch, second) == {entry(9000)}
    assert _new(frozenset({entry(1), entry(-5)}), second) == {entry(-5)}
