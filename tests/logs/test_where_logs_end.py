"""Logs that are parts of longer ones: torn, copied at different moments, or begun when the system ran already."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.logs.mapping import MappingError
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import OwnTraceCheck, own_check
from tests.support.logs.backup_service import EXAMPLE, service

FileCheck = Callable[[str], OwnTraceCheck]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> FileCheck:
    """The example, with one more line in its mapping."""
    folder = tmp_path_factory.mktemp("judge")

    def judge(line: str) -> OwnTraceCheck:
        (folder / "mapping.toml").write_text(f"{line}\n{(EXAMPLE / 'mapping.toml').read_text()}")
        return own_check(SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=folder / "mapping.toml"))

    return judge


def without_last(path: Path, lines: int, torn: str = "") -> None:
    """Take the last lines of a log away, but for a part of the first of them."""
    text = path.read_text().splitlines(keepends=True)
    path.write_text("".join(text[:-lines]) + torn)


# ---- Torn lines ----


def test_a_torn_last_line_is_no_reason_to_refute_what_it_may_have_explained(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 2, "--puts", "2")
    whole = judge("").check_logs(logs)
    assert whole.verdict is Verdict.HOLDS
    b1 = logs[0].read_text()
    logs[0].write_text(b1[:-5])
    found = judge("").check_logs(logs)
    assert (found.verdict, found.findings) == (Verdict.INCONCLUSIVE, [])
    number = len(b1.splitlines())
    assert found.reason.endswith(f"what followed line {number - 1} of {logs[0]} is not known")
    assert f"note: {logs[0]}:{number}: the last line does not end, and is left out" in found.notes
    logs[0].write_text(b1[:-1])  # the line is whole but for its end
    assert judge("").check_logs(logs).verdict is Verdict.HOLDS


def test_a_line_that_ends_with_a_brace_is_torn_all_the_same(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 2, "--puts", "2")
    without_last(logs[0], 1, torn='{"ts": 31.5, "what": {"event": "stored"}')
    assert judge("").check_logs(logs).verdict is Verdict.INCONCLUSIVE


@pytest.mark.nightly
def test_a_refutation_before_a_log_is_torn_stands(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 1, "--hasty")
    whole = judge("").check_logs(logs)
    for log in logs:
        without_last(log, 1, torn='{"ts"')
    found = judge("").check_logs(logs)
    assert (found.verdict, found.findings) == (Verdict.VIOLATED, whole.findings)


def test_a_torn_line_whose_node_is_not_known_may_be_of_any(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 2, "--puts", "3")
    lines = [{**json.loads(line), "of_node": log.stem} for log in logs for line in log.read_text().splitlines()]
    lines.sort(key=lambda line: float(line["ts"]))
    mapping = (EXAMPLE / "mapping.toml").read_text().replace("{ file = '^(\\w+)\\.log' }", '"of_node"\norder = "node"')
    (tmp_path / "mapping.toml").write_text(mapping.replace('files = "together"', ""))
    one = own_check(SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=tmp_path / "mapping.toml"))
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "all").write_text(text)
    assert one.check_logs([tmp_path / "all"]).verdict is Verdict.HOLDS
    first = text.splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if line["event"] == "stored")
    without = [*first[:last], *first[last + 1 :]]
    (tmp_path / "all").write_text("".join(without))
    assert one.check_logs([tmp_path / "all"]).verdict is Verdict.VIOLATED
    (tmp_path / "all").write_text("".join(without) + first[last][:9])
    assert one.check_logs([tmp_path / "all"]).verdict is Verdict.INCONCLUSIVE


def test_a_rotated_log_that_goes_on_after_a_torn_line_is_malformed(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 2, "--puts", "2")
    text = logs[0].read_text().splitlines(keepends=True)
    older = logs[0].with_name("b1.log.1")
    older.write_text(text[0][:-4])
    logs[0].write_text("".join(text[1:]))
    found = judge("").check_logs([older, *logs])
    assert found.verdict is Verdict.MALFORMED
    assert found.reason == f"{older}:1: the last line does not end, though {logs[0]} goes on"


# ---- Logs that end at different moments ----


def test_logs_may_end_at_different_moments_where_the_mapping_says_so(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 1, "--puts", "10")
    without_last(logs[1], 2)
    together = judge("").check_logs(logs)
    assert together.verdict is Verdict.VIOLATED
    (said,) = [note for note in together.notes if "ends =" in note]
    assert str(logs[1]) in said
    anywhere = judge('ends = "anywhere"').check_logs(logs)
    assert (anywhere.verdict, anywhere.findings) == (Verdict.INCONCLUSIVE, [])
    logs[1].write_text("")
    assert judge('ends = "anywhere"').check_logs(logs).verdict is Verdict.INCONCLUSIVE
    assert judge("").check_logs(logs).verdict is Verdict.VIOLATED


@pytest.mark.nightly
def test_a_hasty_commit_is_refuted_wherever_the_logs_end_after_it(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 1, "--hasty")
    whole = judge("").check_logs(logs)
    found = judge('ends = "anywhere"').check_logs(logs)
    assert (found.verdict, found.findings) == (Verdict.VIOLATED, whole.findings)


def test_a_message_whose_sending_is_lost_is_received_all_the_same(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 1)
    without_last(logs[2], 30)
    assert judge("").check_logs(logs).verdict is Verdict.MALFORMED
    found = judge('ends = "anywhere"').check_logs(logs)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert any(note.startswith("note: no line sends what ") for note in found.notes)


def test_ends_is_refused_where_each_log_is_checked_alone(judge: FileCheck, tmp_path: Path) -> None:
    mapping = (EXAMPLE / "mapping.toml").read_text().replace('"together"', '"apart"')
    (tmp_path / "mapping.toml").write_text(f'ends = "anywhere"\n{mapping}')
    with pytest.raises(MappingError, match=r"mapping\.toml:1: field `ends`: it means nothing for one log"):
        own_check(SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=tmp_path / "mapping.toml"))


# ---- Logs that begin later than the system ----


def after(moment: float, logs: Sequence[Path]) -> None:
    """Take away what was written before a moment."""
    for log in logs:
        kept = [line for line in log.read_text().splitlines() if json.loads(line)["ts"] > moment]
        log.write_text("".join(f"{line}\n" for line in kept))


def test_a_message_sent_before_the_logs_begin_is_received_all_the_same(judge: FileCheck, tmp_path: Path) -> None:
    logs = service(tmp_path, 1, "--puts", "6")
    after(45, logs)
    first = {log.stem: json.loads(log.read_text().splitlines()[0]) for log in logs}
    assert first["b1"]["entry"] < first["p"].get("entry", 99), "the first that is received was sent before"
    early = judge("").check_logs(logs)
    assert early.verdict is Verdict.MALFORMED
    assert "no line sends" in early.reason
    assert "`start`" in early.reason
    found = judge('start = "Middle"').check_logs(logs)
    assert (found.verdict, found.findings) == (Verdict.HOLDS, []), found.reason
    assert any(note.startswith(f"note: no line sends what {logs[0]}:1 receives") for note in found.notes)


def test_a_first_line_that_nothing_explains_may_not_be_the_first_of_the_system(
    judge: FileCheck, tmp_path: Path
) -> None:
    logs = service(tmp_path, 1, "--puts", "6")
    after(45, logs)
    for log in logs:
        log.write_text(log.read_text().replace("entry", "nothing"))
    mapping = (EXAMPLE / "mapping.toml").read_text()
    for line in ('sends = "entry"', 'receives = "entry"                        # after the line that sends it'):
        assert line in mapping
        mapping = mapping.replace(line, "")
    (tmp_path / "mapping.toml").write_text(mapping.replace('"entry"', '"nothing"'))
    one = own_check(SpecFiles(EXAMPLE / "PrimaryBackup.tla", mapping=tmp_path / "mapping.toml"))
    found = one.check_logs(logs)
    assert found.verdict is Verdict.VIOLATED
    hint = "note: if the logs begin later than the system, name with `start` the states that they may begin in"
    assert hint in found.notes
    late = service(tmp_path / "hasty", 1, "--hasty")
    assert hint not in judge("").check_logs(late).notes
