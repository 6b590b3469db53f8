"""When a dispatcher of a node that runs sends something, and when it rests."""

from __future__ import annotations

from raftref.dledger.client_messages import ResponseCode
from raftref.dledger.runtime.settings import Settings
from raftref.dledger.state import Role
from tests.support.systems.running_dledger import DLedgerGroup, entry
from tests.support.systems.running_groups import ask


def times(run: DLedgerGroup, node: str, *actions: str, peer: str) -> list[tuple[str, float]]:
    """The steps of a node for a peer, with their times."""
    return [
        (step.action, step.at)
        for step in run.group.steps
        if step.node == node and step.action in actions and step.args.get("peer") == peer
    ]


def test_a_dispatcher_whose_call_has_failed_rests_before_it_compares_again() -> None:
    """Source: EntryDispatcher.doWork, DLedgerUtils.sleep(500) in its catch."""
    run = DLedgerGroup(1)
    first = run.elect()
    assert ask(run.group, first, entry(1)).code == ResponseCode.SUCCESS
    run.group.kill(first)
    cut_off, other = (node for node in run.group.nodes if node != first)
    while run.driver(other).server.member_state.role is not Role.LEADER:
        run.group.run_until(run.group.now + 0.05)
        if run.driver(cut_off).server.is_leader:
            cut_off, other = other, cut_off
    run.group.kill(cut_off)
    run.group.run_until(run.group.now + 5.5)
    taken = times(run, other, "PushTimeOut", "DoCompare", peer=cut_off) + times(
        run, other, "PushTimeOut", "DoCompare", peer=first
    )
    rests = [
        later - at
        for (action, at), (next_action, later) in zip(taken, taken[1:], strict=False)
        if (action, next_action) == ("PushTimeOut", "DoCompare")
    ]
    assert rests
    assert all(abs(rest - Settings().dispatcher_sleep) < 1e-6 for rest in rests)
