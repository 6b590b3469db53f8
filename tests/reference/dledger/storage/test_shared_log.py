"""Logs that share their entries behave like tuples."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raftref.dledger.messages import Entry, Term
from raftref.dledger.storage.shared_log import SharedLog

ENTRIES = st.none() | st.sampled_from([Entry(Term(1), value) for value in "abc"])
#: The log from which the next one is made, counted back, and how.
STEPS = st.lists(st.tuples(st.integers(0, 5), st.one_of(ENTRIES, st.integers(0, 6)), st.booleans()), max_size=12)


@given(st.lists(ENTRIES, max_size=4), st.integers(0, 3), STEPS, st.integers(-9, 9), st.integers(-9, 9))
def test_a_shared_log_is_the_tuple_of_its_entries_whatever_was_made_of_it(
    entries: list[Entry | None], first: int, steps: list[tuple[int, Entry | int | None, bool]], start: int, stop: int
) -> None:
    made = [(SharedLog(entries, first), (None,) * first + tuple(entries))]
    for back, what, begins in steps:
        log, items = made[-1 - back % len(made)]
        if not isinstance(what, int):
            made.append((log.appended(what), (*items, what)))
        elif begins:
            gone = min(what, len(items))
            made.append((log.without_first(gone), (None,) * gone + items[gone:]))
        else:
            made.append((log.prefix(what), items[:what]))
    for log, items in made:
        assert log == items
        assert items == log
        assert (tuple(log), len(log), hash(log)) == (items, len(items), hash(items))
        assert log[start:stop] == items[start:stop]
        assert [log[at] for at in range(-len(items), len(items))] == [*items, *items]
        assert all((log == other) == (items == others) for other, others in made)


def test_there_is_nothing_outside_a_log() -> None:
    for index in (1, -2):
        with pytest.raises(IndexError):
            SharedLog([None])[index]


def test_a_log_whose_first_entries_are_gone_takes_no_memory_for_them() -> None:
    log = SharedLog([Entry(Term(1), "a")], first=2**60)
    assert (len(log), log[2**60 - 1], log[-1]) == (2**60 + 1, None, Entry(Term(1), "a"))
    assert len(log[: 2**59]) == 2**59
