"""The results of both engines for a model: one row, and how rows are compared, kept and laid out."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from public_models import NOTHING_COUNTED, Counts


class Outcome(StrEnum):
    """How a model came out; the first three are the only ones in which both engines, or one and the manifest, ran."""

    EQUAL = "equal"
    EQUAL_SAFETY = "equal, liveness unchecked"
    DIFFERENT = "different"
    REFUSED = "refused"
    INTERNAL = "internal error"
    UNFINISHED = "unfinished"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a model by one engine, or by the manifest.

    `verdict` is `holds`, `violated`, `evaluation fails`, `false assumption`, `liveness violated`, `refused`,
    `unfinished` or `internal error`; `said` is the property that is violated, or else what the engine says of itself;
    `unchecked` are the properties that were not looked at; `note` is why it was not by tables, where it was to be.
    """

    verdict: str
    said: str = ""
    counts: Counts = NOTHING_COUNTED
    seconds: float | None = None
    unchecked: tuple[str, ...] = ()
    note: str = ""

    @property
    def is_about_the_model(self) -> bool:
        """Whether this says something of the model, and not of the engine."""
        return self.verdict not in ("refused", "unfinished", "internal error")


@dataclass(frozen=True, slots=True)
class Row:
    """A model's outcome with its reason, and what each engine says; None of one that was not asked."""

    name: str
    outcome: Outcome
    reason: str = ""
    compiled: Found | None = None
    tlc: Found | None = None


def compared(name: str, compiled: Found, tlc: Found, manifest: Counts) -> Row:
    """Compare what the compiled search found with TLC, or with the manifest where TLC cannot run the model."""
    outcome, reason = _outcome(compiled, tlc, manifest)
    return Row(name, outcome, reason, compiled, tlc)


def _outcome(compiled: Found, tlc: Found, manifest: Counts) -> tuple[Outcome, str]:
    if compiled.verdict == "internal error":
        return Outcome.INTERNAL, compiled.said
    if compiled.verdict == "refused":
        return Outcome.REFUSED, compiled.said
    if compiled.verdict == "unfinished":
        return Outcome.UNFINISHED, f"the compiled search: {compiled.said}"
    if tlc.is_about_the_model:
        return _beside_tlc(compiled, tlc)
    if not manifest.are_known:
        outcome = Outcome.UNFINISHED if tlc.verdict == "unfinished" else Outcome.NOT_RUN
        return outcome, f"TLC 2.15: {tlc.said}; the manifest has no counts"
    same = compiled.counts == manifest
    return _equal(compiled) if same else Outcome.DIFFERENT, "beside the counts of the manifest"


def _beside_tlc(compiled: Found, tlc: Found) -> tuple[Outcome, str]:
    if compiled.verdict == tlc.verdict == "evaluation fails":
        return Outcome.EQUAL, "both cannot evaluate it"
    if tlc.verdict == "liveness violated" and compiled.verdict == "holds" and compiled.unchecked:
        # TLC prints no depth then, and checks liveness when it has all states.
        same = _of_states(compiled) == _of_states(tlc)
        return Outcome.EQUAL_SAFETY if same else Outcome.DIFFERENT, "TLC finds liveness violated"
    differing = [
        f"{what}: {ours}, TLC {theirs}"
        for what, ours, theirs in (
            ("verdict", _judgement(compiled), _judgement(tlc)),
            ("distinct", compiled.counts.distinct, tlc.counts.distinct),
            ("generated", compiled.counts.generated, tlc.counts.generated),
            ("depth", compiled.counts.depth, tlc.counts.depth),
        )
        if ours != theirs and theirs is not None  # TLC prints no depth, or no counts, after some violations
    ]
    return (Outcome.DIFFERENT, "; ".join(differing)) if differing else (_equal(compiled), "")


def _equal(compiled: Found) -> Outcome:
    return Outcome.EQUAL_SAFETY if compiled.unchecked and compiled.verdict == "holds" else Outcome.EQUAL


