"""A trace that is checked batch by batch gets the verdict of `check`, whatever its batches are."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.spark.isolated_work import MAX_ATTEMPTS
from lockstep.pipeline.watch import spec_cache
from lockstep.pipeline.watch.resumed_check import SourceRow, TraceProgress, WatchLimits
from lockstep.pipeline.watch.spec_cache import NoSpecError, SpecCache
from lockstep.pipeline.watch.verdict_table import finding_id
from lockstep.systems.file_check import check
from lockstep.systems.trace_files import import_trace, opened, write_cluster
from lockstep.tla.spec import Spec
from tests.support.pipeline.watched_traces import Watched

FIGURE_8 = traces_dir() / "captured" / "dledger" / "dledger-0.2.7-figure8.ndjson"


@pytest.fixture(scope="module")
def figure8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figure8") / "figure8.trace.ndjson"
    import_trace(FIGURE_8, path)
    return path


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cluster(tmp_path_factory.mktemp("cluster"), "ordered", 1, 60)


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def untimed(found: TraceVerdict) -> TraceVerdict:
    return replace(found, seconds=0.0)


def in_batches(path: Path, store: Path, lines: list[bytes], sizes: list[int]) -> Watched:
    watched = Watched(path, store)
    rest = list(lines)
    for size in sizes:
        watched.batch(rest[:size])
        rest = rest[size:]
    if rest:
        watched.batch(rest)
    return watched


# ---- The verdict of check ----


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 20))])
def test_any_batches_lead_to_the_verdict_of_one_check(figure8: Path, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    lines = lines_of(figure8)
    watched = in_batches(figure8, tmp_path, lines, [rng.randrange(1, 30) for _ in range(60)])
    assert untimed(watched.verdict) == untimed(check(figure8))
    assert [row.settled for row in watched.rows].count(True) == 1
    assert len(watched.rows) > 1


def test_each_violation_is_reported_in_the_batch_that_has_its_line_and_once(figure8: Path, tmp_path: Path) -> None:
    expected = check(figure8).findings
    assert len({each.line for each in expected}) > 3
    watched = Watched(figure8, tmp_path)
    lines = lines_of(figure8)
    for begin in range(0, len(lines), 6):
        before = len(watched.rows)
        watched.batch(lines[begin : begin + 6])
        new = [each for row in watched.rows[before:] for each in row.findings]
        assert new == [each for each in expected if begin < each.line <= begin + 6]
    ids = [finding_id(row.trace, each) for row in watched.rows for each in row.findings]
    assert len(ids) == len(set(ids)) == len(expected)


def test_a_trace_that_leaves_the_spec_is_settled_there(figure8: Path, tmp_path: Path) -> None:
    lines = lines_of(figure8)
    repaired: dict[str, object] = {"repaired": True}
    watched = Watched(figure8, tmp_path, switches=dict(repaired))
    for begin in range(0, len(lines), 50):
        watched.batch(lines[begin : begin + 50])
    assert untimed(watched.verdict) == untimed(check(figure8, switches={"repaired": True}))
    assert [row.settled for row in watched.rows] == [True]
    assert watched.progress.state == b""


def test_a_malformed_trace_has_the_words_of_check(cluster: Path, tmp_path: Path) -> None:
    lines = lines_of(cluster)
    cases = {
        "json": [*lines[:5], b"{]\n", *lines[5:]],
        "empty line": [*lines[:5], b"\n", *lines[5:]],
        "second header": [*lines[:5], lines[0], *lines[5:]],
        "node": [*lines[:5], lines[5].replace(b'"node":"n', b'"node":"x'), *lines[6:]],
        "argument": [*lines[:2], lines[2].replace(b'"seq"', b'"more":1,"seq"'), *lines[3:]],
        "twice": [*lines[:5], lines[4], *lines[5:]],
        "count": [*lines[:5], *lines[-1:]],
        "behind": [*lines, lines[3]],
        "header": [lines[0].replace(b"lockstep-trace/1", b"lockstep-trace/9"), *lines[1:]],
        "constant": [lines[0].replace(b'"Fifo":true', b'"Fifo":7'), *lines[1:]],
        "no header": lines[1:],
        "bare": [lines[0], b'{"kind":"end","events":0}\n'],
    }
    for name, damaged in cases.items():
        path = tmp_path / f"{name}.trace.ndjson"
        path.write_bytes(b"".join(damaged))
        expected = untimed(check(path))
        assert expected.verdict in (Verdict.MALFORMED, Verdict.INCONCLUSIVE)
        for sizes in ([], [1, 2, 2, 1]):
            watched = in_batches(path, tmp_path, damaged, sizes)
            assert watched.rows, name
            assert untimed(watched.verdict) == expected, name


def test_a_trace_that_goes_on_behind_its_end_was_a_pass_and_is_malformed(cluster: Path, tmp_path: Path) -> None:
    watched = Watched(cluster, tmp_path)
    watched.batch(lines_of(cluster))
    watched.batch(lines_of(cluster)[3:4])
    assert [row.verdict for row in watched.rows] == ["holds", "malformed"]
    assert watched.rows[-1].reason.endswith("there is more after the end line")


@pytest.mark.parametrize("cut", [0, 10, -30, -1])
def test_a_trace_without_its_end_is_what_check_says_of_it(cluster: Path, tmp_path: Path, cut: int) -> None:
    data = cluster.read_bytes()[:cut]
    path = tmp_path / "cut.trace.ndjson"
    path.write_bytes(data)
    whole, _, torn = data.rpartition(b"\n")
    watched = Watched(path, tmp_path)
    watched.batch([each + b"\n" for each in whole.split(b"\n")] if whole else [])
    watched.finish(torn)
    assert untimed(watched.verdict) == untimed(check(path))
    assert watched.verdict.verdict is Verdict.MALFORMED


# ---- Order ----


def shuffled(lines: list[bytes], rng: random.Random, within: int) -> list[bytes]:
    """The lines of a trace with each event at most `within` places from its own; header and end stay."""
    events = sorted(enumerate(lines[1:-1]), key=lambda each: each[0] + rng.uniform(0, within))
    return [lines[0], *(line for _, line in events), lines[-1]]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 20))])
def test_events_out_of_order_wait_for_those_before_them(cluster: Path, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    lines = shuffled(lines_of(cluster), rng, 8)
    seqs = [json.loads(line)["seq"] for line in lines[1:-1]]
    assert seqs != sorted(seqs)
    watched = in_batches(cluster, tmp_path, lines, [rng.randrange(1, 9) for _ in range(20)])
    found, expected = watched.verdict, check(cluster)
    assert (found.verdict, found.events, found.steps, found.observed) == (
        Verdict.HOLDS,
        expected.events,
        expected.steps,
        expected.observed,
    )


def test_a_violation_behind_a_gap_is_found_once_the_gap_closes(figure8: Path, tmp_path: Path) -> None:
    lines = lines_of(figure8)
    first = check(figure8).findings[0].line
    watched = Watched(figure8, tmp_path)
    watched.batch([*lines[:100], *lines[101:first]])
    assert watched.rows == []
    assert watched.due > 0
    assert len(watched.progress.waiting) == first - 101
    watched.batch([lines[100]])
    assert [row.verdict for row in watched.rows] == ["violated"]
    assert watched.due == 0
    assert watched.rows[0].findings[0].line == first - 1  # the line that has it, not where it belongs


def test_a_gap_that_does_not_close_is_inconclusive_and_never_a_pass(cluster: Path, tmp_path: Path) -> None:
    lines = lines_of(cluster)
    watched = Watched(cluster, tmp_path, WatchLimits(patience=5.0))
    watched.batch([*lines[:10], *lines[11:20]])
    since = watched.progress.since
    watched.batch([], SourceRow("time", since + 4_999, b""))
    assert watched.rows == []
    watched.batch([], SourceRow("time", since + 5_000, b""))
    assert [(row.verdict, row.settled) for row in watched.rows] == [("inconclusive", True)]
    assert watched.rows[0].reason == (
        "the event with `seq` 10 never came; line 11 has `seq` 11, and 9 events wait: waited 5 s"
    )
    watched.batch([*lines[10:11], *lines[20:]])  # too late: it is settled
    assert len(watched.rows) == 1


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The second that the clock shows."""
    now = [1_000]
    monkeypatch.setattr("lockstep.pipeline.watch.resumed_check._now", lambda: now[0] * 1000)
    return now


