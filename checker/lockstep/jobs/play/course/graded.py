"""What the grading of an exercise comes to."""

from __future__ import annotations

from dataclasses import dataclass

#: What is told of an answer that is not there yet.
UNANSWERED = "not answered yet"


@dataclass(frozen=True, slots=True)
class Graded:
    """Whether an exercise is solved, and the lines that say why."""

    solved: bool
    lines: tuple[str, ...]
