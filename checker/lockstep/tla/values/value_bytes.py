"""Values as bytes, the same in every process: equal values have equal bytes, and no others do.

Python's own hashes differ from process to process, and Python holds 1 and True equal; here neither matters. The bytes
are MessagePack, with extension types for what it lacks. The parts of a set come in the order of their bytes, and so
do the arguments of a function.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, as_fcn, forced, format_value

#: The codes of the extension types.
_MODEL_VALUE, _SET, _FUNCTION, _BIG = 1, 2, 3, 4

#: The integers that MessagePack has.
_MIN_INT, _MAX_INT = -(2**63), 2**64 - 1

#: Parts with an encoding of at most this length are decoded once: logs have most of their entries in common.
_MAX_SHARED = 512

_encode = msgspec.msgpack.Encoder().encode
_Ext, _Raw = msgspec.msgpack.Ext, msgspec.Raw


def encoded(value: Value) -> bytes:
    """Return the bytes of a value; raises TlaError where something in it cannot be listed."""
    return _BytesWriter().write(value)


class _BytesWriter:
    """Writes one value, each function in it once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Fcn, bytes]] = {}

    def write(self, value: Value) -> bytes:
        kind = type(value)
        if kind is bool or kind is str:
            return _encode(value)
        if kind is int:
            return _encode(value if _MIN_INT <= value <= _MAX_INT else _Ext(_BIG, str(value).encode()))
        if kind is ModelValue:
            return _encode(_Ext(_MODEL_VALUE, value.name.encode()))
        if kind is tuple:
            return _encode([_Raw(self.write(each)) for each in value])
        if kind is frozenset:
            return _encode(_Ext(_SET, _encode([_Raw(each) for each in sorted(map(self.write, value))])))
        if kind is Fcn:
            return self._function(value)
        listed = forced(value)
        if listed is value:
            raise TlaError(f"{format_value(value)} cannot be written down")
        return self.write(listed)

    def _function(self, value: Fcn) -> bytes:
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        pairs = sorted((self.write(argument), self.write(part)) for argument, part in value.d.items())
        found = _encode(_Ext(_FUNCTION, _encode([_Raw(each) for pair in pairs for each in pair])))
        self._known[id(value)] = value, found
        return found


def decoded(text: bytes) -> Value:
    """Return the value whose bytes these are; raises ValueError where they are no value's."""
    try:
        return _BytesReader().read(text)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError, RecursionError) as error:
        raise ValueError(f"not the bytes of a value: {error}") from error


class _BytesReader:
    """Reads one value, with one object for equal short parts."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], Value] = {}
        self._decode = msgspec.msgpack.Decoder(ext_hook=self._extension).decode

    def read(self, text: bytes) -> Value:
        return self._plain(self._decode(text))

    def _plain(self, tree: Any) -> Value:
        """Make sequences of the lists of what was decoded; extensions are values already."""
        kind = type(tree)
        if kind is list:
            return tuple([self._plain(each) for each in tree])
        if kind in (dict, bytes, float) or tree is None:
            raise ValueError(f"not the bytes of a value: they have {kind.__name__}")
        return tree

    def _extension(self, code: int, data: memoryview) -> Value:
        text = bytes(data)
        known = self._known.get((code, text))
        if known is not None:
            return known
        value = self._made(code, text)
        if len(text) <= _MAX_SHARED:
            self._known[code, text] = value
        return value

    def _made(self, code: int, text: bytes) -> Value:
        match code:
            case 1:
                return ModelValue(text.decode())
            case 2:
                return frozenset(self.read(text))
            case 3:
                parts = self.read(text)
                return as_fcn(dict(zip(parts[::2], parts[1::2], strict=True)))
            case 4:
                return int(text)
        raise ValueError(f"not the bytes of a value: no extension has the code {code}")
