"""One recording of the files that the nodes of a group wrote: what it means, and which files are refused.

The files are recordings of the real systems, cut into what a recorder of each node would have written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.file_check import check
from lockstep.systems.growing_text import GrowingText
from lockstep.systems.merged_files import MergedFiles
from lockstep.systems.merged_order import ClockError
from lockstep.systems.node_recorder import MergeOptions
from lockstep.systems.trace_files import imported_trace
from lockstep.trace.json_lines import TraceError
from tests.support.programs.lockstep_command import lockstep
from tests.support.systems.hashicorp_recordings import simulated, written
from tests.support.systems.split_recordings import lines_of, split, without_deaths

CAPTURED = traces_dir() / "captured"
QUIET, TORN_VOTE = (CAPTURED / "hashicorp" / f"raft-1.7.3-{name}.ndjson" for name in ("quiet", "torn_vote"))
FAULT_FREE, FIGURE8, RESTARTS = (
    CAPTURED / "dledger" / f"dledger-0.2.7-{name}.ndjson" for name in ("fault_free", "figure8", "restarts")
)

#: By how much the clocks of three hosts differ, and since when these run, in milliseconds.
SKEWS = {"n0": 1.5, "n1": -1.5, "n2": 0.5, "n3": 1.0}
UPTIMES = {"n0": 0.0, "n1": 7_200_000.0, "n2": 86_400_000.0, "n3": 360_000.0}
#: What the clocks differ by at most; that of each start is known to a millisecond.
ONE_HOST = MergeOptions()
SKEW = MergeOptions(skew=5_000_000)


def merged(paths: Sequence[Path], options: MergeOptions = ONE_HOST, notes: list[str] | None = None) -> Path:
    """Merge files, and return the recording."""
    lines = MergedFiles(paths, options, ([] if notes is None else notes).append).lines(is_over=True)
    out = paths[0].parent / "group.ndjson"
    out.write_bytes(b"".join(lines))
    return out


def violated(verdict: TraceVerdict) -> list[str]:
    return sorted(finding.name for finding in verdict.findings)


# ---- What the recording means ----


NIGHTLY = pytest.mark.nightly
FIGURE8_BREAKS = [
    *("CommittedEntriesStayProp", "CommittedMonotonicProp", "IndexOrder", "LeaderCompleteness", "StateMachineSafety")
]
TORN_VOTE_BREAKS = ["CommittedEntriesStayProp", "LeaderCompleteness", "StateMachineSafety"]


@pytest.mark.parametrize(
    ("recording", "has_three_hosts", "breaks"),
    [
        pytest.param(QUIET, False, [], id="quiet"),
        pytest.param(FIGURE8, True, FIGURE8_BREAKS, id="figure 8 on three hosts"),
        pytest.param(FIGURE8, False, FIGURE8_BREAKS, id="figure 8", marks=NIGHTLY),
        pytest.param(RESTARTS, True, [], id="restarts on three hosts", marks=NIGHTLY),
        pytest.param(TORN_VOTE, True, TORN_VOTE_BREAKS, id="torn vote on three hosts", marks=NIGHTLY),
    ],
)
def test_the_files_of_the_nodes_mean_what_the_recording_of_the_group_means(
    recording: Path, has_three_hosts: bool, breaks: list[str], tmp_path: Path
) -> None:
    """Figure 8 loses a committed entry, and so does the torn vote: a merged recording must show it, too.

    Source: what traces/manifest.toml says of the whole recordings.
    """
    if has_three_hosts:
        path = merged(split(recording, tmp_path, skews_ms=SKEWS, uptimes_ms=UPTIMES), SKEW)
    else:
        path = merged(split(recording, tmp_path))
    found = check(path)
    assert found.verdict is (Verdict.VIOLATED if breaks else Verdict.HOLDS)
    assert violated(found) == breaks
    assert found.events > 150


@pytest.mark.parametrize(
    ("plan", "seed", "events", "mark", "changes"),
    [
        ("heartbeats beside", 7, 130, "beside", {}),
        pytest.param("pipelines", 1, 250, "pipelined", {}, marks=NIGHTLY),
        pytest.param("heartbeats beside", 6, 250, "beside", {"crash": 0.01, "restart": 0.1}, marks=NIGHTLY),
    ],
    ids=["heartbeats beside", "pipelines", "heartbeats beside, and servers that are killed"],
)
def test_heartbeats_beside_the_main_loop_and_pipelines_hold_after_the_merge(
    plan: str, seed: int, events: int, mark: str, changes: dict[str, float], tmp_path: Path
) -> None:
    """The network loses nothing here: no recorder of a server would see that."""
    whole = tmp_path / "simulated.ndjson"
    lines = simulated(plan, seed, events, loss=0.0, duplicate=0.0, **changes)
    whole.write_bytes(b"".join(written(lines)))
    path = merged(split(whole, tmp_path, changed=without_deaths))
    found = check(path)
    assert (found.verdict, found.forced) == (Verdict.HOLDS, []), found
    assert found.events > 0.75 * events
    header, *others = lines_of(path)
    assert header[{"beside": "fast_path", "pipelined": "pipeline"}[mark]] is True
    count = sum(line.get(mark, False) for line in others)
    assert count == sum(line.get(mark, False) for line in lines) > 5


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=NIGHTLY) for seed in range(4, 29))])
def test_requests_that_overtake_each_other_are_merged_and_hold(seed: int, tmp_path: Path) -> None:
    """The simulated network reorders all messages; two requests for a pre-vote may say the same."""
    whole = tmp_path / "simulated.ndjson"
    whole.write_bytes(b"".join(written(simulated("restarts", seed, 100, loss=0.0, duplicate=0.0))))
    found = check(merged(split(whole, tmp_path)))
    assert (found.verdict, found.forced) == (Verdict.HOLDS, []), found


def test_a_term_that_a_heartbeat_beside_the_main_loop_wrote_as_its_server_died_is_added(tmp_path: Path) -> None:
    """The server is killed between the write and its line; its next start finds the term."""
    lines = simulated("heartbeats beside", 60, loss=0.0, duplicate=0.0)
    by = "appendEntries<processHeartbeat"
    place = next(k for k, line in enumerate(lines) if (line["kind"], line.get("by")) == ("stable_set", by))
    lost = lines[place]
    own = [line for line in lines[:place] if line.get("node") == lost["node"]]
    assert not any(line["kind"] == "store_logs" for line in own if line["inc"])
    (start,) = (line for line in own if line["kind"] == "start")
    again = {
        **start,
        "inc": 2,
        "t_ms": lost["t_ms"] + 5,
        "persisted": start["persisted"] | {lost["key"]: lost["value"]},
    }
    whole = tmp_path / "simulated.ndjson"
    whole.write_bytes(b"".join(written([*lines[:place], again])))
    path = merged(split(whole, tmp_path))
    found = check(path)
    assert found.verdict is Verdict.HOLDS, found
    added = next(line for line in reversed(lines_of(path)) if line["kind"] == "stable_set")
    assert {name: added[name] for name in ("node", "by", "key", "value")} == {
        name: lost[name] for name in ("node", "by", "key", "value")
    }


def test_a_difference_of_the_clocks_that_is_not_stated_is_an_error_that_names_one_that_is_enough(
    tmp_path: Path,
) -> None:
    for recording in (FAULT_FREE, QUIET):
        paths = split(recording, tmp_path, skews_ms={"n1": 40.0}, uptimes_ms=UPTIMES)
        with pytest.raises(ClockError, match=r"n\d\.lines\.ndjson:\d+: n\d receives this ") as refused:
            merged(paths, MergeOptions(skew=5_000_000))
        said = re.search(r"by clocks that differ by 5 ms at most: \S+:\d+ is ([\d.]+) ms later", str(refused.value))
        assert said is not None, refused.value
        assert 20 < float(said[1]) < 41
        assert check(merged(paths, MergeOptions(skew=42_000_000))).verdict is Verdict.HOLDS


def test_files_of_several_hosts_have_no_order_by_the_clock_of_one(tmp_path: Path) -> None:
    paths = split(FAULT_FREE, tmp_path, uptimes_ms=UPTIMES)
    with pytest.raises(ClockError, match=r"by their clock: .* ms later; on several hosts, state that as --skew"):
        merged(paths)


def test_a_push_that_is_received_and_that_nobody_has_sent_is_an_error_at_its_line(tmp_path: Path) -> None:
    def unsent(lines: list[dict[str, Any]]) -> None:
        sent = [line for line in lines if line["kind"] == "send_push" and line["type"] == "APPEND"]
        sent[-1]["term"] += 5

    paths = split(FAULT_FREE, tmp_path, changed=unsent)
    with pytest.raises(ClockError, match=r"n\d receives this APPEND, and n\d has not sent it .* nor at any time"):
        merged(paths)


def test_an_entry_that_a_follower_stores_and_that_was_never_pushed_is_refused_after_the_merge(tmp_path: Path) -> None:
    def lie(lines: list[dict[str, Any]]) -> None:
        (stored, *_) = (line for line in lines[600:] if line.get("op") == "appendAsFollower")
        stored["val"] = "planted"

    assert check(merged(split(FAULT_FREE, tmp_path, changed=lie))).verdict is not Verdict.HOLDS


# ---- Deaths ----


def test_a_node_that_starts_again_without_having_stopped_was_killed(tmp_path: Path) -> None:
    """RESTARTS has five crashes and two orderly stops; no recorder writes of a crash."""
    whole, paths = lines_of(RESTARTS), split(RESTARTS, tmp_path)
    assert not any('"crash"' in path.read_text() for path in paths)
    found = lines_of(merged(paths))
    for kind in ("crash", "stop", "start", "recovered"):
        assert [line["node"] for line in found if line["kind"] == kind] == [
            line["node"] for line in whole if line["kind"] == kind
        ], kind
    crash = next(line for line in found if line["kind"] == "crash")
    known = next(line for line in whole if line["kind"] == "crash")
    assert crash["inc"] == known["inc"] == 1
    assert crash["st"].items() >= {name: known["st"][name] for name in ("role", "term", "end", "committed")}.items()


def test_a_checkpoint_whose_line_a_killed_node_did_not_write_is_added(tmp_path: Path) -> None:
    """The node comes back with a committed index that no line above says was saved."""
    lost: list[dict[str, Any]] = []

    def dies_before_the_line(lines: list[dict[str, Any]]) -> None:
        for crash in (line for line in lines if line["kind"] == "crash"):
            own = [line for line in lines if line.get("node") == crash["node"]]
            saved = [line for line in own[: own.index(crash)] if line["kind"] == "checkpoint"]
            found = next(line for line in own[own.index(crash) :] if line["kind"] == "recovered")["st"]["committed"]
            if found == saved[-1]["committedIndex"] > saved[-2]["committedIndex"]:
                lost.append(saved[-1])
                lines.remove(saved[-1])

    path = merged(split(RESTARTS, tmp_path, changed=dies_before_the_line))
    lines = lines_of(path)
    added = [line for line in lines if line["kind"] == "checkpoint" and lines[line["seq"] + 1]["kind"] == "crash"]
    assert [(line["node"], line["inc"], line["committedIndex"]) for line in added] == [
        (line["node"], line["inc"], line["committedIndex"]) for line in lost
    ]
    assert len(added) >= 2
    assert check(path).verdict is Verdict.HOLDS


def test_a_server_that_was_killed_stopped_with_what_its_next_start_finds(tmp_path: Path) -> None:
    found = lines_of(merged(split(TORN_VOTE, tmp_path, changed=without_deaths)))
    stopped = [line for line in found if line["kind"] == "stopped"]
    assert len(stopped) == 7
    for line in stopped:
        later = found[line["seq"] + 1]
        assert (later["kind"], later["node"], later["inc"]) == ("start", line["node"], line["inc"] + 1)
        assert line["persisted"] == later["persisted"]
    assert "LeaderCompleteness" in violated(check(tmp_path / "group.ndjson"))


# ---- Lines that are no records ----


def appended(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_last_line_that_is_cut_is_left_out_with_a_note(tmp_path: Path) -> None:
    paths = split(QUIET, tmp_path)
    before, notes = merged(paths).read_bytes(), list[str]()
    count = len(paths[1].read_text().splitlines())
    appended(paths[1], '{"kind":"sen')
    assert merged(paths, notes=notes).read_bytes() == before
    assert notes == [f"{paths[1]}:{count + 1}: the last line does not end, and is left out"]


@pytest.mark.parametrize("left", ["", '\0"t":123,"ki', '\0"t":12\0,"kind":"stop"}\n'])
def test_zeros_that_a_killed_process_has_mapped_and_not_written_are_no_text(left: str, tmp_path: Path) -> None:
    paths = split(QUIET, tmp_path)
    before, notes = merged(paths).read_bytes(), list[str]()
    appended(paths[1], left + "\0" * 200_000)
    assert merged(paths, notes=notes).read_bytes() == before
    assert notes == []


def test_a_last_line_that_is_cut_before_zeros_is_left_out_with_a_note(tmp_path: Path) -> None:
    paths = split(QUIET, tmp_path)
    before, notes = merged(paths).read_bytes(), list[str]()
    count = len(paths[1].read_text().splitlines())
    appended(paths[1], '{"kind":"sen' + "\0" * 100)
    assert merged(paths, notes=notes).read_bytes() == before
    assert notes == [f"{paths[1]}:{count + 1}: the last line does not end, and is left out"]


@pytest.mark.parametrize("zeros", [1, 100_000])
def test_lines_after_a_zero_are_an_error_and_not_lost(zeros: int, tmp_path: Path) -> None:
    paths = split(FAULT_FREE, tmp_path)
    lines = paths[0].read_text().splitlines(keepends=True)
    paths[0].write_text("".join([*lines[:20], "\0" * zeros, *lines[20:]]))
    with pytest.raises(TraceError, match=r"n0\.lines\.ndjson:21: a zero byte, and lines after it"):
        merged(paths)


def test_a_line_is_there_once_its_first_byte_is_written_and_the_size_is_that_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "n0.rec"
    with path.open("w+b", buffering=0) as file:
        file.write(b"first\n" + b"\0" * 70_000)
        text = GrowingText(path)
        assert (text.line(), text.line(), text.size) == (b"first\n", None, 6)
        file.seek(7)
        file.write(b"econd\n")
        assert (text.line(), text.size) == (None, 6)
        file.seek(6)
        file.write(b"s")
        assert (text.size, text.line(), text.line(), text.rest()) == (13, b"second\n", None, b"")
        file.seek(13)
        file.write(b"l" * 69_000)
        assert (text.line(), len(text.rest()), text.size) == (None, 69_000, 69_013)
        file.write(b"\n")
        assert (len(text.line() or b""), text.offset) == (69_001, 69_014)


def test_a_text_that_grows_while_it_is_looked_at_is_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "n0.rec"
    path.write_bytes(b"first\n\0two\nthree\n")
    text = GrowingText(path)
    assert (text.line(), text.line(), text.goes_on()) == (b"first\n", None, True)
    path.write_bytes(b"first\nstwo\nthree\n" + b"\0" * 100)
    assert text.goes_on() is False
    assert (text.line(), text.line(), text.line()) == (b"stwo\n", b"three\n", None)


def test_a_line_that_is_cut_by_the_death_of_its_process_is_left_out_with_a_note(tmp_path: Path) -> None:
    paths = split(RESTARTS, tmp_path)
    before, notes = merged(paths).read_bytes(), list[str]()
    lines = paths[0].read_text().splitlines(keepends=True)
    place = [number for number, line in enumerate(lines) if '"kind":"start"' in line][1]
    paths[0].write_text("".join([*lines[:place], '{"t":123,"ki\n', *lines[place:]]))
    assert merged(paths, notes=notes).read_bytes() == before
    assert notes == [f"{paths[0]}:{place + 1}: a line that a dying process did not finish is left out"]


@pytest.mark.parametrize("cut", ['{"t":123,"ki\n', '"node":"n0","inc":1}\n', 'ready {"t":5,"kind":"stop"}\n'])
def test_a_line_that_is_cut_anywhere_else_is_an_error(cut: str, tmp_path: Path) -> None:
    paths = split(FAULT_FREE, tmp_path)
    lines = paths[0].read_text().splitlines(keepends=True)
    paths[0].write_text("".join([*lines[:20], cut, *lines[20:]]))
    with pytest.raises(TraceError, match=r"n0\.lines\.ndjson:21: "):
        merged(paths)


def test_what_the_program_prints_between_the_lines_is_noise_that_a_note_counts(tmp_path: Path) -> None:
    paths = split(QUIET, tmp_path)
    before, notes = merged(paths).read_bytes(), list[str]()
    lines = paths[0].read_text().splitlines(keepends=True)
    noisy = ["n1 listens on 127.0.0.1:12001\n", *lines[:9], "\n", "Warning: no license\n", *lines[9:], "bye"]
    paths[0].write_text("".join(noisy))
    assert merged(paths, notes=notes).read_bytes() == before
    assert len(notes) == 2
    assert "2 lines were skipped as noise" in notes[1]
    assert f"the first is {paths[0]}:1: 'n1 listens on 127.0.0.1:12001'" in notes[1]


def test_what_a_program_prints_into_a_recording_is_noise_and_its_lines_are_those_of_the_file(tmp_path: Path) -> None:
    for recording in (QUIET, FAULT_FREE):
        lines = recording.read_text().splitlines(keepends=True)
        noisy = tmp_path / "noisy.ndjson"
        noisy.write_text("".join([*lines[:50], "a line of stdout\n", *lines[50:]]))
        found, whole = imported_trace(noisy), imported_trace(recording)
        assert [each.line for each in found] == [each.line + ((each.line or 0) > 50) for each in whole if each.line]
        assert len(found.events) > 200
        (note,) = found.summary.notes
        assert "1 line was skipped as noise" in note
        assert "noisy.ndjson:51: 'a line of stdout'" in note
        noisy.write_text("".join([*lines[:50], lines[50][:40] + "\n", *lines[50:]]))
        with pytest.raises(TraceError, match=r"noisy\.ndjson:51: "):
            imported_trace(noisy)


# ---- Files that do not fit ----


def changed_file(path: Path, number: int, change: Callable[[dict[str, Any]], Any]) -> None:
    lines = path.read_text().splitlines(keepends=True)
    line = json.loads(lines[number - 1])
    change(line)
    lines[number - 1] = json.dumps(line) + "\n"
    path.write_text("".join(lines))


def first_number(path: Path, *words: str) -> int:
    texts = path.read_text().splitlines()
    return next(number for number, text in enumerate(texts, start=1) if all(word in text for word in words))


DLEDGER_MISTAKES: list[tuple[tuple[str, ...], Callable[[dict[str, Any]], Any], str]] = [
    (('"recv_push"',), lambda line: line.pop("commitIndex"), "field `commitIndex`: missing"),
    (('"recv_push"',), lambda line: line.pop("mid"), "field `mid`: missing"),
    (('"recv_push"',), lambda line: line.update(mid=7), "field `mid`: 7 is no name of a push"),
    (('"resp_push"',), lambda line: line.update(mid="n9/1"), "field `mid`: no line above sends or receives the push"),
    (('"store"',), lambda line: line.update(colour="red"), "field `colour`: unknown"),
    (('"store"',), lambda line: line["st"].pop("end"), "field `st.end`: missing"),
    (('"role"',), lambda line: line.pop("kind"), "field `kind`: "),
    (('"role"',), lambda line: line.pop("node"), "field `node`: missing"),
    (('"role"',), lambda line: line.update(node="n7"), "field `node`: the lines above are of 'n1'"),
    (('"role"',), lambda line: line.pop("t"), "field `t`: missing"),
    (('"role"',), lambda line: line.update(t="soon"), "field `t`: 'soon' is no moment"),
    (('"role"',), lambda line: line.update(t=1), "the clock goes back by "),
    (('"start"',), lambda line: line.update(version="0.4.0"), "field `version`: '0.4.0', and '0.2.7' at "),
    (('"start"',), lambda line: line.update(members=["n0", "n1", "n2", "n5"]), "field `members`: n5 is a member of"),
    (('"start"',), lambda line: line.update(members="n0"), "field `members`: 'n0' is no list of nodes"),
]


@pytest.mark.parametrize(("words", "change", "said"), DLEDGER_MISTAKES, ids=[said for _, _, said in DLEDGER_MISTAKES])
def test_a_line_of_a_node_of_java_that_is_none_is_named_with_its_field(
    words: tuple[str, ...], change: Callable[[dict[str, Any]], Any], said: str, tmp_path: Path
) -> None:
    paths = split(FAULT_FREE, tmp_path)
    number = first_number(paths[1], *words)
    changed_file(paths[1], number, change)
    with pytest.raises(TraceError) as refused:
        merged(paths)
    assert str(refused.value).startswith((f"{paths[1]}:{number}: {said}", f"{paths[0]}:1: {said}")), refused.value


HASHICORP_MISTAKES: list[tuple[str, Callable[[dict[str, Any]], Any], str]] = [
    ('"send"', lambda line: line["body"].pop("term"), "field `body.term`: missing"),
    ('"reply_recv"', lambda line: line.update(rpc=99), "field `rpc`: n2 has no call 99 under way"),
    ('"state"', lambda line: line.pop("by"), "field `by`: missing"),
    ('"start"', lambda line: line["persisted"].pop("first"), "field `persisted.first`: missing"),
    ('"header"', lambda line: line.update(library_version="v1.8.0"), "field `library_version`: 'v1.8.0', and 'v1.7.3'"),
    ('"header"', lambda line: line["config"].update(trailing_logs=1), "field `config.trailing_logs`: 1, and 10240 at "),
    ('"header"', lambda line: line.pop("config"), "field `config`: missing"),
]


@pytest.mark.parametrize(
    ("kind", "change", "said"), HASHICORP_MISTAKES, ids=[said for _, _, said in HASHICORP_MISTAKES]
)
def test_a_line_of_a_server_of_go_that_is_none_is_named_with_its_field(
    kind: str, change: Callable[[dict[str, Any]], Any], said: str, tmp_path: Path
) -> None:
    paths = split(QUIET, tmp_path)
    own = paths[2] if kind == '"header"' else next(path for path in paths if '"reply_recv"' in path.read_text())
    number = first_number(own, f'"kind":{kind}')
    changed_file(own, number, change)
    with pytest.raises(TraceError) as refused:
        merged(paths)
    assert str(refused.value).startswith(f"{own}:{number}: {said.replace('n2', own.name[:2])}"), refused.value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "n2.lines.ndjson:1: the file has no whole line"),
        ('{"at":', "n2.lines.ndjson:1: the file has no whole line"),
        ("hello\n", "n2.lines.ndjson:1: the line is not of the form"),
        ("[]\n", "n2.lines.ndjson:1: "),
        ('{"kind":"stop","node":"n2"}\n', "n2.lines.ndjson:1: no line here is of the start of a node"),
        ('{"kind":"start","node":"n2"}\n', "n2.lines.ndjson:1: no line of a recorder of "),
        ('{"kind":"start","node":"n1","at":1.0}\n', "n2.lines.ndjson:1: no line of a recorder of "),
    ],
)
def test_a_file_that_is_none_of_a_recorder_is_named(text: str, said: str, tmp_path: Path) -> None:
    paths = split(QUIET, tmp_path)
    paths[1].write_text(text)
    with pytest.raises(BadInputError, match=re.escape(said)):
        merged(paths)


def test_files_of_two_systems_are_of_no_group(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    paths = [split(QUIET, tmp_path)[0], split(FAULT_FREE, tmp_path / "other")[0]]
    with pytest.raises(BadInputError, match=r"the files are of hashicorp/raft .* and DLedger .*: one recording"):
        merged(paths)


def test_a_file_that_is_named_twice_is_refused(tmp_path: Path) -> None:
    paths = split(FAULT_FREE, tmp_path)
    with pytest.raises(BadInputError, match=r"n0\.lines\.ndjson: this file is named twice"):
        merged([*paths, paths[0]])


def test_the_file_of_one_node_is_no_trace_and_no_recording(tmp_path: Path) -> None:
    for recording in (QUIET, FAULT_FREE):
        path = split(recording, tmp_path)[0]
        said = r":1: the file of one node of .*: `lockstep merge` makes a recording of those of all nodes"
        with pytest.raises(TraceError, match=said):
            imported_trace(path)
        found = check(path)
        assert (found.verdict, re.search(said, found.reason) is not None) == (Verdict.MALFORMED, True)


# ---- The command ----


def test_the_command_writes_a_recording_that_check_takes(tmp_path: Path) -> None:
    files = [path.name for path in split(QUIET, tmp_path)]
    appended(tmp_path / files[0], '{"kind":')
    done = lockstep("merge", *files, "-o", "group.ndjson", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (
        0,
        "group.ndjson: 299 lines of a group of hashicorp/raft, from 3 files\n",
    )
    assert done.stderr.startswith("note: n1.lines.ndjson:")
    checked = lockstep("check", "group.ndjson", cwd=tmp_path)
    assert (checked.returncode, checked.stdout.split(" (")[0]) == (
        0,
        "group.ndjson: holds: a behaviour of the spec; every property holds",
    )


def test_the_command_writes_nothing_where_the_files_have_no_order(tmp_path: Path) -> None:
    files = [path.name for path in split(FAULT_FREE, tmp_path, uptimes_ms=UPTIMES)]
    done = lockstep("merge", *files, "-o", "group.ndjson", cwd=tmp_path)
    assert done.returncode == 2
    assert re.match(r"lockstep: n\d\.lines\.ndjson:\d+: n\d receives this ", done.stderr)
    assert not (tmp_path / "group.ndjson").exists()


def test_the_command_does_not_overwrite_a_file_that_it_reads(tmp_path: Path) -> None:
    files = [path.name for path in split(QUIET, tmp_path)]
    done = lockstep("merge", *files, "-o", files[0], cwd=tmp_path)
    assert (done.returncode, "would overwrite what it is made of" in done.stderr) == (2, True)
