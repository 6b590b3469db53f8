"""Records by the value of a field, for sets that grow."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.tla.values.kinds import Fcn, ModelValue, Value


class FieldIndex:
    """Records by the value of one field, as long as all of them have it, of one kind."""

    __slots__ = ("_elements", "_field", "_kind", "count")

    def __init__(self, field: str) -> None:
        """Begin with no record."""
        self._field, self.count = field, 0
        self._elements: dict[Value, list[Value]] = {}
        self._kind: type | None = None

    def enter(self, more: Iterable[Value]) -> None:
        """Take more records."""
        for element in more:
            self.count += 1
            value = element.d.get(self._field) if type(element) is Fcn else None
            kind = type(value) if type(value) is not ModelValue or not value.kind else None
            if self.count == 1:
                self._kind = kind if kind in _KINDS else None
            elif kind is not self._kind:
                self._kind = None
            if self._kind is not None:
                self._elements.setdefault(value, []).append(element)

    def having(self, value: Value) -> list[Value] | None:
        """List the records with a value in the field; None where only comparing each of them with it decides."""
        return self._elements.get(value, []) if type(value) is self._kind else None


#: The kinds of values that Python finds in a table exactly where TLA+ holds them equal, among values of one kind.
_KINDS = (int, str, ModelValue)
