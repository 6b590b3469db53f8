"""A recording that is imported while it is written becomes the trace that its import as a whole makes of it."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.systems.growing_import import ContradictedError
from lockstep.systems.hashicorp.growing_recording import PATIENCE_MS
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_files import imported_trace, recognised_format
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import Event, Header
from tests.support.places import ROOT
from tests.support.systems.hashicorp_recordings import simulated, written
from tests.support.systems.recording_lies import renumbered

CAPTURED = traces_dir() / "captured"
NAMES = [
    "dledger/dledger-0.2.7-figure8",
    "hashicorp/raft-1.7.3-quiet",
    *(
        pytest.param(name, marks=pytest.mark.nightly)
        for name in (
            *(f"dledger/dledger-0.2.7-{each}" for each in ("batch_push", "loss", "restarts", "truncate_restart")),
            *(f"hashicorp/raft-1.7.3-{each}" for each in ("snapshots", "torn_vote")),
        )
    ),
]

#: Recordings of servers that handle two requests at the same time, or one as they start.
RECORDED = [
    "compaction",
    "heartbeat_within_installation",
    "heartbeat_within_vote",
    *(
        pytest.param(name, marks=pytest.mark.nightly)
        for name in (
            "append_within_heartbeat",
            "heartbeat_before_the_term",
            "heartbeat_within_append",
            "replicated_within_a_vote",
            "request_before_observer",
        )
    ),
]


def recorded_file(name: str, folder: Path) -> Path:
    path = folder / "recorded.ndjson"
    path.write_bytes(lzma.decompress((ROOT / "tests" / "recorded" / f"raft-{name}.ndjson.xz").read_bytes()))
    return path


def grown(path: Path, until: Callable[[float], float], every: int = 30) -> tuple[Header | None, list[Event]]:
    """Import a recording line by line, and ask for events after some lines, up to a moment before the last one's."""
    known = recognised_format(path)
    assert known is not None
    recorder = SYSTEMS[known[0].spec].recorder
    assert recorder is not None
    importer, events = recorder().growing(str(path), trace_spec), list[Event]()
    for number, text in enumerate(path.read_bytes().splitlines(keepends=True)):
        importer.add(text)
        if number % every == 0:
            events += importer.events(until(json.loads(text)["t_ms"]))
    return importer.header, [*events, *importer.events(inf)]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_that_grows_becomes_the_same_trace(name: str) -> None:
    """LAG is longer than what is left here for lines that show what those above them mean."""
    path = CAPTURED / f"{name}.ndjson"
    whole = imported_trace(path)
    header, events = grown(path, lambda now: now - 200)
    assert header is not None
    assert header.constants == whole.header.constants
    assert events == list(whole.events)
    assert len(events) > 200


@pytest.mark.parametrize("name", RECORDED)
def test_requests_that_a_server_handles_at_the_same_time_become_the_same_steps(name: str, tmp_path: Path) -> None:
    path = recorded_file(name, tmp_path)
    _, events = grown(path, lambda now: now - 200, every=1)
    assert events == list(imported_trace(path).events)
    assert len(events) > 90


def test_a_vote_that_takes_too_long_is_no_step_with_the_heartbeat_that_came_meanwhile(tmp_path: Path) -> None:
    """The heartbeat is a step of its own by then; an import of all lines finds that the two are one."""
    path = recorded_file("heartbeat_within_vote", tmp_path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    known = [line for line in lines if line.get("by") == "appendEntries<processHeartbeat"][-1]
    stalled = [line for line in lines[known["seq"] + 3 : -1] if line.get("node") == known["node"]]
    others = [line for line in lines if line not in stalled]
    for line in (*stalled, others[-1]):
        line["t_ms"] += PATIENCE_MS + 1000
    path.write_bytes(b"".join(written(renumbered([*others[:-1], *stalled, others[-1]]))))
    whole, events = imported_trace(path).events, grown(path, lambda now: now - 200, every=1)[1]
    at_once, step_by_step = ([each.action for each in found if each.node == known["node"]] for found in (whole, events))
    assert at_once[-1] == "RequestVoteAroundHeartbeat"
    assert step_by_step[-2:] == ["AppendEntries", "RequestVote"]


@pytest.mark.parametrize(
    ("plan", "seed", "held_up"),
    [
        ("heartbeats beside", 8, 212),
        ("pipelines", 3, 131),
        *(
            pytest.param(*each, marks=pytest.mark.nightly)
            for each in (("heartbeats beside", 3, 441), ("pipelines", 6, 100))
        ),
    ],
)
def test_a_handler_that_takes_longer_than_the_events_lag_is_waited_for(
    plan: str, seed: int, held_up: int, tmp_path: Path
) -> None:
    """A server handles a heartbeat beside its main loop, or a request of a pipeline, and other lines come meanwhile."""
    lines, path = simulated(plan, seed), tmp_path / "simulated.ndjson"
    mark = {"heartbeats beside": "beside", "pipelines": "pipelined"}[plan]
    assert sum(mark in line for line in lines) > 10
    handled, following = lines[held_up : held_up + 2]
    assert (handled["kind"], handled.get("beside", False)) == ("recv", mark == "beside")
    assert following["kind"] != "respond"
    for line in lines[held_up + 1 :]:
        line["t_ms"] += 300
    path.write_bytes(b"".join(written(lines)))
    _, events = grown(path, lambda now: now - 100, every=1)
    assert events == list(imported_trace(path).events)
    assert len(events) > 150


def test_a_step_that_belongs_before_a_final_one_is_not_put_behind_it() -> None:
    """With no lag at all a line may come too late for its place."""
    refused = 0
    for name in ("loss", "restarts"):
        path = CAPTURED / "dledger" / f"dledger-0.2.7-{name}.ndjson"
        try:
            _, events = grown(path, lambda now: now, every=1)
        except ContradictedError as error:
            refused += 1
            assert "which has its place" in str(error)
        else:
            assert [each.line for each in events] == [each.line for each in imported_trace(path).events]
    assert refused > 0
