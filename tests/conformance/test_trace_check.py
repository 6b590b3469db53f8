"""The check of a trace against the spec: a trace that conforms holds, and a change of it is refused at its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.package_data import spec_dir
from lockstep.base.verdict import Verdict
from lockstep.systems.dledger import DLEDGER
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event, Header, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.choices import PUBLISHED, Config
from raftref.dledger.simulation import figure8, scenario_plan, truncated_tail
from tests.support.systems.simulated_traces import EVENTS, REPAIRED, as_event, check, header, last, simulated, tampered


def test_a_simulated_trace_is_a_behaviour_of_the_spec_and_every_property_holds() -> None:
    verdict = check(list(simulated()[1]))
    assert (verdict.verdict, verdict.findings) == (Verdict.HOLDS, [])
    assert verdict.events == verdict.steps == EVENTS


OTHER = {
    "role": "DOWN",
    "currTerm": 77,
    "currVoteFor": "n9",
    "leaderId": "n9",
    "ledgerBeginIndex": 5,
    "ledgerEndIndex": 77,
    "ledgerEndTerm": 77,
    "committedIndex": 77,
    "checkPoint": 77,
    "lastQuorumIndex": 77,
    "lastAppliedIndex": 77,
    "futures": {"#set": [{"index": 77, "entry": {"term": 77, "value": "x"}, "done": False}]},
    "log": [{"term": 77, "value": "x"}],
    "peerWaterMarks": {"n1": 77},
    "dispatchers": {"n3": {"type": "NONE"}},
    "writeRequestMap": {"#set": [{"kind": "request"}]},
    "compareOrTruncateRequests": [{"kind": "request"}],
    "acknowledged": {"#set": [{"index": 77, "entry": {"term": 77, "value": "x"}}]},
    "election": {"round": {"type": "VOTE"}},
}
#: Fields that a run shows only if its grain has messages of votes, queues, clients.
OF_FINER_GRAIN = {"election", "writeRequestMap", "compareOrTruncateRequests", "acknowledged"}


@pytest.mark.parametrize("name", sorted(OTHER))
def test_a_tampered_observation_is_refused_at_its_line_and_named(name: str) -> None:
    def wanted(event: Event) -> bool:
        return event.node == "n1" and name in {*event.shows, *OF_FINER_GRAIN} and event.shows["role"] != "DOWN"

    index = last(wanted)
    shows = {**simulated()[1][index].shows, name: OTHER[name]}
    verdict = check(tampered(index, shows=shows))
    assert verdict.verdict is Verdict.VIOLATED
    assert verdict.deviation is not None
    assert (verdict.deviation.kind, verdict.deviation.line) == ("shows", index + 2)
    assert verdict.deviation.name.startswith(name)
    assert "the trace shows" in verdict.deviation.details[0]


def test_the_tampered_observations_cover_every_observed_field_of_the_spec() -> None:
    text = DLEDGER.module.read_text(encoding="utf-8")
    fields = text.partition("Observe(n) ==")[2].partition("]\n")[0]
    assert all(name in fields for name in OTHER)
    assert fields.count("|->") == len(OTHER)


def test_a_tampered_message_is_not_under_way() -> None:
    index = last(lambda event: bool(event.sent) and event.action == "DoAppend")
    message = {**simulated()[1][index].sent[0], "commitIndex": 77}
    verdict = check(tampered(index, sent=(message,)))
    assert verdict.deviation is not None
    assert (verdict.deviation.kind, verdict.deviation.line) == ("sent", index + 2)


def test_a_tampered_parameter_is_no_step_of_the_spec() -> None:
    index = last(lambda event: event.action == "HandleDoAppend")
    message = {**simulated()[1][index].args["m"], "index": 77}
    verdict = check(tampered(index, args={"m": message}))
    assert verdict.deviation is not None
    assert (verdict.deviation.kind, verdict.deviation.line) == ("step", index + 2)


def test_an_event_that_was_dropped_is_missed() -> None:
    """The event is the first append, which later events push; a last append may be without consequence."""
    events = list(simulated()[1])
    del events[next(index for index, event in enumerate(events) if event.action == "AppendAsLeader")]
    assert check(events).verdict is Verdict.VIOLATED


def test_an_event_of_another_node_is_refused() -> None:
    index = last(lambda event: event.action == "AppendAsLeader")
    other = next(node for node in ("n1", "n2", "n3") if node != simulated()[1][index].node)
    assert check(tampered(index, node=other)).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"action": "DoNothing"}, "field `action`: the spec has no action 'DoNothing'"),
        ({"args": {}}, "field `args.value`: AppendAsLeader needs it"),
        ({"args": {"value": "v", "peer": "n2"}}, "field `args.peer`: AppendAsLeader has none such"),
        ({"args": {"value": "v", "n": "n2"}}, "field `args.n`: AppendAsLeader has none such"),
        (
            {"shows": {"currentTerm": 1}},
            "field `shows.currentTerm`: the spec shows no such field: did you mean currTerm or currVoteFor?",
        ),
        ({"action": "Observe"}, "field `args`: Observe takes none"),
    ],
)
def test_a_name_that_the_spec_does_not_know_is_malformed(changes: dict[str, Any], problem: str) -> None:
    index = last(lambda event: event.action == "AppendAsLeader")
    verdict = check(tampered(index, **changes))
    assert verdict.verdict is Verdict.MALFORMED
    assert verdict.reason == f"t:{index + 2}: {problem}"


def test_an_unknown_field_that_resembles_none_is_refused_with_a_list_of_the_fields() -> None:
    verdict = check(tampered(last(lambda event: event.action == "AppendAsLeader"), shows={"zzz": 1}))
    assert "no such field: it has acknowledged, checkPoint, committedIndex, " in verdict.reason


@pytest.mark.parametrize(
    ("action", "changes", "field"),
    [
        ("AppendAsLeader", {"args": {"value": 1}}, "args.value"),
        ("AppendAsLeader", {"args": {"value": None}}, None),
        ("DoCompare", {"args": {"peer": 3}}, "args.peer"),
        ("DoCompare", {"args": {"peer": "n9"}}, None),
        ("HandleDoCompare", {"args": {"m": {}}}, None),
        ("HandleDoCompare", {"args": {"m": [1]}}, None),
        ("DoCompare", {"sent": ({"kind": "request"},)}, "sent[0]"),
    ],
)
def test_a_value_of_another_type_is_refused_and_never_a_crash(
    action: str, changes: dict[str, Any], field: str | None
) -> None:
    index = last(lambda event: event.action == action)
    verdict = check(tampered(index, **changes))
    if field is None:
        assert verdict.verdict in (Verdict.VIOLATED, Verdict.MALFORMED)
    else:
        assert verdict.verdict is Verdict.MALFORMED
        assert verdict.reason.startswith(f"t:{index + 2}: field `{field}`: ")


def test_a_trace_without_events_is_inconclusive() -> None:
    assert check([]).verdict is Verdict.INCONCLUSIVE


def test_a_trace_of_observations_alone_is_inconclusive() -> None:
    event = Event(seq=0, node="n1", action="Observe", shows={"currTerm": 0})
    assert check([event]).verdict is Verdict.INCONCLUSIVE


def test_an_observation_between_steps_is_compared() -> None:
    event = Event(seq=0, node="n1", action="Observe", shows={"currTerm": 1})
    assert check([event]).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"Fifo": None}, "field `constants.Fifo`: missing"),
        ({"Fifo": "yes"}, 'field `constants.Fifo`: "yes" is not false or true'),
        ({"Fifo": 1}, "field `constants.Fifo`: 1 is not false or true"),
        ({"PriorTermCommit": "mended"}, 'field `constants.PriorTermCommit`: "mended" is not'),
        ({"Speed": 3}, "field `constants.Speed`: the spec has no such constant"),
        ({"Batches": True}, "field `constants`: the ASSUME at Choices.tla:"),  # without PendingMap
        pytest.param(
            {"VoteMessages": True, "StepwiseElections": False},
            "field `constants`: the ASSUME at Choices.tla:",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_header_with_other_constants_is_malformed(change: dict[str, Any], problem: str) -> None:
    head = simulated()[0]
    chosen = {name: value for name, value in {**head.constants, **change}.items() if value is not None}
    with pytest.raises(TraceError, match="t:1: ") as raised:
        check([], msgspec.structs.replace(head, constants=chosen))
    assert problem in str(raised.value)


def scenario(play: Callable[[Config], list[dict[str, Any]]]) -> tuple[Header, list[Event]]:
    return header(scenario_plan(PUBLISHED)), [as_event(tree) for tree in play(PUBLISHED)]


def test_figure_8_is_explained_as_published_and_violates_leader_completeness_at_the_election() -> None:
    head, events = scenario(figure8)
    verdict = check(events, head)
    assert verdict.deviation is None
    lost = verdict.violations["LeaderCompleteness"]
    assert (lost.action, events[lost.line - 2].node) == ("ChangeToLeader", "n2")
    assert verdict.violations["CommittedEntriesStayProp"].action == "HandleDoTruncate"


def test_figure_8_is_noticed_when_no_node_remembers_the_commit_any_more() -> None:
    """With the committing leader restarted before its rival wins: only the history holds the entry."""
    head = header(scenario_plan(PUBLISHED))
    events = [as_event(tree) for tree in figure8(PUBLISHED, restart_before_loss=True)]
    remembered = [event.shows["committedIndex"] for event in events[-6:]]
    verdict = check(events, head)
    assert (verdict.deviation, remembered) == (None, [-1] * 6)
    assert verdict.violations["LeaderCompleteness"].action == "ChangeToLeader"
    assert verdict.violations["CommittedEntriesStayProp"].action == "HandleDoTruncate"


def test_figure_8_leaves_the_repaired_spec_where_the_old_entry_is_committed() -> None:
    head, events = scenario(figure8)
    left = check(events, head, REPAIRED).deviation
    assert left is not None
    assert (left.action, left.name) == ("QuorumAckChecker", "committedIndex")
    assert left.details[0] == "committedIndex: the trace shows 0, the spec says -1"


def test_a_resurrected_tail_is_explained_as_published_and_refused_by_the_repaired_spec() -> None:
    head, events = scenario(truncated_tail)
    assert check(events, head).violations["RecoveryKeepsLogProp"].action == "Restart"
    left = check(events, head, REPAIRED).deviation
    assert left is not None
    assert (left.kind, left.action) == ("step", "Restart")


def source_line(location: str) -> str:
    """The text at FILE:LINE[:COLUMN] of the spec or the reference."""
    name, line = location.split(":")[:2]
    path = spec_dir() / "dledger" / name
    return path.read_text(encoding="utf-8").splitlines()[int(line) - 1]


def test_a_deviation_names_the_false_conjunct_with_both_values_and_the_lines_of_spec_and_reference() -> None:
    head, events = scenario(truncated_tail)
    left = check(events, head, REPAIRED).deviation
    assert left is not None
    assert "Scanned(node[n])" in left.details[0]
    assert [detail.split()[0] for detail in left.details[1:3]] == ["left:", "right:"]
    assert "Scanned(node[n])" in source_line(left.spec_line)
    assert "restart" in _near(left.reference_line)


def _near(location: str) -> str:
    name, line = location.split(":")
    path: Path = spec_dir().parent / name
    return "\n".join(path.read_text(encoding="utf-8").splitlines()[int(line) - 1 : int(line) + 2])


def test_memory_is_that_of_the_state_not_of_the_trace() -> None:
    """The check has judged the first event before it reads the last one."""
    head, events = simulated()
    seen: list[int] = []

    def lines() -> Iterator[bytes]:
        for number, line in enumerate(trace_lines(head, events)):
            seen.append(number)
            yield line

    trace = Trace(lines(), "t")
    assert len(seen) == 1
    next(iter(trace))
    assert len(seen) == 2
