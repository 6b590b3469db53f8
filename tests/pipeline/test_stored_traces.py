"""One trace out of a store, without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.cli.pipeline.stored_trace_commands import trace_command
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.source_files import EACH, TOGETHER
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.stored_traces import stored_counterexample, stored_lines
from lockstep.pipeline.trace_store import Batch, TraceStore
from lockstep.pipeline.watch.verdict_table import WatchStore

BATCH = Batch(DECLARED, "b")


def written(store: TraceStore, table: str, *rows: dict[str, object]) -> Path:
    """The file of a batch of a table that has these rows."""
    folder = Path(store.folder(table, "r", BATCH).path)
    folder.mkdir(parents=True)
    (folder / "_SUCCESS").touch()
    file = folder / "part-0.parquet"
    table_of = pa.Table.from_pylist(list(rows), schema=TABLES[table].schema)
    pq.write_table(table_of, file, write_page_checksum=True, compression="none", use_dictionary=False)
    (folder / f"_files-1-{file.stat().st_size}").touch()
    return file


def halved(data: bytes) -> bytes:
    return data[: len(data) // 2]


def changed(data: bytes) -> bytes:
    return data.replace(b"the line", b"the lime")


@pytest.mark.parametrize("damage", [halved, changed])
def test_a_damaged_file_is_named_and_nothing_of_it_is_given_out(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    store = TraceStore.open(str(tmp_path / "my store"), create=True)
    line = {"trace": "t", "seq": 0, "bytes": b"the line\n", "source": "t.ndjson", "line": 1}
    short = {"signature": "s", "traces": 1, "lines": b"the line\n"}
    files = written(store, "lines", line), written(store, "counterexamples", short)
    assert list(stored_lines(store, "r", "t")) == [(b"the line\n", "t.ndjson")]
    assert stored_counterexample(store, "r", "s") == b"the line\n"
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    for read in (lambda: list(stored_lines(store, "r", "t")), lambda: stored_counterexample(store, "r", "s")):
        with pytest.raises(GaveUpError, match=r"my store/.*batch=b cannot be read: .*; remove the folder"):
            read()


def test_a_file_without_a_column_is_none_of_the_table(tmp_path: Path) -> None:
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    file = written(store, "lines", {"trace": "t", "seq": 0, "bytes": b"the line\n", "source": "t.ndjson", "line": 1})
    pq.write_table(pq.ParquetFile(file).read().drop_columns(["seq"]), file)
    next(file.parent.glob("_files-*")).rename(file.parent / f"_files-1-{file.stat().st_size}")
    with pytest.raises(GaveUpError, match=r"cannot be read: .*seq"):
        list(stored_lines(store, "r", "t"))


@pytest.mark.parametrize("logs", [TOGETHER, EACH])
def test_the_logs_of_a_system_come_out_into_a_folder_also_where_there_is_one(tmp_path: Path, logs: str) -> None:
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    store.put_inputs("r", "ingest", [BATCH], {"logs": logs})
    written(store, "lines", {"trace": "sys", "seq": 0, "bytes": b"the line\n", "source": "/in/sys/p.log", "line": 1})
    out = tmp_path / "out"
    trace_command.main([str(tmp_path / "store"), "r", "sys", "-o", str(out)], standalone_mode=False)
    assert (out / "p.log" if logs == TOGETHER else out).read_bytes() == b"the line\n"


def test_the_lines_of_several_files_are_not_printed_as_if_they_were_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = TraceStore.open(str(tmp_path / "store"), create=True)
    store.put_inputs("r", "ingest", [BATCH], {"logs": EACH})
    lines = [{"trace": "p.log", "seq": seq, "bytes": b"a line\n", "line": 1} for seq in range(2)]
    written(store, "lines", lines[0] | {"source": "/in/p.log"}, lines[1] | {"source": "/in/p.log.1"})
    with pytest.raises(click.UsageError, match=r"lines of 2 files: give with -o the folder"):
        trace_command.main([str(tmp_path / "store"), "r", "p.log"], standalone_mode=False)
    assert capsys.readouterr().out == ""
    out = tmp_path / "out"
    trace_command.main([str(tmp_path / "store"), "r", "p.log", "-o", str(out)], standalone_mode=False)
    assert {file.name for file in out.iterdir()} == {"p.log", "p.log.1"}


def test_a_watch_takes_no_store_of_the_pipeline(tmp_path: Path) -> None:
    TraceStore.open(str(tmp_path / "store"), create=True)
    with (
        pytest.raises(BadInputError, match="this store was begun with"),
        WatchStore(tmp_path / "store", DECLARED).opened({}),
    ):
        pass
