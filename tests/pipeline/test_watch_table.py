"""The table of a watch is read again when it goes on, and a damaged file of it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.base.errors import GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.watch.verdict_table import WatchStore, WatchVerdict

ROW = WatchVerdict(
    "dir/a.trace.ndjson", Verdict.HOLDS, "", 1, 1, 1, 0.5, trace="a.trace.ndjson", spec="", settled=True, replay="again"
)


def test_a_row_that_was_written_is_read_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    store = WatchStore(tmp_path, DECLARED)
    with store.opened({}):
        store.write(3, [ROW])
    assert list(store.rows()) == [ROW]
    (file,) = tmp_path.rglob("*.parquet")
    content = file.read_bytes()
    for damaged in (b"", content[:-9]):
        file.write_bytes(damaged)
        with pytest.raises(GaveUpError, match=r"batch=00000003/part-0.parquet cannot be read: "):
            list(store.rows())
    refused, tried = 0, range(0, len(content), 5)
    for at in tried:
        file.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            assert list(store.rows()) == [ROW]  # it is a byte that nothing depends on
        except GaveUpError:
            refused += 1
    assert refused > len(tried) / 2
    file.unlink()
    with pytest.raises(GaveUpError, match=r"part-0.parquet cannot be read: "):
        list(store.rows())
