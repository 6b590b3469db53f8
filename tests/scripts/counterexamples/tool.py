"""Makes the traces of traces/counterexamples: `python -m tests.scripts.counterexamples.tool [SWITCH...]`.

Each flaw has a run of the reference that shows it, from `counterexamples.dledger` or `counterexamples.hashicorp`. On
the spec all that can go is taken out of it (`lockstep minimise`), and what is left is written as a trace. What the spec
with the flaw, and the spec in which that flaw is repaired, say of it goes to the manifest, which the tests read.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.minimise_trace import minimise
from lockstep.systems.dledger.plans import REFERENCE as DLEDGER
from lockstep.systems.hashicorp.plans import REFERENCE as HASHICORP
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.simulated_clusters import event_of
from lockstep.systems.trace_files import open_trace
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import Event, Header, trace_lines, write_trace
from lockstep.trace.trace_reader import Trace
from raftref.dledger.simulation import FaultPlan as DLedgerPlan
from raftref.hashicorp.choices import Flaw
from raftref.hashicorp.simulation import FaultPlan as HashicorpPlan
from tests.scripts.counterexamples import dledger, hashicorp

FOLDER = Path(__file__).parents[3] / "traces" / "counterexamples"
MANIFEST = FOLDER / "manifest.toml"
_NODE = re.compile("n[1-9]")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choices for a counterexample: the file, the property that it violates, and the model of the same flaw.

    `violates` is None where the flaw keeps something from happening: then no finite trace violates anything.
    """

    spec: str
    switch: str
    file: str
    violates: str | None
    model: str


def _chosen(spec: str, folder: str, *rows: tuple[str, str | None, str]) -> Iterator[Chosen]:
    for switch, violates, model in rows:
        name = model.removesuffix("_bug")
        yield Chosen(spec, switch, f"{folder}/{name}.trace.ndjson", violates, model)


CHOSEN = (
    *_chosen(
        "DLedger",
        "dledger/commit",
        ("PriorTermCommit", "LeaderCompleteness", "prior_term_commit_bug"),
        ("ApplyUnclamped", "AppliedIsCommitted", "apply_unclamped_bug"),
        ("AckByQuorumIndex", "IndexOrder", "ack_by_quorum_index_bug"),
    ),
    *_chosen(
        "DLedger",
        "dledger/push",
        ("PushTermCheck", "CommittedEntriesStayProp", "push_term_check_bug"),
        ("AppendTermCheck", "LeaderCompleteness", "append_term_check_bug"),
        ("LateTruncate", "CommittedEntriesStayProp", "late_truncate_bug"),
        ("DeposedTruncate", "LogMatching", "deposed_truncate_bug"),
        ("CommitPastEnd", "IndexOrder", "commit_past_end_bug"),
        ("StaleCompareIndex", "LeaderCompleteness", "stale_compare_index_bug"),
        ("RepeatedPush", None, "repeated_push_bug"),
    ),
    *_chosen(
        "DLedger",
        "dledger/disk",
        ("AsyncFlush", "LeaderCompleteness", "async_flush_bug"),
        ("VoteFile", "ElectionSafety", "vote_file_bug"),
        ("TruncatedTail", "RecoveryKeepsLogProp", "truncated_tail_bug"),
    ),
    *_chosen(
        "DLedger",
        "dledger/elections",
        ("LedgerEndTerm", "LeaderCompleteness", "ledger_end_term_bug"),
        ("HighTermLaggard", None, "high_term_laggard_bug"),
    ),
    *_chosen(
        "HashicorpRaft",
        "hashicorp/elections",
        ("TornVote", "LeaderCompleteness", "torn_vote_bug"),
        ("HeartbeatRace", "LogMatching", "heartbeat_race_bug"),
        ("TransferFlagLeft", "TransferIsOwn", "transfer_flag_left_bug"),
        ("LongerLogOlderTerm", None, "longer_log_older_term_bug"),
        ("KnownLeaderRejected", None, "known_leader_rejected_bug"),
        ("UnknownCandidateRejected", None, "unknown_candidate_rejected_bug"),
    ),
    *_chosen(
        "HashicorpRaft",
        "hashicorp/log",
        ("CommitUnverified", "AppliedIsCommitted", "commit_unverified_bug"),
        ("DeleteThenStore", "LeaderCompleteness", "delete_then_store_bug"),
        ("TruncateWithoutConflict", "CommittedEntriesStayProp", "truncate_without_conflict_bug"),
        ("LastLogNotLowered", "LeaderCompleteness", "last_log_not_lowered_bug"),
        ("EvenQuorum", "LeaderCompleteness", "even_quorum_bug"),
        ("MatchWithoutRecalculate", None, "match_without_recalculate_bug"),
        ("ReplayUncommitted", "AppliedIsCommitted", "replay_uncommitted_bug"),
    ),
    *_chosen(
        "HashicorpRaft",
        "hashicorp/snapshots",
        ("ConflictAtSnapshot", "LogAgreesWithSnapshot", "conflict_at_snapshot_bug"),
        ("StaleInstall", "FsmNeverGoesBackProp", "stale_install_bug"),
        ("ReapedInstall", None, "reaped_install_bug"),
        ("CompactedPrevRejected", None, "compacted_prev_rejected_bug"),
        ("SnapshotRegress", "IndexOrder", "snapshot_regress_bug"),
    ),
    *_chosen(
        "HashicorpRaft",
        "hashicorp/clients",
        ("VerifyCountsNonvoters", "VerifiedLeads", "verify_counts_nonvoters_bug"),
        ("VerifyCountsOldAcks", "VerifiedLeads", "verify_counts_old_acks_bug"),
    ),
)


