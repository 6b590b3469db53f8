"""Texts are cut between characters, and control characters are shown as escapes."""

from __future__ import annotations

import pytest

from lockstep.base.characters import beginning, counted, visible
from lockstep.tla.values.kinds import Fcn, format_beginning, format_value

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("ab\U0001f600\U0001f600", 3, "ab…"),
        ("abe\u0301x", 4, "ab…"),
        (f"a{FAMILY}{FAMILY}", 4, "a…"),
        ("ab\U0001f44d\U0001f3fdcd", 4, "ab…"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 3, "\U0001f1e9\U0001f1ea…"),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7x", 4, "\U0001f1e9\U0001f1ea…"),
    ],
)
def test_a_text_is_cut_between_characters(text: str, most: int, cut: str) -> None:
    assert beginning(text, most) == cut


def test_a_character_of_very_many_marks_is_cut_all_the_same() -> None:
    assert beginning("e" + "\u0301" * 50, 10) == "e" + "\u0301" * 8 + "…"


def test_controls_and_what_orders_text_are_escapes_and_letters_stay() -> None:
    assert visible("a\u2028\u2029\u202e\x00\x1b[1m\r\x07\ud83d") == (
        "a\\u2028\\u2029\\u202e\\u0000\\u001b[1m\\u000d\\u0007\\ud83d"
    )
    plain = f"{FAMILY} é ß 漢字 שלום \t\n∪ ⟨1⟩"
    assert visible(plain) == plain


def test_the_beginning_of_a_value_is_that_of_the_whole_text() -> None:
    values = [
        (1, "a", frozenset({3, 1, 2})),
        Fcn({"a": 1, "b": (True, ())}),
        Fcn({(1, 2): frozenset(), (2, 1): Fcn({"x": -1})}),
        tuple(range(500)),
    ]
    for value in values:
        whole = format_value(value)
        assert format_beginning(value, len(whole)) == whole
        for most in (2, 5, 12):
            assert format_beginning(value, most) == whole[: most - 1] + "…"


def test_a_noun_fits_its_number() -> None:
    assert [counted(count, "event") for count in (0, 1, 2_000)] == ["0 events", "1 event", "2,000 events"]
    assert [counted(count, "property", "properties") for count in (1, 2)] == ["1 property", "2 properties"]