def test_each_further_gap_is_waited_for_as_long_again(cluster: Path, tmp_path: Path, now: list[int]) -> None:
    """A stream that is always a little out of order always waits for something, and never long for the same."""
    lines = lines_of(cluster)
    watched = Watched(cluster, tmp_path, WatchLimits(patience=5.0))
    watched.batch([*lines[:10], *lines[11:13], *lines[14:16]])
    for number in (10, 13):  # the gap before the first closes, and then that before the next
        now[0] += 4
        watched.batch([lines[number], lines[number + 6]], SourceRow("time", now[0] * 1000, b""))
        assert (watched.rows, watched.due) == ([], now[0] + 5)
    watched.batch([], SourceRow("time", now[0] * 1000 + 5_000, b""))
    assert [row.verdict for row in watched.rows] == ["inconclusive"]


def test_a_gap_that_closes_from_behind_is_waited_for_and_one_that_stays_is_not(
    cluster: Path, tmp_path: Path, now: list[int]
) -> None:
    lines = lines_of(cluster)
    watched = Watched(cluster, tmp_path, WatchLimits(patience=5.0))
    watched.batch([*lines[:10], lines[14]])
    for number in (13, 12, 11):
        now[0] += 2
        watched.batch([lines[number]], SourceRow("time", now[0] * 1000, b""))
        assert (watched.rows, watched.due) == ([], now[0] + 5)
    for number in (16, 15, 18):  # what comes behind the gap does not close it
        now[0] += 2
        watched.batch([lines[number]], SourceRow("time", now[0] * 1000, b""))
    assert [row.verdict for row in watched.rows] == ["inconclusive"]


