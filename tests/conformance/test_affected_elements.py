"""The footprints that a change overlaps, and the elements that a set has and another lacks, however they were made."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lockstep.conformance.affected_elements import FootprintIndex, _new, overlap
from lockstep.tla.values.growing_values import GrowingSet
from lockstep.tla.values.kinds import Fcn, ModelValue, Value
from lockstep.tla.values.lazy_sets import member
from lockstep.tla.values.set_operators import cup


def entry(index: int) -> Fcn:
    return Fcn({"index": index, "value": "v"})


LONG = frozenset(entry(index) for index in range(2000))


def grown(*more: int) -> list[GrowingSet]:
    """Return long sets, each with one more element than the one before."""
    member(entry(-1), LONG)  # so it is known that all are of one make
    sets: list[Value] = [LONG]
    for index in more:
        sets.append(cup(sets[-1], frozenset({entry(index)})))
    found = [each for each in sets if isinstance(each, GrowingSet)]
    assert len(found) == len(more)
    return found


def test_all_that_was_added_in_several_steps_is_new() -> None:
    first, *_, last = grown(5000, 6000, 7000, 8000)
    assert _new(last, first) == {entry(6000), entry(7000), entry(8000)}
    assert _new(last, LONG) == {entry(5000), entry(6000), entry(7000), entry(8000)}
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


# ---- Footprints ----

NODES = (ModelValue("n1"), ModelValue("n2"))
CHANGES = st.tuples(st.sampled_from(["node", "network"])).flatmap(
    lambda variable: st.lists(st.sampled_from([*NODES, "log", 1]), max_size=3).map(lambda keys: (*variable, *keys))
)
PATHS = st.tuples(CHANGES, st.sets(st.integers(1, 3))).map(
    lambda drawn: tuple(None if number in drawn[1] else key for number, key in enumerate(drawn[0]))
)


@given(st.lists(st.lists(PATHS, max_size=3), max_size=8), CHANGES)
def test_the_footprints_that_are_looked_up_are_those_that_comparing_every_path_finds(
    footprints: list[list[tuple[object, ...]]], change: tuple[object, ...]
) -> None:
    compared = [number for number, paths in enumerate(footprints) if any(overlap(path, change) for path in paths)]
    assert FootprintIndex(footprints).affected_by(change) == compared


def test_a_change_meets_what_lies_below_it_above_it_and_where_any_key_is_read() -> None:
    below, above, any_node, beside = ("node", "n1", "log"), ("node",), ("node", None, "log"), ("node", "n2")
    footprints = FootprintIndex([[below], [above], [any_node], [beside], [beside, below]])
    assert footprints.affected_by(("node", "n1")) == [0, 1, 2, 4]
    assert footprints.affected_by(("network",)) == []
