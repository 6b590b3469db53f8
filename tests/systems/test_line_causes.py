"""Whether a line of a trace is the cause: what the spec says after it may have come to the same without it."""

from __future__ import annotations

from pathlib import Path

from tests.support.systems.own_diagnoses import diagnosed, first

SETTING = r"""
VARIABLES role, t
Init == role = "A" /\ t = 0
Look == t' = t + 1 /\ UNCHANGED role
Turn == t' = t + 1 /\ role' = "B"
Next == Look \/ Turn
"""


def test_a_line_is_not_wrong_alone_where_the_next_shows_the_same(tmp_path: Path) -> None:
    """A later step of the spec comes to the same, so that its agreement says nothing of the line."""
    rest = [("Look", {"t": t, "role": "B"}) for t in range(3, 10)]
    found = diagnosed(tmp_path, SETTING, [("Look", {"t": 1, "role": "B"}), ("Turn", {"t": 2, "role": "B"}), *rest])
    assert [(cause.kind, cause.what) for cause in found.causes] == [("rule", "Look")]


def test_a_line_is_wrong_alone_where_the_next_shows_something_else(tmp_path: Path) -> None:
    rest = [("Turn", {"t": 3, "role": "B"}), *(("Look", {"t": t, "role": "B"}) for t in range(4, 10))]
    steps = [("Look", {"t": 1, "role": "B"}), ("Look", {"t": 2, "role": "A"}), *rest]
    assert first(tmp_path, SETTING, steps).kind == "value"


TURNING = r"""
VARIABLE role
Init == role = "A"
Look == UNCHANGED role
Turn == role' = "B"
Next == Look \/ Turn
"""


def test_a_line_is_not_too_much_where_the_next_shows_what_it_changed(tmp_path: Path) -> None:
    steps = [("Look", {"role": "B"}), ("Turn", {"role": "B"}), *[("Look", {"role": "B"})] * 7]
    assert [cause.kind for cause in diagnosed(tmp_path, TURNING, steps).causes] == ["step"]


def test_what_another_node_shows_next_says_nothing_of_a_line(tmp_path: Path) -> None:
    rest = [("Look", {"t": t, "role": "B"}) for t in range(3, 10)]
    steps = [("Look", {"t": 1, "role": "B"}), ("Turn", {"t": 2, "role": "B"}), *rest]
    rest_of_n1 = ["n1", *["n2"] * 8]
    found = diagnosed(tmp_path, SETTING, steps, rest_of_n1)
    assert [cause.kind for cause in found.causes] == ["value"]


def test_what_a_line_shows_may_be_shown_again_by_a_later_one_than_the_next(tmp_path: Path) -> None:
    rest = [("Look", {"t": t, "role": "B"}) for t in range(4, 10)]
    steps = [("Look", {"t": 1, "role": "B"}), ("Turn", {"t": 2}), ("Look", {"t": 3, "role": "B"}), *rest]
    assert [cause.kind for cause in diagnosed(tmp_path, SETTING, steps).causes] == ["rule"]


def test_a_line_is_too_much_where_it_shows_what_was_before(tmp_path: Path) -> None:
    """The next shows the same, but so did the one before: nothing has changed."""
    steps = [("Look", {"role": "A"}), ("Turn", {"role": "A"}), *[("Look", {"role": "A"})] * 7]
    assert "event" in [cause.kind for cause in diagnosed(tmp_path, TURNING, steps).causes]
