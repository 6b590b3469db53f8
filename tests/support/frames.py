"""Frames of the real systems: pairs of a request and its answer, recorded between real nodes.

A pair is three lines: a comment with its name, the request after `>`, and the answer after `<`, in hexadecimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    """A request and its answer."""

    request: bytes
    answer: bytes


def recorded_pairs(file: Path) -> dict[str, Pair]:
    """The pairs of a file by their names."""
    lines = file.read_text(encoding="ascii").splitlines()
    assert len(lines) % 3 == 0
    pairs = {}
    for name, request, answer in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        assert (name[:2], request[:2], answer[:2]) == ("# ", "> ", "< ")
        pairs[name[2:]] = Pair(bytes.fromhex(request[2:]), bytes.fromhex(answer[2:]))
    assert len(pairs) == len(lines) // 3
    return pairs
