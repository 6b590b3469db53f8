"""Groups of nodes of the reference and of the real DLedger, which Maven fetches: each leads, and follows, the other.

Sources: DLedgerServer, DLedgerEntryPusher, DLedgerLeaderElector of DLedger 0.2.7 and 0.3.2, unmodified.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lockstep.cli.client_command import command as client_command
from tests.support.programs.java_programs import NO_MAVEN
from tests.support.programs.processes import wait_until
from tests.support.systems.mixed_dledger import (
    GROUP,
    JAVA,
    NODES,
    PYTHON,
    VERSIONS,
    Confirmed,
    GroupSetting,
    MixedGroup,
    assert_kept,
    terms_of,
)

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(NO_MAVEN is not None, reason=str(NO_MAVEN)),
    pytest.mark.parametrize("version", VERSIONS),
]


def numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


@pytest.mark.parametrize("batches", [False, True], ids=["singly", "batches"])
def test_each_kind_leads_the_other_and_all_logs_are_equal_byte_for_byte(
    version: str, batches: bool, tmp_path: Path
) -> None:
    with MixedGroup(tmp_path, GroupSetting(version, batches)) as group:
        group.start(n0=JAVA, n1=JAVA, n2=PYTHON)
        group.hand_over("n0")
        confirmed = group.append(*numbered("java", 30))
        group.hand_over("n2")
        confirmed += group.append(*numbered("python", 30))
        group.hand_over("n1")
        confirmed += group.append(*numbered("again", 10))
        group.await_committed(confirmed[-1].index)
        group.stop(*NODES)
        logs = assert_kept(group, confirmed)
    assert len(terms_of(logs["n2"])) >= 3


def test_a_leader_of_java_hands_over_to_the_preferred_leader_of_the_reference(version: str, tmp_path: Path) -> None:
    """Source: DLedgerServer.checkPreferredLeader."""
    with MixedGroup(tmp_path, GroupSetting(version, preferred="n2")) as group:
        group.start(n0=JAVA, n1=JAVA)
        assert group.await_leader() in ("n0", "n1")
        confirmed = group.append("before")
        group.start(n2=PYTHON)
        assert group.await_leader("n2") == "n2"
        confirmed += group.append("after")
        group.await_committed(confirmed[-1].index)
        group.stop(*NODES)
        assert_kept(group, confirmed)


def test_a_node_of_the_reference_is_elected_by_one_of_java_when_the_leader_dies(version: str, tmp_path: Path) -> None:
    """The other one stands for election as well, and waits for long before it does so again."""
    patient = {"minVoteIntervalMs": 5000, "maxVoteIntervalMs": 6000}
    with MixedGroup(tmp_path, GroupSetting(version, java={"n1": patient})) as group:
        group.start(n0=JAVA, n1=JAVA, n2=PYTHON)
        group.hand_over("n0")
        confirmed = group.append("before")
        group.await_committed(0)
        group.kill("n0")
        assert group.await_leader() == "n2"
        confirmed += group.append("after")
        group.start(n0=JAVA)
        group.await_committed(confirmed[-1].index)
        group.stop(*NODES)
        assert_kept(group, confirmed)


def test_the_client_of_java_is_served_by_a_leader_of_the_reference(version: str, tmp_path: Path) -> None:
    """Source: DLedgerClient.append and get."""
    with MixedGroup(tmp_path, GroupSetting(version)) as group:
        group.start(n0=JAVA, n1=JAVA, n2=PYTHON)
        group.hand_over("n2")
        with group.java_client() as client:
            for index, value in enumerate(("a", "b", "ä")):
                code, at, _, leader = client.ask(f"append {value}")
                assert (code, at, leader) == ("200", str(index), "n2")
            assert client.ask("get 2")[0::2] == ["200", "ä"]
            assert client.ask("get 3")[0] == "410"  # INDEX_OUT_OF_RANGE
            group.kill("n2")
            group.await_leader("n0", "n1")
            assert wait_until(lambda: client.ask("append c")[0] == "200")  # it learns who leads
        group.start(n2=PYTHON)
        group.await_committed(2)
        group.stop(*NODES)
        assert [each.value for each in group.stored("n2").entries[:3]] == ["a", "b", "ä"]


def test_lockstep_client_is_served_by_a_leader_of_java(version: str, tmp_path: Path) -> None:
    with MixedGroup(tmp_path, GroupSetting(version)) as group:
        group.start(n0=JAVA, n1=JAVA, n2=PYTHON)
        group.hand_over("n0")

        def client(*words: str) -> tuple[int, str]:
            done = CliRunner().invoke(client_command, [group.peers, *words, "--group", GROUP], standalone_mode=False)
            return done.return_value, done.output

        status, said = client("append", "x", "y")
        assert (status, said.count("index")) == (0, 2), said
        assert "append y: index 1, term " in said
        status, said = client("get", "1", "5")
        assert (status, said.splitlines()[1]) == (1, "get 5: refused, INDEX_OUT_OF_RANGE")
        assert said.startswith("get 1: y of term ")
        status, said = client("transfer", "n2")
        assert (status, said[:21]) == (0, "transfer n2: SUCCESS,")
        assert group.await_leader("n2") == "n2"


@pytest.mark.parametrize("leader", ["n0", "n2"], ids=["java-leads", "python-leads"])
def test_nodes_of_both_kinds_are_killed_while_a_client_appends_and_lose_nothing(
    version: str, leader: str, tmp_path: Path
) -> None:
    kinds = {"n0": JAVA, "n1": PYTHON if leader == "n0" else JAVA, "n2": PYTHON}
    with MixedGroup(tmp_path, GroupSetting(version)) as group:
        group.start(**kinds)
        group.hand_over(leader)
        with group.appending("v") as appends:
            appends.more(30)
            for node in (leader, "n1", "n0", "n2"):
                group.kill(node)
                group.await_leader()
                appends.more(20)
                group.start(**{node: kinds[node]})
                appends.more(20)
        confirmed = appends.confirmed
        group.await_leader()
        confirmed += group.append("last")  # an entry of its own term commits all before it
        group.await_committed(confirmed[-1].index)
        group.stop(*NODES)
        assert_kept(group, confirmed)


@pytest.mark.parametrize("lagging", ["n0", "n2"], ids=["java-lags", "python-lags"])
def test_what_only_a_dead_leader_of_one_kind_stored_is_cut_by_a_leader_of_the_other(
    version: str, lagging: str, tmp_path: Path
) -> None:
    """COMPARE and TRUNCATE bring it back.

    Source: EntryDispatcher.doCompare, doTruncate; EntryHandler.handleDoTruncate.
    """
    kinds = dict.fromkeys(NODES, JAVA if lagging == "n2" else PYTHON) | {lagging: JAVA if lagging == "n0" else PYTHON}
    others = [node for node in NODES if node != lagging]
    with MixedGroup(tmp_path, GroupSetting(version)) as group:
        group.start(**kinds)
        group.hand_over(lagging)
        confirmed = group.append(*numbered("all", 10))
        group.await_committed(confirmed[-1].index)
        for node in others:
            group.kill(node)
        lost = numbered("alone", 5)
        group.append_in_vain(lagging, *lost)
        group.kill(lagging)
        group.start(**{node: kinds[node] for node in others})
        group.await_leader(*others)
        confirmed += group.append(*numbered("quorum", 20))
        before = [entry.value for entry in group.stored(lagging).entries]
        assert sorted(before[-len(lost) :]) == lost
        group.start(**{lagging: kinds[lagging]})
        group.await_committed(confirmed[-1].index)
        group.stop(*NODES)
        logs = assert_kept(group, confirmed)
    assert not set(lost) & {entry.value for log in logs.values() for entry in log.entries}


def test_a_group_of_java_is_replaced_node_by_node_and_back_while_a_client_appends(version: str, tmp_path: Path) -> None:
    with MixedGroup(tmp_path, GroupSetting(version)) as group:
        group.start(**dict.fromkeys(NODES, JAVA))
        group.await_leader()
        by_kind: list[list[Confirmed]] = []
        with group.appending("v") as appends:
            for kind in (PYTHON, JAVA):
                for node in NODES:
                    appends.more(20)
                    group.stop(node)
                    appends.more(20)
                    group.start(**{node: kind})
                    group.await_committed(appends.confirmed[-1].index, node)
                by_kind.append(list(appends.confirmed))
                appends.more(20)
        confirmed = appends.confirmed
        group.await_leader()
        confirmed += group.append("last")
        group.await_committed(confirmed[-1].index)
        group.stop(*NODES)
        assert_kept(group, confirmed)
    assert len(by_kind[0]) >= 120
    assert len(confirmed) >= 260
