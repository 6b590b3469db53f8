"""Membership of a column in a fixed set, which is all that a type invariant needs of a column.

``node[n] \\in [role : Roles, term : Nat]`` reads every field, and each combination of their values would be another way
in the tree. But all that it asks of a field is whether it is in one set, which is the same in every state. So a node of
a tree may ask that instead of a value: it has a branch for each value, and the branches of all values in the set lead
to one node. A value that is met later is looked up in the set, and nothing is evaluated again.
"""

from __future__ import annotations

from typing import Any

from lockstep.tla.values.constructed_sets import INT, NAT, STRING, FcnSet, PowerSet, RcdSet, SeqSet
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.lazy_set_algebra import BinaryUnion
from lockstep.tla.values.lazy_sets import member

#: The outcome for a value that cannot be compared with the elements of the set.
FAILS = 2


class Membership:
    """Whether the value of a column is in a fixed set.

    Attributes:
        key: the same for the same set and column.
        below: in a tree, the node below for each outcome.
    """

    __slots__ = ("_container", "_values", "below", "column", "key")

    def __init__(self, column: int, container: Value, values: list[Any]) -> None:
        self.column, self._container, self._values = column, container, values
        self.key = column, id(container)  # which is kept, so that no other has its id
        self.below: dict[int, int] = {}

    def outcome(self, number: int) -> int:
        """Return 1 or 0 for the value with a number, or FAILS."""
        try:
            return int(member(self._values[number], self._container))
        except TlaError:
            return FAILS


def is_fixed(container: Value) -> bool:
    """Return whether a set is listed, or made of such sets alone: then nothing in it depends on a state."""
    kind = type(container)
    if kind is frozenset or container is NAT or container is INT or container is STRING:
        return True
    if kind is PowerSet or kind is SeqSet:
        return is_fixed(container.base)
    return (kind is BinaryUnion or kind is FcnSet or kind is RcdSet) and all(map(is_fixed, container.made_of()))
