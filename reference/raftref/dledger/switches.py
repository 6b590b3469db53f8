"""The described flaws as switches: each is as published, or repaired. The names are the spec's constants."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum


class Variant(StrEnum):
    """Which of its two forms a rule has."""

    PUBLISHED = "published"
    REPAIRED = "repaired"


@dataclass(frozen=True, slots=True)
class Switches:
    """The form of every rule that has two; as published in 0.2.7 unless told otherwise.

    `prior_term_commit`: entries of earlier terms commit by counting watermarks (D1).
    `truncated_tail`: what TRUNCATE cuts can come back after a restart (D5).
    `push_term_check`: COMPARE and COMMIT are obeyed whatever their term and leader (D2).
    `late_truncate`: a TRUNCATE cuts what its leader appended behind it (D3).
    `commit_past_end`: a TRUNCATE cuts below the committed index (D6).
    `async_flush`: an entry is acknowledged before it is on the disk (D7).
    `vote_file`: term and vote are nowhere while their file is replaced (D8).
    `ledger_end_term`: votes look at the term in which the last entry was stored (D10), until 0.2.0 mended it.
    """

    prior_term_commit: Variant = Variant.PUBLISHED
    truncated_tail: Variant = Variant.PUBLISHED
    push_term_check: Variant = Variant.PUBLISHED
    late_truncate: Variant = Variant.PUBLISHED
    commit_past_end: Variant = Variant.PUBLISHED
    async_flush: Variant = Variant.PUBLISHED
    vote_file: Variant = Variant.PUBLISHED
    ledger_end_term: Variant = Variant.REPAIRED

    def constants(self) -> dict[str, str]:
        """Return the switches as the spec's constants."""
        return {name: getattr(self, field).value for name, field in SWITCHES.items()}


#: The field of each switch by the spec's name for it: `prior_term_commit` is `PriorTermCommit`.
SWITCHES: dict[str, str] = {
    "".join(part.capitalize() for part in each.name.split("_")): each.name for each in fields(Switches)
}

PUBLISHED = Switches()
REPAIRED = Switches(**dict.fromkeys(SWITCHES.values(), Variant.REPAIRED))
