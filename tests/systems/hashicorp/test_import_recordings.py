"""Recordings of hashicorp/raft: true ones are behaviours of the spec, false ones are not, others are refused."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.file_check import check
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp.recording_import import _CHANGES, _READERS, import_lines
from lockstep.systems.hashicorp.recording_reader import RECORDING
from lockstep.systems.hashicorp.recording_replay import RecordingReplay, fields
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Fcn
from lockstep.trace.imported_trace import Imported
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.sampling import sampled
from tests.support.systems.hashicorp_recordings import PLANS, simulated, written
from tests.support.systems.recording_lies import LIES, renumbered, with_lie

CAPTURED = traces_dir() / "captured" / "hashicorp"
Lines = list[dict[str, Any]]

CLUSTERS = [(plan, seed) for plan in PLANS for seed in range(1, 26)]
CLUSTERS += [("quiet", 37), ("transfers", 59), ("transfers", 60)]

#: The first, that of every run, has all that may happen; each of the others, an order of lines that was once misread.
SAMPLE = [
    ("snapshots and chaos among five", 2),
    ("snapshots", 4),  # a snapshot is saved between the building of a request and its sending
    ("torn votes", 2),  # two peers answer from a higher term, and the routine of one of them goes on
    ("quiet", 15),  # an answer to an earlier leadership of a server arrives
    ("quiet", 37),  # an answer that was not needed to commit is never acted on
    ("transfers", 59),  # entries are stored between the building of a TimeoutNow and its sending
    ("transfers", 60),  # a handler changes what the next request would say
    ("pipelines and snapshots", 15),  # a leadership ends, and a routine sends what it might have sent before
    ("heartbeats beside, without pre-votes", 4),  # a heartbeat comes between winning and leading
]


def imported(lines: Lines) -> Imported:
    return import_lines(written(lines), "r", trace_spec)


def checked(lines: Lines) -> TraceVerdict:
    found = imported(lines)
    trace = Trace(trace_lines(found.header, found.events), "r")
    spec = trace_spec(trace.header, "r")
    return check_trace(trace, spec, HASHICORP.interface(spec))


@pytest.mark.parametrize(("plan", "seed"), sampled(CLUSTERS, SAMPLE[:1]))
def test_a_true_recording_is_a_behaviour_of_the_spec(plan: str, seed: int) -> None:
    """In any order that the recorder may choose; with the library's flaws a property may fail."""
    lines = simulated(plan, seed)
    found = checked(lines)
    assert found.deviation is None, found.deviation
    assert found.forced == []


def noticed(lines: Lines, violated: set[str]) -> bool:
    try:
        found = checked(lines)
    except TraceError:
        return True
    assert found.verdict in (Verdict.HOLDS, Verdict.VIOLATED), found.reason
    return found.deviation is not None or not found.violations.keys() <= violated


#: The least share of each kind of lie that is noticed, of those planted: each has a consequence that is recorded.
LEAST_SHARE = 0.95


#: Lies that only one thing contradicts, and what that is.
LIES_TO_NOTICE = [
    ("entries are stored one place further", "restless", 1),  # the log of the spec
    ("AppendEntries is answered the other way", "restarts", 1),  # the spec's answer, which nobody awaits
    ("a refused vote is granted", "restless", 1),  # the same
    ("a request says that one entry more is committed", "torn votes", 2),  # the spec's request, which nobody awaits
    ("the candidate of a vote is not written", "restarts", 2),  # the number of writes: the value was there before
    ("a term is not written", "torn votes", 2),  # the same
    ("a term is written one too high", "snapshots and chaos among five", 4),  # the term that NewRaft has read
    ("entries are not stored", "transfers", 1),  # what the store holds at the end
    ("a snapshot is not saved", "snapshots", 4),  # the same
    ("a change of role is left out", "restless", 1),  # the role that a line shows
]


