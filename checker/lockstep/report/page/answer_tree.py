"""The answer that a page begins with, as a tree that JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.base.characters import beginning
from lockstep.report.page.shown_behaviour import DiagnosisRow, ShownDiagnosis, ShownStep

#: The lines of a finding with which the page begins; all of them stand at its step.
MAX_SHORT = 8


def shortened(lines: Sequence[str], longest: int) -> list[str]:
    """Return the first lines of a finding, each cut to a length, and how many there are more."""
    found = [beginning(line, longest) for line in lines[:MAX_SHORT]]
    if len(lines) > MAX_SHORT:
        found.append(f"… and {len(lines) - MAX_SHORT:,} more lines at its step")
    return found


def diagnosis_tree(diagnosis: ShownDiagnosis, steps: Sequence[ShownStep], longest: int) -> dict[str, Any]:
    """Return a diagnosis as a tree; steps that the page leaves out are not named."""
    numbers = {step.number for step in steps}
    has_both = diagnosis.decided in numbers and diagnosis.seen in numbers
    stories = {name: story for row in diagnosis.rows for name, story in row.stories.items()}
    return {
        "rows": [[row.head, beginning(row.text, longest), list(row.stories), _in_words(row)] for row in diagnosis.rows],
        "stories": [[name, story.file, story.text] for name, story in stories.items()],
        "seen": diagnosis.seen,
        "decided": diagnosis.decided if has_both else None,
        "deciding": diagnosis.deciding,
        "outside": sorted(diagnosis.outside & numbers),
    }


def _in_words(row: DiagnosisRow) -> list[str]:
    """Return what each flaw that a row names is, with its name where there are several."""
    known = {name: story.in_words for name, story in row.stories.items() if story.in_words}
    return list(known.values()) if len(row.stories) == 1 else [f"{name}: {text}" for name, text in known.items()]
