"""Where the Python reference implements an action of the spec."""

from __future__ import annotations


def reference_location(action: str) -> str:
    """Return FILE:LINE of the reference's method for an action, or "" where it has none.

    The environment's own actions (loss, copies) have none.
    """
    # Only a finding names an action of the reference, which is slow to import.
    from raftref.hashicorp.hashicorp_raft import ACTIONS

    return ACTIONS[action].location if action in ACTIONS else ""
