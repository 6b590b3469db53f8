"""All scripts, by the spec's names of the flaws."""

from __future__ import annotations

from tests.scripts.reproduce.dledger import (
    commit_past_end,
    late_truncate,
    prior_term_commit,
    stale_compare_index,
    truncated_tail,
)
from tests.scripts.reproduce.hashicorp import (
    conflict_at_snapshot,
    delete_then_store,
    heartbeat_race,
    reaped_install,
    snapshot_regress,
    stale_install,
    torn_vote,
    transfer_flag_left,
    verify_counts_nonvoters,
    verify_counts_old_acks,
)
from tests.scripts.reproduce.reproduction import Reproduction

_MODULES = (
    *(stale_compare_index, late_truncate, prior_term_commit, commit_past_end, truncated_tail),
    *(torn_vote, heartbeat_race, transfer_flag_left, conflict_at_snapshot),
    *(delete_then_store, stale_install, snapshot_regress, reaped_install),
    *(verify_counts_old_acks, verify_counts_nonvoters),
)

REPRODUCTIONS: dict[str, Reproduction] = {each.REPRODUCTION.flaw: each.REPRODUCTION for each in _MODULES}
