"""The path to a state, as bytes: the place of its initial state, and of each step among the successors of one state.

Paths of the same length compare, byte by byte, in the order in which TLC with one worker finds their states: by the
first step in which they differ. So of equal states the one with the least path is the one that TLC keeps, and the path
of a violation is a counterexample that has to be looked up nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator

#: Places below ONE take a byte, and below ONE + TWO two bytes; others take five.
_ONE, _TWO = 0x80, 0x4000
_TWO_BYTES, _FIVE_BYTES = 0x80, 0xC0


def place_bytes(place: int) -> bytes:
    """Return a place as bytes, which begin those of no other place; smaller places have smaller bytes."""
    if place < _ONE:
        return bytes((place,))
    if (more := place - _ONE) < _TWO:
        return bytes((_TWO_BYTES | more >> 8, more & 0xFF))
    return bytes((_FIVE_BYTES,)) + (more - _TWO).to_bytes(4, "big")


def places(path: bytes) -> list[int]:
    """Return the places on a path: of the initial state, then of each step."""
    return [place for place, _ in _places(path)]


def parent(path: bytes) -> bytes:
    """Return the path to the state before the last step; empty for an initial state."""
    return path[: [start for _, start in _places(path)][-1]]


def _places(path: bytes) -> Iterator[tuple[int, int]]:
    """Yield each place on a path, and where its bytes begin."""
    at = 0
    while at < len(path):
        first, start = path[at], at
        if first < _TWO_BYTES:
            place, at = first, at + 1
        elif first < _FIVE_BYTES:
            place, at = _ONE + ((first & 0x3F) << 8 | path[at + 1]), at + 2
        else:
            place, at = _ONE + _TWO + int.from_bytes(path[at + 1 : at + 5], "big"), at + 5
        yield place, start
