"""What a node can be told to be: its flaws as switches, and its grain. The names are the spec's constants."""

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
    `apply_unclamped`: the state machine is told an index that the store did not commit (D13).
    `ack_by_quorum_index`: clients are answered by the quorum index, committed or not (D15).
    `stale_compare_index`: a new leadership compares from where an old one stopped.
    `repeated_push`: an APPEND beyond a gap stays when it was answered, and is in the way of the same one (D16).
    `high_term_laggard`: a leader with a quorum stays when a member tells it of a higher term (D17).
    `ledger_end_term`: votes look at the term in which the last entry was stored (D10), until 0.2.0 mended it.
    """

    prior_term_commit: Variant = Variant.PUBLISHED
    truncated_tail: Variant = Variant.PUBLISHED
    push_term_check: Variant = Variant.PUBLISHED
    late_truncate: Variant = Variant.PUBLISHED
    commit_past_end: Variant = Variant.PUBLISHED
    async_flush: Variant = Variant.PUBLISHED
    vote_file: Variant = Variant.PUBLISHED
    apply_unclamped: Variant = Variant.PUBLISHED
    ack_by_quorum_index: Variant = Variant.PUBLISHED
    stale_compare_index: Variant = Variant.PUBLISHED
    repeated_push: Variant = Variant.PUBLISHED
    high_term_laggard: Variant = Variant.PUBLISHED
    ledger_end_term: Variant = Variant.REPAIRED

    def constants(self) -> dict[str, str]:
        """Return the switches as the spec's constants."""
        return {name: getattr(self, field).value for name, field in SWITCHES.items()}


@dataclass(frozen=True, slots=True)
class Grain:
    """How fine the steps are, and which features are there at all; as coarse as can be unless told otherwise.

    `atomic_receipt`: a request is handled when it is received; it does not wait in the follower's queues.
    `atomic_quorum_check`: a pass of the quorum checker reads and acts in one step.
    `pending_map`: a dispatcher knows what it has pushed and has no answer to.
    `batches`: a client may append, and an APPEND push, several entries at once; needs `pending_map`.
    `not_follower`: who does not follow refuses COMPARE, TRUNCATE and COMMIT, as from 0.3.0 on; until then they wait.
    `clients`: clients wait for the entries they appended, and are answered.
    `applies`: a state machine is told what is committed, and answers the clients.
    `vote_messages`: votes, heartbeats and transfers of leadership are messages.
    """

    atomic_receipt: bool = True
    atomic_quorum_check: bool = True
    pending_map: bool = False
    batches: bool = False
    not_follower: bool = False
    clients: bool = False
    applies: bool = False
    vote_messages: bool = False

    def constants(self) -> dict[str, bool]:
        """Return the grain as the spec's constants."""
        return {name: getattr(self, field) for name, field in GRAINS.items()}


def _spec_names(owner: type[Switches] | type[Grain]) -> dict[str, str]:
    return {"".join(part.capitalize() for part in each.name.split("_")): each.name for each in fields(owner)}


#: The field of each switch by the spec's name for it: `prior_term_commit` is `PriorTermCommit`.
SWITCHES: dict[str, str] = _spec_names(Switches)

#: The same for the grain.
GRAINS: dict[str, str] = _spec_names(Grain)

COARSE = Grain()
VOTES = Grain(vote_messages=True)
#: Every queue, every future, every pass in its parts; elections are as coarse as can be.
FINE = Grain(atomic_receipt=False, atomic_quorum_check=False, pending_map=True, clients=True)

PUBLISHED = Switches()
REPAIRED = Switches(**dict.fromkeys(SWITCHES.values(), Variant.REPAIRED))
