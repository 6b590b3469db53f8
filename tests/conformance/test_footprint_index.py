"""A change meets the footprints with a path that lies within it, or in which it lies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lockstep.conformance.affected_elements import Footprints, meet
from lockstep.tla.values.kinds import ModelValue

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
    compared = [number for number, paths in enumerate(footprints) if any(meet(path, change) for path in paths)]
    assert Footprints(footprints).met_by(change) == compared


def test_a_change_meets_what_lies_below_it_above_it_and_where_any_key_is_read() -> None:
    below, above, any_node, beside = ("node", "n1", "log"), ("node",), ("node", None, "log"), ("node", "n2")
    footprints = Footprints([[below], [above], [any_node], [beside], [beside, below]])
    assert footprints.met_by(("node", "n1")) == [0, 1, 2, 4]
    assert footprints.met_by(("network",)) == []