@pytest.mark.parametrize(("kind", "plan", "seed"), LIES_TO_NOTICE)
def test_a_lie_is_noticed(kind: str, plan: str, seed: int) -> None:
    lines = simulated(plan, seed)
    lied = with_lie(lines, kind, random.Random(seed))
    assert lied is not None
    assert noticed(lied, set(checked(lines).violations))


def test_another_goroutine_may_show_a_role_before_its_line() -> None:
    lines = quiet()
    place = next(k for k, line in enumerate(lines) if line["kind"] == "state" and line["state"] == "Leader")
    before = next(k for k in range(place, 0, -1) if k < place and lines[k].get("node") == lines[place]["node"])
    lines[before]["obs"]["role"] = "Leader"
    assert checked(lines).deviation is None
    lines[before]["obs"]["role"] = "Follower"
    found = checked(lines).deviation
    assert found is not None
    assert (found.action, found.name) == ("Observe", "role")


def test_a_role_that_a_line_shows_and_a_later_one_does_not_must_have_been_recorded_between_them() -> None:
    lines = quiet()
    place = next(k for k, line in enumerate(lines) if line["kind"] == "state" and line["state"] == "Leader")
    node = lines[place]["node"]
    *_, early, later = (k for k in range(place) if lines[k].get("node") == node and "obs" in lines[k])
    assert {lines[k]["obs"]["role"] for k in (early, later)} == {"Candidate"}
    lines[early]["obs"]["role"] = "Leader"
    found = checked(lines).deviation
    assert found is not None
    assert (found.action, found.name) == ("Observe", "role")


def test_the_first_write_of_a_process_is_compared_by_its_key() -> None:
    lines = quiet()
    start = next(line for line in lines if line.get("by") == "NewRaft")
    start |= {"key": "LastVoteTerm", "value": 7}
    found = checked(lines).deviation
    assert found is not None
    assert (found.action, found.name) == ("Observe", "lastVoteTerm")


@pytest.mark.parametrize(("before", "after", "sends"), [(0, 1, True), (1, 1, False), (1, 2, True)])
def test_a_step_has_sent_a_message_if_one_copy_more_is_under_way(before: int, after: int, sends: bool) -> None:
    spec = trace_spec(imported(quiet()).header, "r")
    replay = RecordingReplay(spec, lambda _node: None)
    first, second = sorted(fields(replay.state["node"]))[:2]
    tree = {"kind": "request", "type": "Heartbeat", "src": first, "dst": second, "term": 1}
    message = Fcn({**tree, "awaited": False})
    empty = replay.state

    def with_copies(count: int) -> State:
        network = fields(empty["network"])
        channels = Fcn({**fields(network[first]), second: Fcn({message: count} if count else {})})
        return empty.replace(network=Fcn({**network, first: channels}))

    replay.state = with_copies(before)
    assert replay.sends(tree, with_copies(after)) is sends


@pytest.mark.nightly
def test_most_lies_are_noticed() -> None:
    tried, found = Counter[str](), Counter[str]()
    for plan in PLANS:
        for seed in (1, 2):
            lines = simulated(plan, seed)
            true = set(checked(lines).violations)
            for kind in LIES:
                lied = with_lie(lines, kind, random.Random(seed))
                if lied is not None:
                    tried[kind] += 1
                    found[kind] += noticed(lied, true)
    assert too_few(tried, found) == {}


def too_few(tried: Counter[str], found: Counter[str]) -> dict[str, str]:
    """The lies that were noticed too seldom, or could not be planted, so that nothing is shown of them."""
    said = {kind: f"{found[kind]} of {tried[kind]}" for kind in LIES}
    return {kind: said[kind] for kind in LIES if not tried[kind] or found[kind] < LEAST_SHARE * tried[kind]}


def test_a_lie_that_was_never_planted_is_no_pass() -> None:
    tried = Counter(dict.fromkeys(LIES, 10))
    assert too_few(tried, tried) == {}
    assert too_few(tried, tried - Counter({"entries are not stored": 2})) == {"entries are not stored": "8 of 10"}
    del tried["a log is not compacted"]
    assert too_few(tried, tried) == {"a log is not compacted": "0 of 0"}


