"""The time that the searches for causes have together, and what they did not try."""

from __future__ import annotations

from dataclasses import dataclass, field

from lockstep.base.deadline import Deadline


@dataclass(slots=True)
class SearchLimit:
    """The limit of a search: a deadline; `notes` say what was not tried."""

    deadline: Deadline
    notes: list[str] = field(default_factory=list)

    def has_time(self, what: str) -> bool:
        """Return whether there is time left; note once that something was not tried where there is none."""
        if not self.deadline.is_over():
            return True
        self.note_once(f"the time was over before {what}")
        return False

    def note_once(self, text: str) -> None:
        """Note that something was not tried, unless that is noted already."""
        if text not in self.notes:
            self.notes.append(text)
