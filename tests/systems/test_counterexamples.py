"""traces/counterexamples: the flawed spec explains each trace, the repaired one refuses it, the reference takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.json_values import Words, to_value
from lockstep.conformance.trace_check import TraceCheck
from lockstep.jobs.minimise_trace import minimise
from lockstep.jobs.view.trace_view import view_trace
from lockstep.report.page.page_content import page_content
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.state import State
from lockstep.trace.trace_format import OBSERVE, Event, Header, write_trace
from raftref.action import NotEnabled
from raftref.dledger.choices import Flaw as DLedgerFlaw
from raftref.hashicorp.choices import Flaw
from tests.scripts.counterexamples import tool
from tests.scripts.counterexamples.index import table
from tests.scripts.counterexamples.tool import CHOSEN, FOLDER, Counterexample, cluster_of, counterexamples, judged
from tests.support.sampling import sampled

ROWS = {row.switch: row for row in counterexamples()}
SAMPLE = ("StaleCompareIndex", "ReplayUncommitted")
#: Flaws that keep something from happening: no finite trace of one violates anything.
LIVENESS = (
    *("RepeatedPush", "HighTermLaggard"),
    *("LongerLogOlderTerm", "KnownLeaderRejected", "MatchWithoutRecalculate", "ReapedInstall"),
    *("CompactedPrevRejected", "UnknownCandidateRejected"),
)

each_flaw = pytest.mark.parametrize("switch", sampled(ROWS, SAMPLE))


def test_every_flaw_has_a_counterexample() -> None:
    assert ROWS.keys() == {str(flaw) for flaw in (*DLedgerFlaw, *Flaw)}
    assert {row.file for row in ROWS.values()} == {
        str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.trace.ndjson")
    }


def test_the_index_tells_what_the_manifest_has() -> None:
    assert table(tuple(ROWS.values())) in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_story_has_at_most_ten_sentences() -> None:
    for page in sorted({row.path.parent / "README.md" for row in ROWS.values()}):
        sections = page.read_text(encoding="utf-8").split("\n## ")[1:]
        for section in sections:
            name, _, story = section.partition("\n")
            prose = " ".join(line for line in story.splitlines() if not line.startswith(("```", "    ", "[")))
            sentences = [part for part in prose.replace(":", ".").split(". ") if part.strip()]
            assert 3 <= len(sentences) <= 10 + prose.count(":"), f"{page}: {name}"


def test_every_trace_is_listed_on_the_page_of_its_folder() -> None:
    for row in ROWS.values():
        page = (row.path.parent / "README.md").read_text(encoding="utf-8")
        assert f"\n## {row.switch}\n" in page
        assert f"({row.path.name})" in page


def test_every_header_chooses_each_feature_and_flaw_of_its_spec() -> None:
    """By day, as a feature that is new makes all files stale, and most of them are made again at night alone."""
    for row in ROWS.values():
        header = open_trace(row.path).header
        assert header.constants.keys() == SYSTEMS[header.spec].constants.allowed.keys(), row.file


@each_flaw
def test_the_spec_with_the_flaw_explains_the_trace_and_the_property_is_violated(switch: str) -> None:
    row = ROWS[switch]
    found = judged(row.path)
    assert found.deviation is None
    assert found.steps == found.events == row.steps
    assert {name: at.line for name, at in found.violations.items()} == row.violated
    assert found.verdict is (Verdict.VIOLATED if row.violated else Verdict.HOLDS)
    assert (row.violates is None) == (switch in LIVENESS)
    # The story ends where the property that it is about is violated: behind the header, the last step.
    assert row.violates is None or row.violated[row.violates] == row.steps + 1


@each_flaw
def test_the_spec_without_that_one_flaw_refuses_the_trace(switch: str) -> None:
    row = ROWS[switch]
    found = judged(row.path, {switch: "repaired"}).deviation
    assert found is not None
    assert (found.line, found.action, found.code, found.name) == msgspec.structs.astuple(row.refused)
    assert row.violates is None or found.line <= row.violated[row.violates]


def shows_of(cluster: Any, node: str) -> dict[str, Any]:
    """Return all that a node of the reference shows."""
    shown: dict[str, Any] = cluster.observe(node) if hasattr(cluster, "observe") else cluster.servers[node].observe()
    return shown


class Differs(Exception):  # noqa: N818 - what is looked for, not an error of the test
    """The reference does not take the step of a line of the trace."""


def replayed(header: Header, trace: Iterable[tuple[int, Event]], words: Words) -> Iterator[tuple[int, list[Event]]]:
    """Let a cluster of the reference take each step; yield its line, its event, and what all other nodes show then.

    Raises Differs, with the line, where it refuses the step, or does or shows something else than the trace.
    """
    cluster, trial = cluster_of(header)
    for line, recorded in trace:
        args = trial.arguments(recorded.action, recorded.args)
        try:
            done = cluster.take(recorded.node, recorded.action, *args)
        except (NotEnabled, LookupError) as error:
            raise Differs(line) from error
        shown = {name: shows_of(cluster, name) for name in cluster.node_ids}
        shown[recorded.node] |= done["shows"]
        mine = shown[recorded.node]
        same = [
            name in mine and to_value(mine[name], words) == to_value(value, words)
            for name, value in recorded.shows.items()
        ]
        sent = [Counter(to_value(m, words) for m in messages) for messages in (done["sent"], recorded.sent or ())]
        if not all(same) or sent[0] != sent[1]:
            raise Differs(line)
        event = Event(
            line, recorded.node, recorded.action, recorded.args, shown.pop(recorded.node), tuple(done["sent"])
        )
        yield line, [event, *(Event(line, name, OBSERVE, {}, fields) for name, fields in shown.items())]


@each_flaw
def test_the_reference_takes_every_step_and_every_node_shows_what_the_spec_says(switch: str) -> None:
    """Its methods are called with the arguments of the trace, those of the network as well."""
    row = ROWS[switch]
    trace = open_trace(row.path)
    spec = trace_spec(trace.header, str(row.path))
    check = TraceCheck(trace, spec, SYSTEMS[trace.header.spec].interface(spec))
    state: State | None = check.initial()
    steps = 0
    for line, events in replayed(trace.header, trace, check.interface.words):
        for event in events:
            assert state is not None
            state = check.advance(state, line, event)
            assert check.result.findings == []
        steps += 1
    assert steps == row.steps


@each_flaw
def test_a_repaired_reference_does_otherwise_where_the_repaired_spec_does(switch: str) -> None:
    row = ROWS[switch]
    trace = open_trace(row.path)
    header = msgspec.structs.replace(trace.header, constants={**trace.header.constants, switch: "repaired"})
    words = SYSTEMS[header.spec].interface(trace_spec(header, str(row.path))).words
    with pytest.raises(Differs) as found:
        list(replayed(header, trace, words))
    assert found.value.args[0] == row.refused.line


@pytest.mark.parametrize("switch", sampled([each for each in ROWS if each not in LIVENESS], SAMPLE[1:]))
def test_a_counterexample_needs_each_of_its_steps(switch: str) -> None:
    row = ROWS[switch]
    trace = open_trace(row.path)
    spec = trace_spec(trace.header, str(row.path))
    again = minimise(trace, spec, SYSTEMS[trace.header.spec], only=row.violates)
    assert again.is_minimal
    assert len(again.events) == row.steps


@pytest.mark.parametrize("switch", sampled(ROWS, SAMPLE[1:]))
def test_the_file_is_what_the_tool_makes(switch: str, tmp_path: Path) -> None:
    (chosen,) = [each for each in CHOSEN if each.switch == switch]
    made = tmp_path / "made.trace.ndjson"
    write_trace(made, *tool.make(chosen))
    assert made.read_bytes() == (FOLDER / chosen.file).read_bytes()


@pytest.mark.parametrize("switch", sampled(ROWS, (*SAMPLE[1:], "MatchWithoutRecalculate")))
def test_its_page_shows_every_step(switch: str) -> None:
    shown, subject = view_trace(ROWS[switch].path, {})
    assert len(page_content(shown, subject)["steps"]) == ROWS[switch].steps + 1
    assert shown.count == ROWS[switch].steps
    assert [step.line for step in shown.steps[1:]] == list(range(2, ROWS[switch].steps + 2))


# ---- What never happens ----


def states(row: Counterexample) -> list[State]:
    """The states of a trace, the initial one first."""
    trace = open_trace(row.path)
    spec = trace_spec(trace.header, str(row.path))
    check = TraceCheck(trace, spec, SYSTEMS[trace.header.spec].interface(spec))
    found = [check.initial()]
    for line, event in trace:
        after = check.advance(found[-1], line, event)
        assert after is not None
        found.append(after)
    return found


@pytest.mark.parametrize(
    ("switch", "steps"),
    sampled(
        [
            *(("RepeatedPush", 3), ("HighTermLaggard", 13), ("ReapedInstall", 3), ("CompactedPrevRejected", 6)),
            ("UnknownCandidateRejected", 8),
        ],
        [("RepeatedPush", 3)],
    ),
)
def test_the_last_steps_come_back_to_the_same_state(switch: str, steps: int) -> None:
    """`steps` steps before the end the state was the same, so those steps can be taken again and again."""
    found = states(ROWS[switch])
    assert found[-1] == found[-1 - steps]
    assert found[-2] != found[-1 - steps]


@pytest.mark.nightly
@pytest.mark.parametrize("switch", ["LongerLogOlderTerm", "KnownLeaderRejected"])
def test_nobody_leads_and_every_vote_is_refused(switch: str) -> None:
    """A term later everything is as it was: terms alone differ, so no state comes back."""
    row = ROWS[switch]
    refused = [
        event.args["m"]["granted"]
        for line, event in open_trace(row.path)
        if event.action == "HandleRequestVoteResponse" and line >= row.refused.line
    ]
    assert len(refused) >= 2
    assert not any(refused)
    last = states(row)[-1]
    assert all(node.d["role"] != "Leader" for node in last["node"].d.values())


@pytest.mark.nightly
def test_a_leader_that_is_alone_can_commit_nothing() -> None:
    row = ROWS["MatchWithoutRecalculate"]
    trace = open_trace(row.path)
    spec = trace_spec(trace.header, str(row.path))
    assert spec.step(states(row)[-1], "ProcessLogs", {"n": "n1"}) is None
