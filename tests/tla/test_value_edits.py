"""The differences of two states: applied to the first they make the second, and none repeats what both have."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lockstep.tla.value_edits import EditKind, ValueEdit, value_edits
from lockstep.tla.values.equality import compare
from lockstep.tla.values.growing_functions import GrowingFcn
from lockstep.tla.values.growing_values import GrowingSeq
from lockstep.tla.values.kinds import Fcn, Value, as_fcn, format_value


def edits(old: Value, new: Value) -> list[ValueEdit]:
    return list(value_edits({"v": old}, {"v": new}))


def texts(old: Value, new: Value) -> list[tuple[Any, ...]]:
    return [(each.kind.value, *each.path[1:], each.old, each.new, each.run) for each in edits(old, new)]


def record(**fields: Value) -> Value:
    return as_fcn(fields)


def applied(value: Value, path: tuple[Value, ...], change: Any) -> Value:
    """Return a value in which the part at a path is changed."""
    if not path:
        return change(value)
    table = dict(value.d if isinstance(value, Fcn) else enumerate(value, start=1))
    table[path[0]] = applied(table[path[0]], path[1:], change)
    return as_fcn(table)


def rebuilt(old: Value, found: list[ValueEdit]) -> Value:
    """Apply differences: in each function or sequence all that is removed goes before anything is added."""
    for edit in found:
        path = edit.path[1:]
        if edit.kind is EditKind.CHANGED:
            old = applied(old, path, lambda _, new=edit.new: new)
        elif edit.kind is EditKind.ELEMENT_ADDED:
            old = applied(old, path, lambda has, new=edit.new: has | {new})
        elif edit.kind is EditKind.ELEMENT_REMOVED:
            old = applied(old, path, lambda has, gone=edit.old: has - {gone})
    ends = [each for each in found if each.kind in (EditKind.REMOVED, EditKind.ADDED)]
    for above in dict.fromkeys(each.path[1:-1] for each in ends):
        gone = [each for each in ends if each.path[1:-1] == above and each.kind is EditKind.REMOVED]
        come = {each.path[-1]: each.new for each in ends if each.path[1:-1] == above and each.kind is EditKind.ADDED}

        def change(value: Value, gone: list[ValueEdit] = gone, come: dict[Value, Value] = come) -> Value:
            removed = {each.path[-1] + at if at else each.path[-1] for each in gone for at in range(each.run)}
            if isinstance(value, Fcn):
                return as_fcn({**{key: each for key, each in value.d.items() if key not in removed}, **come})
            kept = [each for index, each in enumerate(value, start=1) if index not in removed]
            if not all(isinstance(key, int) for key in come):
                return as_fcn({**dict(enumerate(kept, start=1)), **come})
            for index in sorted(come):
                kept.insert(index - 1, come[index])
            return tuple(kept)

        old = applied(old, above, change)
    return old


def made_up(chance: random.Random, depth: int) -> Value:
    """Return a value whose parts are from few, so that two have much in common."""
    kind = chance.choice(["atom", "sequence", "set", "record", "table"] if depth else ["atom"])
    parts = [made_up(chance, depth - 1) for _ in range(chance.randrange(5))] if kind in ("sequence", "table") else []
    if kind == "sequence":
        return tuple(parts)
    if kind == "set":
        return frozenset(chance.sample(range(5), chance.randrange(5)))
    if kind == "record":
        return as_fcn({name: made_up(chance, depth - 1) for name in ("term", "log", "role")})
    if kind == "table":
        return as_fcn(dict(zip(chance.sample(("n1", "n2", "n3", "n4"), min(4, len(parts))), parts, strict=False)))
    return chance.randrange(3)


@pytest.mark.parametrize("seed", range(300))
def test_the_differences_lead_from_one_value_to_the_other(seed: int) -> None:
    chance = random.Random(seed)
    old, new = made_up(chance, 3), made_up(chance, 3)
    found = edits(old, new)
    assert format_value(rebuilt(old, found)) == format_value(new)
    assert (found == []) is (compare(old, new) is True)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ((1, 2), (1, 2, 3), [("added", 3, None, 3, 1)]),
        ((1, 2, 3), (1, 2), [("removed", 3, 3, None, 1)]),
        ((1, 2, 3), (2, 3), [("removed", 1, 1, None, 1)]),
        ((1, 2, 3, 4, 5), (1, 5), [("removed", 2, None, None, 3)]),
        ((1, 2, 3), (1, 9), [("removed", 2, 2, None, 1), ("removed", 3, 3, None, 1), ("added", 2, None, 9, 1)]),
        ((1, 1), (1, 1, 1), [("added", 3, None, 1, 1)]),
        ((1, 2), (1, 5), [("changed", 2, 2, 5, 1)]),
        (frozenset({"n1"}), frozenset({"n1", "n2"}), [("element added", None, "n2", 1)]),
        (frozenset({"n1"}), frozenset(), [("element removed", "n1", None, 1)]),
        (record(a=1, b=2), record(a=1, b=3), [("changed", "b", 2, 3, 1)]),
        (record(a=1), record(a=1, b=3), [("added", "b", None, 3, 1)]),
        ((), record(a=1), [("added", "a", None, 1, 1)]),
        ((7, 8), as_fcn({2: 8}), [("removed", 1, 7, None, 1)]),
        (1, True, [("changed", 1, True, 1)]),
        (frozenset({1}), frozenset({True}), [("changed", frozenset({1}), frozenset({True}), 1)]),
        (frozenset(), (), [("changed", frozenset(), (), 1)]),
    ],
)
def test_only_what_differs_is_named(old: Value, new: Value, wanted: list[tuple[Any, ...]]) -> None:
    assert texts(old, new) == wanted


def test_what_long_values_share_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = GrowingSeq(list(range(3_000)), 3_000)
    longer = begin.plus((7, 8))
    assert texts(begin, (*range(3_000), 5)) == [("added", 3_001, None, 5, 1)]
    monkeypatch.delattr("lockstep.tla.value_edits.forced")
    assert texts(begin, longer) == [("added", 3_001, None, 7, 1), ("added", 3_002, None, 8, 1)]
    assert texts(longer, begin) == [("removed", 3_001, 7, None, 1), ("removed", 3_002, 8, None, 1)]
    cut = GrowingFcn(longer, 1, 11)
    assert texts(longer, cut) == [("removed", 1, None, None, 10)]
    assert texts(GrowingFcn(begin, 1, 2), cut) == [
        ("removed", 2, None, None, 9),
        ("added", 3_001, None, 7, 1),
        ("added", 3_002, None, 8, 1),
    ]


def test_a_message_of_a_bag_that_changes_under_way_is_changed_and_not_another() -> None:
    sent, ignored = (record(kind="request", term=3, awaited=flag) for flag in (True, False))
    other = record(kind="response", term=4, awaited=False)
    assert texts(as_fcn({sent: 1}), as_fcn({ignored: 1})) == [("changed", sent, "awaited", True, False, 1)]
    kinds = [each.kind for each in edits(as_fcn({sent: 1}), as_fcn({other: 1}))]
    assert kinds == [EditKind.REMOVED, EditKind.ADDED]
    kinds = [each.kind for each in edits(as_fcn({sent: 1}), as_fcn({ignored: 2}))]
    assert kinds == [EditKind.REMOVED, EditKind.ADDED]