class Refused(msgspec.Struct, frozen=True):
    """Where the repaired spec refuses a trace: the line, its action, the code, and what it fails at."""

    line: int
    action: str
    code: str
    name: str


class Counterexample(msgspec.Struct, frozen=True):
    """A row of the manifest: a trace, and what is said of it.

    `violated` are the properties that fail, each with its first line; `steps` and `nodes` count those of the trace;
    `refused` is what the spec says of it with that one switch repaired.
    """

    switch: str
    file: str
    model: str
    steps: int
    nodes: int
    refused: Refused
    violates: str | None = None
    violated: Mapping[str, int] = {}

    @property
    def path(self) -> Path:
        """The trace."""
        return FOLDER / self.file


def counterexamples() -> tuple[Counterexample, ...]:
    """Read the manifest."""
    rows = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["counterexample"]
    return tuple(msgspec.convert(row, Counterexample) for row in rows)


def make(chosen: Chosen) -> tuple[Header, tuple[Event, ...]]:
    """Run the reference, and take out of the run what can go."""
    header, events = _dledger(chosen.switch) if chosen.spec == "DLedger" else _hashicorp(chosen.switch)
    if chosen.violates is None:
        return header, tuple(in_order(each) for each in events)
    spec = trace_spec(header, chosen.file)
    left = len(events) + 1
    # What can go together depends on what has gone before, so this is repeated until nothing goes.
    while len(events) < left:
        left = len(events)
        trace = Trace(trace_lines(header, events), chosen.file)
        found = minimise(trace, spec, SYSTEMS[chosen.spec], only=chosen.violates)
        assert found.is_minimal
        events = list(found.events)
    header = msgspec.structs.replace(header, origin=f"minimised on the spec from: {header.origin}")
    return header, tuple(in_order(each) for each in events)


def in_order(event: Event) -> Event:
    """Put the parts of an event that are given by node in the order of the nodes, so that every run writes one file."""
    return msgspec.structs.replace(event, args=_by_node(event.args), shows=_by_node(event.shows))


def _by_node(value: Any) -> Any:
    if isinstance(value, Mapping):
        is_by_node = all(_NODE.fullmatch(name) for name in value)
        return {name: _by_node(value[name]) for name in (sorted(value) if is_by_node else value)}
    return [_by_node(each) for each in value] if isinstance(value, list | tuple) else value


def _dledger(switch: str) -> tuple[Header, list[Event]]:
    way = dledger.WAYS[switch]
    plan = DLedgerPlan.from_dict({"flaws": [switch, *way.others], **way.plan})
    play = dledger.Play(plan)
    way.play(play)
    return with_scenario(DLEDGER.header("", plan, 0), switch, way.play), [event_of(each) for each in play.events]