def _of_states(found: Found) -> tuple[int | None, int | None]:
    return found.counts.distinct, found.counts.generated


def _judgement(found: Found) -> str:
    return f"violated {found.said}" if found.verdict == "violated" else found.verdict


# ---- Rows as lines of JSON ----


def written(row: Row) -> str:
    """Write a row as a line of JSON."""
    return json.dumps(asdict(row), ensure_ascii=False)


def read(line: str) -> Row:
    """Read a row that `written` wrote."""
    fields = json.loads(line)
    compiled, tlc = (_found(fields[engine]) for engine in ("compiled", "tlc"))
    return Row(fields["name"], Outcome(fields["outcome"]), fields["reason"], compiled, tlc)


def _found(fields: dict[str, Any] | None) -> Found | None:
    if fields is None:
        return None
    return Found(**{**fields, "counts": Counts(**fields["counts"]), "unchecked": tuple(fields["unchecked"])})


def read_all(file: Path) -> list[Row]:
    """Read all rows of a file; none where it is not there."""
    return [read(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


# ---- Rows for readers ----


def line_of(row: Row) -> str:
    """Lay out a row on one line, as they are printed one by one."""
    cells = _cells(row)
    return f"{row.name:50} {row.outcome:26} " + "  ".join(each for each in cells[2:] if each)


def markdown(rows: Iterable[Row]) -> Iterator[str]:
    """Lay out rows as a Markdown table."""
    yield "| model | outcome | distinct | generated | depth | verdict | compiled / TLC | |"
    yield "| --- | --- | ---: | ---: | ---: | --- | ---: | --- |"
    for row in rows:
        yield f"| {' | '.join(each.replace('|', chr(92) + '|') for each in _cells(row))} |"


def _cells(row: Row) -> list[str]:
    shown = next((each for each in (row.compiled, row.tlc) if each is not None and each.is_about_the_model), None)
    if shown is None:
        return [row.name, row.outcome, "", "", "", "", "", _short(row.reason)]
    said = "; ".join(each for each in (row.reason, shown.note) if each)
    numbers = [shown.counts.distinct, shown.counts.generated, shown.counts.depth]
    counts = ["" if number is None else f"{number:,}" for number in numbers]
    whose = "" if shown is row.compiled else "TLC: "
    return [row.name, row.outcome, *counts, whose + _judgement(shown), _ratio(row), _short(said)]


def _ratio(row: Row) -> str:
    ratio = ratio_of(row)
    if ratio is None:
        return ""
    return "< 0.01" if ratio < 0.01 else f"{ratio:.2f}"


def ratio_of(row: Row) -> float | None:
    """Return the time of the compiled search by TLC's, where both came to an end."""
    if row.compiled is None or row.tlc is None or not row.compiled.seconds or not row.tlc.seconds:
        return None
    both = row.compiled.is_about_the_model and row.tlc.is_about_the_model
    return row.compiled.seconds / row.tlc.seconds if both else None


def _short(reason: str, most: int = 140) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def summary(rows: Iterable[Row]) -> Iterator[str]:
    """Count the rows by outcome, and those that did not run by their reasons."""
    rows = list(rows)
    for outcome, count in Counter(row.outcome for row in rows).most_common():
        yield f"{count:4}  {outcome}"
        if outcome in (Outcome.NOT_RUN, Outcome.UNFINISHED):
            reasons = Counter(row.reason.partition(":")[0] for row in rows if row.outcome is outcome)
            yield from (f"      {number:4}  {reason}" for reason, number in reasons.most_common())
    yield f"{len(rows):4}  models"
    if noted := sum(row.compiled is not None and bool(row.compiled.note) for row in rows):
        yield f"{noted:4}  of these explored state by state, though by tables was asked for"
    ratios = sorted(ratio for row in rows if (ratio := ratio_of(row)) is not None)
    if ratios:
        yield f"compiled / TLC: median {statistics.median(ratios):.2f}, most {ratios[-1]:.2f}, of {len(ratios)} models"
