"""The table of verdicts: Parquet, a folder for each batch that told something, written again where the batch is."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from lockstep import __version__
from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.base.whole_files import writing_whole
from lockstep.conformance.check import Finding, TraceVerdict, conclude
from lockstep.pipeline.watch.resumed_check import UnderWay

#: What a reason begins with where the trace is not settled.
SO_FAR = "so far "


class Told(msgspec.Struct):
    """A row: the trace and its file, the verdict so far, and the findings that are new, as JSON.

    `settled` tells that no more of the trace is checked. The other fields are those of the verdict.
    """

    trace: str
    source: str
    spec: str
    verdict: str
    reason: str
    events: int
    steps: int
    observed: int
    seconds: float
    findings: str
    notes: str
    settled: bool

    @classmethod
    def of(cls, trace: str, source: str, way: UnderWay) -> Told:
        """Return what is new of a trace, and note in `way` that it is told."""
        new, way.told = way.findings[way.told :], len(way.findings)
        verdict, reason = way.verdict, way.reason
        if not verdict:
            so_far = way.result(source)
            conclude(so_far)
            verdict, reason = str(so_far.verdict), f"{SO_FAR}{so_far.reason}"
        return cls(
            trace=trace,
            source=source,
            spec=way.digest,
            verdict=verdict,
            reason=reason,
            events=way.events,
            steps=way.steps,
            observed=way.observed,
            seconds=way.seconds,
            findings=msgspec.json.encode(new).decode(),
            notes=msgspec.json.encode(way.notes).decode(),
            settled=bool(way.verdict),
        )

    @property
    def result(self) -> TraceVerdict:
        """The verdict, with the new findings alone."""
        return TraceVerdict(
            self.source,
            Verdict(self.verdict),
            self.reason,
            self.events,
            self.steps,
            self.observed,
            self.seconds,
            msgspec.json.decode(self.findings, type=list[Finding]),
            notes=msgspec.json.decode(self.notes, type=list[str]),
        )

    @property
    def _id(self) -> str:
        return _hash(self.trace, self.verdict, self.reason)

    def record(self) -> dict[str, Any]:
        """Return the row as JSON can hold it, its findings with their ids."""
        found = [{"id": finding_id(self.trace, each), **msgspec.to_builtins(each)} for each in self.result.findings]
        return {**msgspec.to_builtins(self), "findings": found, "notes": self.result.notes}

    def records(self) -> list[dict[str, Any]]:
        """Return what a program is told: a record for each new finding, or for a verdict that is no pass.

        Each has `id`, `kind` ("finding" or "verdict"), `trace`, `source`, `verdict` and `reason`; a finding its fields.
        """
        base = {"trace": self.trace, "source": self.source, "verdict": self.verdict, "reason": self.reason}
        found = self.result.findings
        if not found and self.verdict not in (Verdict.HOLDS, Verdict.VIOLATED):
            return [{"id": self._id, "kind": "verdict", **base}]
        return [
            {"id": finding_id(self.trace, each), "kind": "finding", **base, "finding": msgspec.to_builtins(each)}
            for each in found
        ]


def finding_id(trace: str, finding: Finding) -> str:
    """Return the id of a finding: what it is and where, not when it was found."""
    return _hash(trace, finding.kind, finding.code, finding.name, finding.line, finding.seq)


def _hash(*parts: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]


#: What STORE/_lockstep.json says.
STORE_FORMAT = "lockstep-watch/1"
_VERSION_FILE, _ABOUT_FILE, _DONE = "_lockstep.json", "watch.json", "_SUCCESS"

RUN = "watch"

COLUMNS = pa.schema(
    [
        ("trace", pa.string()),
        ("source", pa.string()),
        ("spec", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("events", pa.int64()),
        ("steps", pa.int64()),
        ("observed", pa.int64()),
        ("seconds", pa.float64()),
        ("findings", pa.string()),
        ("notes", pa.string()),
        ("settled", pa.bool_()),
        ("replay", pa.string()),
    ]
)


class Store:
    """The folder of a watch: `checkpoint` is Spark's, `specs` has compiled specs, `verdicts` the table."""

    def __init__(self, folder: Path, variant: str) -> None:
        """Take the folder, which opening makes; `variant` names what replaces constants of the headers."""
        self.folder, self.checkpoint = folder, folder / "checkpoint"
        self._table = folder / "verdicts" / f"run={RUN}" / f"variant={variant}"

    @contextmanager
    def opened(self, about: dict[str, Any]) -> Iterator[None]:
        """Open the store for this process alone.

        Arguments: `about`, what a watch that goes on must have in common with the one that began.
        Raises BadInputError where another process has it, it is of another version, or another watch's.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise BadInputError(f"{self.folder}: another watch is running with this store") from error
            self._agree(_VERSION_FILE, {"format": STORE_FORMAT})
            self._agree(_ABOUT_FILE, {"lockstep": __version__, **about})
            if next(self._table.glob("batch=*"), None) is not None and not (self.checkpoint / "metadata").exists():
                raise BadInputError(f"{self.folder}: there are verdicts and no checkpoint: name another with --store")
            yield
        finally:
            os.close(lock)

    def _agree(self, name: str, about: dict[str, Any]) -> None:
        path = self.folder / name
        if not path.exists():
            with writing_whole(path) as file:
                file.write(json.dumps(about).encode() + b"\n")
            return
        try:
            found = json.loads(path.read_bytes())
            differing = next((key for key in about if found.get(key) != about[key]), None)
        except (ValueError, AttributeError) as error:
            raise BadInputError(f"{path}: not what a store has there") from error
        if differing is not None:
            was, now = (json.dumps(each.get(differing)) for each in (found, about))
            raise BadInputError(
                f"{path}: field `{differing}`: this store was begun with {was}, not {now}; name another with --store"
            )

    def write(self, batch: int, rows: Sequence[Told], replays: Sequence[str]) -> None:
        """Write the rows of a batch, in place of those that were written when it was done before; `replays` of each."""
        folder = self._table / f"batch={batch:08d}"
        if folder.exists():
            shutil.rmtree(folder)
        if not rows:
            return
        folder.mkdir(parents=True)
        records = [{**msgspec.to_builtins(row), "replay": replay} for row, replay in zip(rows, replays, strict=True)]
        pq.write_table(
            pa.Table.from_pylist(records, schema=COLUMNS), folder / "part-0.parquet", write_page_checksum=True
        )
        (folder / _DONE).touch()

    def rows(self) -> Iterator[Told]:
        """Yield the rows of all batches, in their order; raises GaveUpError where a file of them is damaged."""
        for folder in sorted(self._table.glob("batch=*")):
            if (folder / _DONE).exists():
                yield from _rows_of(folder / "part-0.parquet")


def _rows_of(file: Path) -> list[Told]:
    try:
        table = pq.ParquetFile(file, page_checksum_verification=True)
        if table.schema_arrow != COLUMNS:
            raise ValueError("its columns are not those that were written")
        rows = table.read(columns=list(Told.__struct_fields__)).to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise GaveUpError(f"{file} cannot be read: {str(error).splitlines()[0]}") from error
    return [Told(**row) for row in rows]