# ---- What is refused ----


def quiet() -> Lines:
    text = (CAPTURED / "raft-1.7.3-quiet.ndjson").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _set(lines: Lines, kind: str, name: str, value: Any) -> None:
    place = [each for each in lines if each["kind"] == kind][-1]
    *path, last = name.split(".")
    for part in path:
        place = place[part]
    place[last] = value


def _without(lines: Lines, kind: str, name: str) -> None:
    del [each for each in lines if each["kind"] == kind][-1][name]


def _first_voters(lines: Lines, voters: str) -> None:
    start = next(each for each in lines if each["kind"] == "start")
    start["persisted"]["log"] = [{"i": 1, "t": 1, "type": "Configuration", "v": voters}]


def _reconfigured(lines: Lines, voters: str) -> dict[str, Any]:
    """Let the last entry that a leader stores for a client be a configuration, and return its line."""
    line = [each for each in lines if each.get("by") == "dispatchLogs<leaderLoop"][-1]
    entry = line["entries"][0]
    line |= {"by": "dispatchLogs<appendConfigurationEntry"}
    line["entries"] = [{"i": entry["i"], "t": entry["t"], "type": "Configuration", "v": voters}]
    return line


BAD: dict[str, tuple[Callable[[Lines], Any], str]] = {
    "another schema": (lambda ls: _set(ls, "header", "schema", "hcraft-capture-2"), "r:1: field `schema`: "),
    "another version": (lambda ls: _set(ls, "header", "library_version", "v1.6.0"), "r:1: field `library_version`: "),
    "half a pipeline": (lambda ls: _set(ls, "header", "pipeline", "some"), "r:1: field `pipeline`: "),
    "an unknown kind": (lambda ls: _set(ls, "recv", "kind", "barrier"), "field `kind`: "),
    "an unknown field": (lambda ls: _set(ls, "recv", "color", 1), "field `color`: unknown"),
    "an unknown field within": (lambda ls: _set(ls, "recv", "body.color", 1), "field `body.color`: unknown"),
    "a missing field": (lambda ls: _without(ls, "respond", "rpc"), "field `rpc`: missing"),
    "another type": (lambda ls: _set(ls, "stable_set", "value", True), "field `value`: "),
    "an unknown node": (lambda ls: _set(ls, "send", "to", "n9"), "field `to`: 'n9' is not in the header"),
    "another life": (lambda ls: _set(ls, "fsm_apply", "inc", 7), "field `inc`: 7, but "),
    "an unknown function": (lambda ls: _set(ls, "state", "by", "run<main"), "field `by`: "),
    "an answer to nothing": (lambda ls: _set(ls, "respond", "rpc", 99_999), "field `rpc`: "),
    "a call of nobody": (lambda ls: _set(ls, "reply_recv", "rpc", 99_999), "field `rpc`: "),
    "a gap": (lambda ls: ls.pop(-3), "field `seq`: "),
    "no end": (lambda ls: ls.pop(), "it has no end line"),
    "a wrong count": (lambda ls: _set(ls, "end", "events", 3), "field `events`: the end line counts 3, "),
    "two changes at once": (lambda ls: _reconfigured(ls, "n1"), "'n1' is no change of one server"),
    "other first voters": (
        lambda ls: _first_voters(ls, "n2,n3"),
        "field `persisted.log`: n2,n3 are not the first servers of the header",
    ),
    "another time": (lambda ls: _set(ls, "final", "t_ms", 0.0), "field `t_ms`: "),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_recording_is_refused_with_line_and_field(name: str) -> None:
    change, said = BAD[name]
    lines = quiet()
    change(lines)
    with pytest.raises(TraceError, match=r"^r:\d+: ") as error:
        imported(lines)
    assert said in str(error.value)


def test_a_configuration_that_a_leader_stores_is_a_change_of_one_server() -> None:
    """Source: appendConfigurationEntry, which stores the entry by dispatchLogs."""
    lines = quiet()
    line = _reconfigured(lines, "n1,n2")
    (change,) = [event for event in imported(lines).events if event.action == "AppendConfigurationEntry"]
    assert (change.node, change.args["command"], change.args["server"]) == (line["node"], "RemoveServer", "n3")


def test_every_kind_of_line_is_read_or_known_to_be_none_of_the_specs() -> None:
    """A kind that nobody reads would pass in silence."""
    noise = {"header", "end", "started", "stop_begin", "client_req", "client_resp"}
    noise |= {"partition", "heal", "cut_oneway", "script", "faults_off", "hb_failed_obs", "hb_resumed_obs"}
    kinds = {str(kind.__struct_config__.tag) for kind in RECORDING.kinds.__args__}
    assert {str(kind.__struct_config__.tag) for kind in _READERS} == kinds - noise


def test_a_line_left_out_of_a_recording_is_missed_where_the_next_one_needs_it() -> None:
    lines = quiet()
    place = next(k for k, line in enumerate(lines) if line["kind"] == "state" and line["state"] == "Leader")
    found = checked(renumbered(lines[:place] + lines[place + 1 :]))
    assert found.deviation is not None
    assert ("Leader", "runCandidate") in _CHANGES


def test_a_call_of_an_earlier_leadership_that_fails_leaves_the_pipeline_of_the_present_one_open() -> None:
    """n1 leads again while calls of its pipelines of the term before wait for their answers, until they time out."""
    found = check(CAPTURED / "raft-1.8.0-transfer_flag_left.ndjson")
    assert found.deviation is None, found.deviation
    assert found.violations.keys() == {"TransferIsOwn"}


@pytest.mark.parametrize("sends_on", [False, True], ids=["at once", "behind what its routine sends on it"])
def test_a_pipeline_is_closed_at_the_error_of_a_call_unless_its_routine_sends_on(sends_on: bool) -> None:
    """The decoder learns of an error first, and the routine may send once more; then it makes a single call."""
    lines = simulated("pipelines and snapshots", 3, 100, loss=0.0)
    failed = [k for k, line in enumerate(lines) if (line["kind"], line.get("peer")) == ("rpc_error", "n3")]
    sent = [k for k, line in enumerate(lines[: failed[0]]) if line.get("pipelined") and line["to"] == "n3"]
    if sends_on:
        moment = {"t_ms": lines[sent[-1]]["t_ms"]}
        lines.insert(sent[-1], lines.pop(failed[0]) | moment)
    found = imported(renumbered(lines))
    steps = [event for event in found.events if event.node == "n2" and event.args.get("peer") == "n3"]
    closes = next(k for k, event in enumerate(steps) if event.action == "RPCError")
    assert found.summary.refuted is None
    assert steps[closes].line == 1 + failed[sends_on]
    assert [event.action for event in steps[:closes]].count("PipelineSend") == len(sent)


def test_a_follower_on_which_shutdown_is_called_may_write_its_term_once_more() -> None:
    """Source: appendEntries, whose `getState() != Follower` holds once Shutdown was called."""
    lines = quiet()
    place = next(k for k, line in enumerate(lines) if line["kind"] == "recv" and line["body"].get("prev_index"))
    term = lines[place]["body"]["term"]
    asked, follows, writes = (
        {**{name: lines[place][name] for name in ("t_ms", "node", "inc", "obs")}, **fields}
        for fields in (
            {"kind": "state", "state": "Shutdown", "by": "Shutdown"},
            {"kind": "state", "state": "Follower", "by": "appendEntries<processRPC"},
            {"kind": "stable_set", "key": "CurrentTerm", "value": term, "by": "appendEntries<processRPC"},
        )
    )
    for lead, holds in (([asked, follows, writes], True), ([follows, writes], False)):
        changed = renumbered([*lines[: place + 1], *lead, *lines[place + 1 :]])
        assert (checked(changed).deviation is None) == holds
