"""The described flaws as switches: each is as published, or repaired. The names are the spec's constants."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Variant(StrEnum):
    """Which of its two forms a rule has."""

    PUBLISHED = "published"
    REPAIRED = "repaired"


@dataclass(frozen=True, slots=True)
class Switches:
    """The form of every rule that has two; as published unless told otherwise.

    `prior_term_commit`: entries of earlier terms commit by counting watermarks (D1).
    `truncated_tail`: what TRUNCATE cuts can come back after a restart (D5).
    `push_term_check`: COMPARE and COMMIT are obeyed whatever their term and leader (D2).
    """

    prior_term_commit: Variant = Variant.PUBLISHED
    truncated_tail: Variant = Variant.PUBLISHED
    push_term_check: Variant = Variant.PUBLISHED

    def constants(self) -> dict[str, str]:
        """Return the switches as the spec's constants."""
        return {
            "PriorTermCommit": self.prior_term_commit.value,
            "TruncatedTail": self.truncated_tail.value,
            "PushTermCheck": self.push_term_check.value,
        }


PUBLISHED = Switches()
REPAIRED = Switches(Variant.REPAIRED, Variant.REPAIRED, Variant.REPAIRED)
