"""Files that are one log, rotated, are read in the order in which they were written; others are logs of their own."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.logs.log_rotation import logs_of, note_missing_files, note_unordered_files
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check
from lockstep.trace.trace_paths import MissingTrace, trace_paths
from tests.support.logs.backup_service import EXAMPLE
from tests.support.programs.lockstep_command import lockstep

ROTATED = [
    ["a.log.12.gz", "a.log.2.gz", "a.log.1", "a.log"],
    ["a.log.10", "a.log.2", "a.log.1", "a.log.0"],
    ["a.log.2", "a.log.1", "a.log.0", "a.log"],
    ["a.log.2", "a.log.1"],
    ["raft.2", "raft.1.gz", "raft"],
    ["a.10.log.gz", "a.2.log.gz", "a.1.log", "a.log"],
    ["a.log-20251231.gz", "a.log-20260101", "a.log"],
    ["messages-20251231", "messages-20260101.gz"],
    ["a.log-20260101-1767229200", "a.log-20260101-1767232800", "a.log"],
    ["a-20260101.log", "a-20260102.log.gz", "a.log"],
    ["a.log.2026-01-01", "a.log.2026-01-02", "a.log"],
    ["a.log.2026-01-01_09", "a.log.2026-01-01_10"],
    ["a.2026-01-01.log", "a.2026-01-02.log.gz", "a.log"],
    ["a.2026-01-01.0.log", "a.2026-01-01.2.log", "a.2026-01-01.10.log.gz", "a.2026-01-02.0.log"],
    ["a-2026-01-01-1.log.gz", "a-2026-01-01-2.log.gz", "a.log"],
    ["a-2026-01-01T09-59-59.999.log.gz", "a-2026-01-01T10-00-00.000.log", "a.log"],
]

APART = [
    ["node-1", "node-2"],
    ["node-1", "node-2", "node"],
    ["raft.1", "raft.2", "raft.3"],
    ["node-8080", "node-8081", "node-8082"],
    ["app.log.8080", "app.log.8081"],
    ["node-1.log", "node-2.log", "node.log"],
    ["node.1.log", "node.2.log"],
    ["10.0.0.1", "10.0.0.2"],
    ["db.n1", "db.n2"],
    ["n-20261301", "n-20260140"],
]


@pytest.mark.parametrize("names", ROTATED, ids=" ".join)
def test_the_files_of_one_log_are_read_oldest_first_however_they_are_given(names: list[str]) -> None:
    for seed in range(5):
        shuffled = random.Random(seed).sample(names, len(names))
        (log,) = logs_of([Path("logs") / name for name in shuffled])
        assert [path.name for path in log.paths] == names


@pytest.mark.parametrize("names", APART, ids=" ".join)
def test_a_number_that_may_be_a_nodes_makes_no_rotation(names: list[str]) -> None:
    found = logs_of([Path("logs") / name for name in names])
    assert [log.name for log in found] == [f"logs/{name}" for name in names]
    assert [len(log.paths) for log in found] == [1] * len(names)


def test_files_of_two_folders_are_two_logs() -> None:
    assert len(logs_of([Path("n1/a.log.1"), Path("n1/a.log"), Path("n2/a.log.1"), Path("n2/a.log")])) == 2


def test_files_of_one_log_without_an_order_are_refused() -> None:
    with pytest.raises(BadInputError, match=r"a\.log\.1 and a\.log\.1\.gz are the same part of one log"):
        logs_of([Path("a.log.1.gz"), Path("a.log.1"), Path("a.log")])
    with pytest.raises(BadInputError, match=r"which of them is older is not known"):
        logs_of([Path("a.log.1"), Path("a.log-20260101"), Path("a.log")])


def test_files_that_are_missing_between_rotated_ones_are_named_in_one_note() -> None:
    def missing(*names: str) -> str | None:
        (log,) = logs_of([Path(name) for name in names])
        return note_missing_files(log)

    assert missing("a.log.2.gz", "a.log") == "a.log.1 is not among the files: lines of a.log may be missing"
    assert missing("a.log.3", "a.log.1") == "a.log.2, a.log are not among the files: lines of a.log may be missing"
    assert str(missing("a.log.9", "a.log")).startswith("a.log.1, a.log.2, a.log.3 and 5 others are not among the files")
    assert missing("a.2.log.gz", "a.log") == "a.1.log is not among the files: lines of a.log may be missing"
    assert missing("a.log.1", "a.log.2", "a.log") is None
    assert missing("a.log.0", "a.log.1", "a.log") is None
    assert missing("a.log.0", "a.log.1") is None
    assert missing("a.log-2026-01-02", "a.log") is None
    assert missing("a.log") is None


@pytest.mark.parametrize(
    "name",
    ["a.log.1.gz.2", "a.log.1.1", "a-01-31-2026-1.log.gz", "a-31-1-2026.log", "a.2026-01.log", "a.log-2026-01.gz"],
)
def test_a_rotation_whose_name_gives_no_order_is_noted(name: str) -> None:
    """logrotate rotates what it has rotated where a wildcard names it: its manual page warns of that."""
    said = f"{name} is taken for a log of its own: such a name gives no order of rotated files"
    assert str(note_unordered_files(logs_of([Path(name), Path("a.log")]))).startswith(said)
    assert note_unordered_files(logs_of([Path(name)])) is None


def test_a_name_that_may_be_a_nodes_or_has_an_order_is_not_noted() -> None:
    for names in (*ROTATED, *APART):
        assert note_unordered_files(logs_of([*map(Path, names), Path("other.log")])) is None


def test_the_page_has_the_names_that_are_recognised() -> None:
    page = (EXAMPLE / "README.md").read_text()
    rows = re.findall(r"^\| (`a[^|]*)\|", page[page.index("## Rotated files") :], re.MULTILINE)
    assert len(rows) == 7
    for row in rows:
        names = re.findall(r"`(.*?)`", row)
        (log,) = logs_of([Path(name) for name in reversed(names)])
        assert [path.name for path in log.paths] == names


def test_a_log_with_a_date_in_its_name_hides_no_false_order(tmp_path: Path) -> None:
    """An entry that is stored before it is put is explained only if the two files are two logs."""
    mapping = 'kind = "event"\nfiles = "together"\n[lines.put]\naction = "Put"\n[lines.stored]\naction = "Store"\n'
    (tmp_path / "mapping.toml").write_text(mapping)
    (tmp_path / "a.log").write_text('{"event": "put"}\n')
    for old in ("a.log-20260101", "a.2026-01-01.log", "a.1.log.gz", "a.log.0"):
        (tmp_path / old).write_text('{"event": "stored"}\n')
        spec = EXAMPLE / "PrimaryBackup.tla"
        judge = own_check(SpecFiles(spec, mapping=tmp_path / "mapping.toml"))
        found = judge.check_logs([tmp_path / "a.log", tmp_path / old])
        assert (found.verdict, Path(found.findings[0].source).name) == (Verdict.VIOLATED, old)


def test_a_folder_stands_for_the_logs_in_it(tmp_path: Path) -> None:
    mapping = 'kind = "event"\nfiles = "together"\n[lines.put]\naction = "Put"\n'
    (tmp_path / "mapping.toml").write_text(mapping)
    own = ["--spec", str(EXAMPLE / "PrimaryBackup.tla"), "--mapping", "mapping.toml", "logs"]
    (tmp_path / "logs" / "n1").mkdir(parents=True)
    empty = lockstep("check", *own, cwd=tmp_path)
    assert (empty.returncode, "logs: " in empty.stdout, "no .ndjson or .log file" in empty.stdout) == (2, True, True)
    for name in ("a.log", "a.log.1", "b.2026-01-01.log", "n1/c.ndjson"):
        (tmp_path / "logs" / name).write_text('{"event": "put"}\n')
    (tmp_path / "logs" / "notes.txt").write_text("no log\n")
    found = lockstep("check", *own, cwd=tmp_path)
    assert found.returncode == 0
    assert "(4 events, 4 steps" in found.stdout
    assert "notes.txt" not in found.stdout


def test_a_folder_of_logs_says_what_it_needs_where_there_is_no_mapping(tmp_path: Path) -> None:
    (tmp_path / "n1").mkdir()
    reason = "there is no .ndjson file in this folder"
    assert trace_paths([str(tmp_path)]) == [MissingTrace(str(tmp_path), reason)]
    (tmp_path / "n1" / "a.log").write_text('{"event": "put"}\n')
    assert trace_paths([str(tmp_path)]) == [
        MissingTrace(str(tmp_path), f"{reason}; for its .log files give --spec and --mapping")
    ]


def test_the_files_of_a_rotated_log_are_one_log_where_each_log_is_checked_alone(tmp_path: Path) -> None:
    """Each file alone would be violated but the first: it does not begin with the system."""
    mapping = 'kind = "event"\n[lines.put]\naction = "Put"\n[lines.stored]\naction = "Store"\nargs = { b = "b" }\n'
    (tmp_path / "mapping.toml").write_text(mapping)
    own = ["--spec", str(EXAMPLE / "PrimaryBackup.tla"), "--mapping", "mapping.toml"]
    for name in ("a", "b"):
        (tmp_path / f"{name}.log.1").write_text('{"event": "put"}\n')
        (tmp_path / f"{name}.log").write_text(f'{{"event": "stored", "b": "{"b1" if name == "a" else "b9"}"}}\n')
    found = lockstep("check", *own, "a.log", "b.log.1", "a.log.1", "b.log", cwd=tmp_path)
    assert found.returncode == 2
    assert "a.log.1, a.log: holds" in found.stdout
    assert "note: these files are taken for one log that was rotated" in found.stdout
    assert 'b.log:1: `b`: "b9" is none of the model values' in found.stdout
    (tmp_path / "a.log-20260101").write_text('{"event": "put"}\n')
    found = lockstep("check", *own, "a.log", "a.log.1", "a.log-20260101", cwd=tmp_path)
    assert found.returncode == 2
    assert "which of them is older is not known" in found.stdout
