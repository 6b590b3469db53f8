"""The tables of a store, by the class of their rows; the folder of a batch names `run`, `variant` and `batch`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.jobs.spark.record_tables import RecordTable

#: The format in STORE/_lockstep.json; a store with other tables, or other columns, has another number.
STORE_FORMAT = "lockstep-store/1"

#: Bytes of a dead letter, at most.
MAX_DEAD_LETTER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class LineRow:
    """A line of a trace: `seq` is 0 for the header, `source` the file that it came from, `line` its number there."""

    trace: str
    seq: int
    bytes: bytes
    source: str
    line: int


@dataclass(frozen=True, slots=True)
class ReadRow(LineRow):
    """A line of a trace, or with a `reason` a dead letter."""

    reason: str | None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A piece of a file that is no line of a trace; line 0 is the whole file."""

    source: str
    line: int
    reason: str
    bytes: bytes


@dataclass(slots=True, kw_only=True)
class StoredVerdict(TraceVerdict):
    """The verdict on a trace; `source` is where the trace came from.

    `spec` is the SHA-256 of the compiled spec, `judged` the verdict that counts: a simulated cluster of a plan with
    flaws may violate properties. `replay` is the command that checks the trace alone.
    """

    trace: str
    spec: str
    judged: Verdict
    replay: str


@dataclass(frozen=True, slots=True)
class CutState:
    """A state at which a long trace is cut, the one after the line `seq`, packed by zlib."""

    trace: str
    seq: int
    state: bytes


@dataclass(frozen=True, slots=True)
class StoredCounterexample:
    """A signature of violations: a property, or a code of how traces leave the spec, and an action.

    `traces` have it; `trace` is the one in which it comes first, at `line`. `lines` are those of the short trace that
    has it, None where `reason` says why there is none.
    """

    signature: str
    name: str
    action: str
    traces: int
    trace: str
    line: int
    events: int
    is_minimal: bool
    reason: str
    lines: bytes | None
    replay: str


@dataclass(frozen=True, slots=True)
class ReachedRow:
    """Something that a trace reaches; `plan` is that of a simulated cluster, with its variant if it is not its own."""

    trace: str
    plan: str
    kind: str
    name: str
    times: int


#: The tables by name.
TABLES: Mapping[str, RecordTable[Any]] = MappingProxyType(
    {
        "lines": RecordTable(LineRow),
        "dead_letters": RecordTable(DeadLetter),
        "verdicts": RecordTable(StoredVerdict),
        "states": RecordTable(CutState),
        "counterexamples": RecordTable(StoredCounterexample),
        "reached": RecordTable(ReachedRow),
    }
)

#: The rows that are read from files: those of `lines`, and with a `reason` those of `dead_letters`.
READ = RecordTable(ReadRow)

#: The rows that `findings` makes: those of Finding.
FINDINGS = RecordTable(Finding)


def findings(verdicts: DataFrame) -> DataFrame:
    """Return a row for each finding of some verdicts: the trace, its number in the verdict (`at`), and its fields.

    Where the verdicts are those of a store, their run, variant and batch come with it.
    """
    names = [name for name in ("run", "variant", "batch", "trace") if name in verdicts.columns]
    found = sql.posexplode(sql.from_json("findings", FINDINGS.list_ddl)).alias("at", "finding")
    return verdicts.select(*names, found).select(*names, "at", "finding.*").na.fill(False, ["disputed"])