def _hashicorp(switch: str) -> tuple[Header, list[Event]]:
    way = hashicorp.WAYS[Flaw(switch)]
    plan = HashicorpPlan.from_dict({"features": [], "flaws": [switch, *way.others], **way.plan})
    play = hashicorp.Play(plan)
    way.play(play)
    return with_scenario(HASHICORP.header("", plan, 0), switch, way.play), [event_of(each) for each in play.events]


def with_scenario(header: Header, switch: str, play: Callable[..., None]) -> Header:
    story = " ".join((play.__doc__ or "").split()) or "the shortest counterexample of a model"
    return msgspec.structs.replace(
        header, version="1", origin="a run of the Python reference", scenario=f"{switch}: {story}"
    )


def judged(path: Path, switches: Mapping[str, str] | None = None) -> TraceVerdict:
    """Check a trace with the switches of its header or with others."""
    trace = open_trace(path)
    spec = trace_spec(trace.header, str(path), switches)
    return check_trace(trace, spec, SYSTEMS[trace.header.spec].interface(spec))


def row_of(chosen: Chosen) -> Counterexample:
    """Return the row of a trace that was written: its verdicts by the spec."""
    path = FOLDER / chosen.file
    verdict, repaired = judged(path), judged(path, {chosen.switch: "repaired"}).deviation
    assert verdict.deviation is None
    assert repaired is not None, f"{chosen.switch}: nothing is refused"
    return Counterexample(
        switch=chosen.switch,
        file=chosen.file,
        model=chosen.model,
        steps=verdict.steps,
        nodes=len(open_trace(path).header.nodes),
        refused=Refused(repaired.line, repaired.action, repaired.code, repaired.name),
        violates=chosen.violates,
        violated={name: found.line for name, found in verdict.violations.items()},
    )


def cluster_of(header: Header) -> tuple[Any, Any]:
    """Return a cluster of the reference as a header describes it, and what reads the arguments of its actions."""
    reference = DLEDGER if header.spec == "DLedger" else HASHICORP
    trial = reference.started(header)
    return trial.cluster, trial


def _manifest(rows: Sequence[Counterexample]) -> Iterator[str]:
    yield "# What is said of each counterexample; README.md explains it. `python -m counterexamples.tool` writes it."
    for row in rows:
        refused = ", ".join(f"{name} = {_toml(value)}" for name, value in msgspec.structs.asdict(row.refused).items())
        yield ""
        yield "[[counterexample]]"
        for name in ("switch", "file", "model", "steps", "nodes"):
            yield f"{name} = {_toml(getattr(row, name))}"
        if row.violates is not None:
            yield f"violates = {_toml(row.violates)}"
            yield f"violated = {{ {', '.join(f'{name} = {line}' for name, line in row.violated.items())} }}"
        yield f"refused = {{ {refused} }}"


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


@dataclass(slots=True)
class Written:
    """The rows of the manifest by file, those that were not made anew among them."""

    rows: dict[str, Counterexample] = field(default_factory=dict)

    def write(self) -> None:
        """Write the manifest, in the order of CHOSEN."""
        rows = [self.rows[each.file] for each in CHOSEN if each.file in self.rows]
        MANIFEST.write_text("\n".join(_manifest(rows)) + "\n", encoding="utf-8")


def main(names: Sequence[str]) -> None:
    """Make the counterexamples of some switches, or all."""
    written = Written({row.file: row for row in counterexamples()} if MANIFEST.exists() else {})
    for chosen in CHOSEN:
        if not names or chosen.switch in names:
            path = FOLDER / chosen.file
            path.parent.mkdir(parents=True, exist_ok=True)
            write_trace(path, *make(chosen))
            row = written.rows[chosen.file] = row_of(chosen)
            print(
                f"{chosen.switch}: {row.steps} steps, violated {dict(row.violated)}, refused {row.refused}", flush=True
            )
            written.write()


if __name__ == "__main__":
    main(sys.argv[1:])