def test_a_gap_at_the_end_of_a_run_is_inconclusive(cluster: Path, tmp_path: Path) -> None:
    lines = lines_of(cluster)
    watched = Watched(cluster, tmp_path)
    watched.batch([*lines[:10], *lines[11:20]])
    watched.finish()
    assert watched.verdict.verdict is Verdict.INCONCLUSIVE


def test_the_room_for_events_that_wait_is_bounded(cluster: Path, tmp_path: Path) -> None:
    lines = lines_of(cluster)
    for limits in (WatchLimits(events=5), WatchLimits(bytes=len(b"".join(lines[11:16])))):
        watched = Watched(cluster, tmp_path, limits)
        watched.batch([*lines[:10], *lines[11:16]])
        assert watched.rows == []
        watched.batch(lines[16:17])
        assert [row.verdict for row in watched.rows] == ["inconclusive"]
        assert watched.rows[0].reason.endswith("no more events can wait")
        assert watched.progress.waiting == []


def test_numbers_that_skip_some_are_no_gap_once_the_end_line_says_that_all_are_there(tmp_path: Path) -> None:
    path = write_cluster(tmp_path, "ordered", 2, 30)
    text = path.read_bytes()
    for seq in range(30, 9, -1):
        text = text.replace(b'"seq":%d,' % seq, b'"seq":%d,' % (seq * 10))
    path.write_bytes(text)
    watched = Watched(path, tmp_path)
    watched.batch(lines_of(path)[:-1])
    assert watched.rows == []
    watched.batch(lines_of(path)[-1:])
    assert untimed(watched.verdict) == untimed(check(path))
    assert watched.verdict.verdict is Verdict.HOLDS


@pytest.mark.parametrize(("first", "message"), [(12, "line 12 came after line 10"), (10, "line 10 came after line 10")])
def test_lines_that_the_stream_loses_or_doubles_are_an_internal_error(
    cluster: Path, tmp_path: Path, first: int, message: str
) -> None:
    lines = lines_of(cluster)
    watched = Watched(cluster, tmp_path)
    watched.batch(lines[:10])
    watched.batch([], SourceRow("lines", first, b"".join(lines[first - 1 :])))
    assert [row.verdict for row in watched.rows] == ["internal error"]
    assert watched.rows[0].reason == f"LinesMissingError at the initial state: {message}"


# ---- Notices ----


