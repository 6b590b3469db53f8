"""The flaws that chaos shows: the table of docs/measured/chaos.md has each, and each of its seeds shows it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockstep.cli.chaos_command import command
from lockstep.cluster.chaos_run import ChaosResult
from lockstep.cluster.chaos_verdict import ChaosVerdict
from lockstep.cluster.flaw_table import TABLE_HEAD, FlawRow, FlawSearch, row_of
from lockstep.systems.registry import SYSTEMS
from tests.support.places import ROOT

PAGE = ROOT / "docs" / "measured" / "chaos.md"
#: The systems, by the headings of their tables.
TABLES = {"DLedger": "### DLedger", "HashicorpRaft": "### hashicorp/raft"}


def rows(spec: str) -> Iterator[FlawRow]:
    """The rows of a system's table."""
    after = PAGE.read_text(encoding="utf-8").split(TABLES[spec], 1)[1]
    lines = after.split(TABLE_HEAD, 1)[1].strip("\n").splitlines()
    for line in lines:
        if not line.startswith("|"):
            return
        yield row_of(line)


def search(spec: str, folder: Path) -> FlawSearch:
    system = SYSTEMS[spec]
    assert system.running is not None
    return FlawSearch(system, system.running(), 60.0, folder)


@pytest.mark.parametrize("spec", TABLES)
def test_the_page_has_a_row_for_each_flaw(spec: str) -> None:
    system = SYSTEMS[spec]
    assert system.running is not None
    assert sorted(row.flaw for row in rows(spec)) == sorted(system.running().flaws)


def test_a_row_is_read_as_it_is_written() -> None:
    found = FlawRow("A", ("B",), 5, 7, 7, ("LogMatching", "clients"))
    missing = FlawRow("A", (), 3, 12)
    assert [row_of(row.line()) for row in (found, missing)] == [found, missing]


def test_a_table_is_printed(tmp_path: Path) -> None:
    words = ["--each-flaw", "--flaw", "HighTermLaggard", "--runs", "1", "--seconds", "1", "-o", str(tmp_path)]
    done = CliRunner().invoke(command, words, standalone_mode=False)
    assert (done.return_value, done.output) == (0, f"{TABLE_HEAD}\n| HighTermLaggard |  | 3 | none of 1 |  |\n")


def test_a_violation_that_the_spec_denies_shows_no_flaw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = FlawRow("TruncatedTail", (), 3, 1)
    violated = {"LogMatching": "", "CommittedEntriesStayProp": ""}
    for denied, shown in ((frozenset[str](), tuple(violated)), (frozenset({"LogMatching"}), ())):
        verdict = ChaosVerdict(ChaosResult(1), dict(violated), denied)
        monkeypatch.setattr(FlawSearch, "verdict", lambda *_, verdict=verdict: verdict)
        assert search("DLedger", tmp_path).shown(wanted, 1).violated == tuple(sorted(shown))


def test_what_the_flaws_beside_it_violate_with_the_same_seed_shows_no_flaw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ReapedInstall needs StaleInstall, which violates FsmNeverGoesBackProp on its own."""
    row = FlawRow("ReapedInstall", ("StaleInstall",), 3, 1)
    of_both = {"FsmNeverGoesBackProp": "", "LogMatching": ""}
    for alone, shown in ((of_both, ()), ({"FsmNeverGoesBackProp": ""}, ("LogMatching",))):

        def verdict(
            _: FlawSearch, __: FlawRow, seed: int, flaws: tuple[str, ...], alone: dict[str, str] = alone
        ) -> ChaosVerdict:
            return ChaosVerdict(ChaosResult(seed), dict(of_both if "ReapedInstall" in flaws else alone), frozenset())

        monkeypatch.setattr(FlawSearch, "verdict", verdict)
        assert search("HashicorpRaft", tmp_path).shown(row, 1).violated == shown


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("spec", "row"),
    [pytest.param(spec, row, id=row.flaw) for spec in TABLES for row in rows(spec) if row.seed is not None],
)
def test_a_seed_shows_its_flaw_again(spec: str, row: FlawRow, tmp_path: Path) -> None:
    assert row.seed is not None
    assert search(spec, tmp_path).shown(row, row.seed) == row
