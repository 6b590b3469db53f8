"""Paths to states compare as TLC finds the states, and lead back to them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lockstep.pipeline.state_search.state_paths import parent, place_bytes, places

#: Places around those at which a place takes more bytes, and any.
PLACES = st.one_of(
    st.integers(0, 300), st.integers(0x80 - 2, 0x80 + 2), st.integers(0x4080 - 2, 0x4080 + 2), st.integers(0, 2**31)
)


def path(ways: list[int]) -> bytes:
    return b"".join(map(place_bytes, ways))


@given(st.lists(PLACES, min_size=1, max_size=6))
def test_a_path_has_the_places_that_it_was_made_of_and_its_parent_all_but_the_last(ways: list[int]) -> None:
    assert places(path(ways)) == ways
    assert parent(path(ways)) == path(ways[:-1])


@given(st.integers(1, 5).flatmap(lambda size: st.tuples(*[st.lists(PLACES, min_size=size, max_size=size)] * 2)))
def test_paths_of_one_length_compare_as_their_places_do(both: tuple[list[int], list[int]]) -> None:
    one, other = both
    assert (path(one) < path(other)) == (one < other)


@given(st.lists(PLACES, min_size=2, max_size=5), st.lists(PLACES, min_size=1, max_size=5), PLACES)
def test_a_state_comes_before_another_of_the_level_before_if_the_one_it_comes_from_does(
    one: list[int], other: list[int], last: int
) -> None:
    other = [*other, *one[len(other) :]][: len(one)]
    assert (path([*one, last]) < path(other)) == (one < other)