@pytest.mark.parametrize(
    ("row", "verdict", "reason"),
    [
        (SourceRow("gone", 0, b"x: it is gone"), "inconclusive", "x: it is gone; line 20 is the last that was read"),
        (SourceRow("fault", 0, b"x:9: too long"), "malformed", "x:9: too long"),
    ],
)
def test_a_file_that_is_gone_or_faulty_settles_its_trace(
    cluster: Path, tmp_path: Path, row: SourceRow, verdict: str, reason: str
) -> None:
    watched = Watched(cluster, tmp_path)
    watched.batch(lines_of(cluster)[:20], row)
    assert [each.verdict for each in watched.rows] == [verdict]
    assert watched.rows[0].reason.endswith(reason)
    assert watched.rows[0].events == 19
    ended = Watched(cluster, tmp_path)
    ended.batch(lines_of(cluster), row)
    assert [each.verdict for each in ended.rows] == ["holds"]


# ---- What is kept ----


def test_the_progress_has_the_same_bytes_for_the_same_lines(cluster: Path, tmp_path: Path) -> None:
    lines = lines_of(cluster)[:40]
    one = in_batches(cluster, tmp_path, lines, [])
    many = in_batches(cluster, tmp_path, lines, [1, 1, 2, 3, 5, 8, 13])
    assert replace_seconds(one.progress) == replace_seconds(many.progress)
    assert one.progress.state


def replace_seconds(progress: TraceProgress) -> bytes:
    progress.result.seconds = 0.0
    return progress.to_bytes()


def test_the_modules_and_the_compiled_spec_are_read_once_for_all_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    def noting(name: str) -> None:
        whole = getattr(spec_cache, name)

        def noted(*arguments: Any, **named: Any) -> Any:
            calls[name] += 1
            return whole(*arguments, **named)

        monkeypatch.setattr(spec_cache, name, noted)

    for name in ("spec_hash", "run_isolated"):  # a spec is compiled in a process of its own
        noting(name)
    monkeypatch.setattr("lockstep.systems.file_check.spec_hash", None)
    from_source = Spec.from_source
    monkeypatch.setattr(Spec, "from_source", lambda text: calls.update(["from_source"]) or from_source(text))
    for seed in (1, 2, 3):
        path = write_cluster(tmp_path, "ordered", seed, 20)
        watched = Watched(path, tmp_path)
        watched.batch(lines_of(path))
        assert [row.verdict for row in watched.rows] == ["holds"]
    assert calls == {"spec_hash": 1, "run_isolated": 1, "from_source": 1}


def test_a_spec_is_compiled_once_and_a_failure_is_tried_again(
    cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = lines_of(cluster)[0]
    noted = tmp_path / "noted"

    def failing(*args: object) -> None:
        with noted.open("a") as file:  # it is compiled in a process of its own
            file.write("tried\n")
        raise OSError("no space")

    with monkeypatch.context() as patched:
        patched.setattr("lockstep.pipeline.watch.spec_cache.trace_spec", failing)
        watched = Watched(cluster, tmp_path)
        watched.batch(lines_of(cluster)[:5])
    assert [row.verdict for row in watched.rows] == ["internal error"]
    SpecCache(tmp_path, {}).compile(header, "again")
    SpecCache(tmp_path, {}).compile(header, "and again")
    assert noted.read_text() == "tried\n"
    healed = Watched(cluster, tmp_path)
    healed.batch(lines_of(cluster))
    assert [row.verdict for row in healed.rows] == ["holds"]


@pytest.mark.parametrize(
    ("die", "message", "tries"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "died, as often as it was tried (SIGKILL)", MAX_ATTEMPTS),
        (lambda: time.sleep(3600), "did not end within 0.5 s", 1),
    ],
)
def test_a_spec_that_compiling_dies_of_makes_the_traces_that_need_it_inconclusive_and_is_tried_no_more(
    cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, die: Callable[[], None], message: str, tries: int
) -> None:
    noted = tmp_path / "noted"

    def dying(*args: object) -> None:
        with noted.open("a") as file:
            file.write("x")
        die()

    monkeypatch.setattr("lockstep.pipeline.watch.spec_cache.trace_spec", dying)
    specs = SpecCache(tmp_path, {}, 0.5)
    header, *_ = lines_of(cluster)
    specs.compile(header, "one")
    specs.compile(header, "another")
    assert len(noted.read_text()) == tries
    with pytest.raises(NoSpecError) as raised:
        specs.get(specs.hash_of(opened([header], "one").header, "one"), "one")
    found = raised.value.verdict
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, f"the compiling of its spec {message}")
