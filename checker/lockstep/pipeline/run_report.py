"""A report on a run as Markdown."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lockstep.base.characters import counted, visible
from lockstep.base.verdict import Verdict
from lockstep.report.bar_chart import bars


@dataclass(slots=True)
class RunReport:
    """The result of a run.

    `variants` has the traces, events, values compared and seconds of checking of each variant, and how many traces got
    each verdict (`verdicts`) and each that counts (`judged`). `properties` has the number of traces in which each
    property fails; `plans` the number of traces of each plan (empty: no plan) and variant with each verdict. `failures`
    are the first of the traces that do not hold, with the command that replays each; `gaps` the missing parts;
    `dead_letters` how many there are, and the first. `coverage` is what the traces reach, by plan, `floors` whether it
    is enough, and `never_taken` the actions of the specs that no trace takes. `counterexamples` has one for each
    signature of violations, without its lines.
    """

    run: str
    verdict: Verdict = Verdict.INCONCLUSIVE
    variants: list[dict[str, Any]] = field(default_factory=list)
    properties: list[dict[str, Any]] = field(default_factory=list)
    plans: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    coverage: list[dict[str, Any]] = field(default_factory=list)
    floors: list[dict[str, Any]] = field(default_factory=list)
    never_taken: list[str] = field(default_factory=list)
    counterexamples: list[dict[str, Any]] = field(default_factory=list)
    dead_letters: dict[str, Any] = field(default_factory=lambda: {"count": 0, "first": []})

    @property
    def traces(self) -> int:
        """The number of verdicts."""
        return sum(each["traces"] for each in self.variants)

    def as_json(self) -> str:
        """Return the report as JSON, one object."""
        return json.dumps({**asdict(self), "exit_code": self.verdict.exit_code}, indent=2)


_COLOURS: Mapping[str, str] = {
    str(Verdict.HOLDS): "#4b9b6e",
    str(Verdict.VIOLATED): "#c0392b",
    str(Verdict.INCONCLUSIVE): "#d9b21f",
    str(Verdict.MALFORMED): "#8a6fb0",
    str(Verdict.INTERNAL): "#333b44",
}

#: Rows of a picture, at most.
MAX_PICTURE_ROWS = 40


def pictures(found: RunReport) -> Iterator[tuple[str, str, str]]:
    """Yield the pictures that there is something for: the name of the file, the title, the SVG."""
    verdicts = dict[str, dict[str, int]]()
    for each in found.plans:
        row = verdicts.setdefault(f"{each['plan']} ({each['variant']})" if each["plan"] else each["variant"], {})
        row[each["verdict"]] = row.get(each["verdict"], 0) + each["traces"]
    yield from _picture("verdicts", "Verdicts, in traces", verdicts, _COLOURS)
    yield from _picture("actions", "How often actions are taken, by outcome", _taken(found))


def _picture(
    name: str, title: str, rows: Mapping[str, Mapping[str, int]], colours: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str, str]]:
    if rows:
        shown = list(rows.items())[:MAX_PICTURE_ROWS]
        heading = title if len(shown) == len(rows) else f"{title}: {len(shown)} of {len(rows):,}"
        yield f"{name}.svg", heading, bars(heading, shown, colours)


def _taken(found: RunReport) -> dict[str, dict[str, int]]:
    """Return how often each action is taken in all plans together, by its outcomes if it has some; most first."""
    taken = dict[str, Counter[str]]()
    outcomes = dict[str, Counter[str]]()
    for each in found.coverage:
        if each["kind"] in ("action", "fault"):
            taken.setdefault(each["name"], Counter())[each["kind"]] += each["times"]
        elif each["kind"] == "outcome":
            action, _, outcome = each["name"].rpartition(" ")
            outcomes.setdefault(action, Counter())[outcome] += each["times"]
    for action, known in outcomes.items():
        counts = taken.setdefault(action, Counter())
        counts.subtract({next(iter(counts), "action"): known.total()})
        counts.update(known)
    rows = {action: {word: count for word, count in sorted(row.items()) if count > 0} for action, row in taken.items()}
    return dict(sorted(rows.items(), key=lambda each: (-sum(each[1].values()), each[0])))


def as_markdown(found: RunReport) -> str:
    """Return a report as Markdown."""
    return "\n".join(_lines(found))


def _lines(found: RunReport) -> Iterator[str]:
    yield f"# Run {found.run}: {found.verdict}\n"
    counts = ("traces", "events", "steps", "observed")
    yield from _table(
        ("variant", *counts, "seconds of checking", "verdicts"),
        [
            (
                each["variant"],
                *(f"{each[name]:,}" for name in counts),
                f"{each['seconds']:,.0f}",
                ", ".join(f"{count:,} {word}" for word, count in sorted(each["verdicts"].items())),
            )
            for each in found.variants
        ],
    )
    for name, title, _ in pictures(found):
        yield f"\n![{_plain(title)}]({name})"
    yield from _section("Not whole", [f"- {_plain(gap)}" for gap in found.gaps])
    dead = found.dead_letters
    letters = [_plain(f"- {each['source']}:{each['line']}: {each['reason']}") for each in dead["first"]]
    yield from _section(f"No lines of a trace: {dead['count']:,}", letters)
    failed = [(each["variant"], each["property"], f"{each['traces']:,}") for each in found.properties]
    yield from _tabled("Properties that fail", ("variant", "property", "traces"), failed)
    yield from _section("Traces that do not hold", [_failure(each) for each in found.failures])
    yield from _section("Counterexamples", [_counterexample(each) for each in found.counterexamples])
    yield from _reached(found)


def _failure(each: Mapping[str, Any]) -> str:
    about = f"({each['variant']}): {each['verdict']}: {each['reason']}"
    return f"- {_code(each['trace'])} {_plain(about)}\n  {_code(each['replay'])}"


def _counterexample(each: Mapping[str, Any]) -> str:
    counts = f"in {counted(each['traces'], 'trace')}, {counted(each['events'], 'event')}"
    about = f"{each['signature']} ({each['variant']}): {counts}: {each['reason']}"
    return f"- {_plain(about)}\n  {_code(each['replay'])}"


def _reached(found: RunReport) -> Iterator[str]:
    floors = [
        (each["plan"], each["required"] - len(each["missing"]), each["required"], each["result"])
        for each in found.floors
    ]
    yield from _tabled("Floors", ("plan", "reached", "of", "floor"), floors)
    yield from _section("Never taken", [f"- {_plain(each)}" for each in found.never_taken])
    rows = [
        (each["plan"] or "-", each["kind"], each["name"], f"{each['traces']:,}", f"{each['times']:,}")
        for each in found.coverage
    ]
    yield from _tabled("Reached", ("plan", "what", "name", "traces", "times"), rows)


def _tabled(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    if rows:
        yield from _section(title, list(_table(heads, rows)))


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"\n## {title}\n"
        yield from lines


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    for row in (heads, ["---"] * len(heads), *rows):
        yield f"| {' | '.join(_plain(str(cell)).replace('|', chr(92) + '|') for cell in row)} |"


def _plain(text: str) -> str:
    """Return a text that is one line, and begins no link and no element of HTML."""
    return re.sub(r"([\\<\[\]`])", r"\\\1", " ".join(visible(text).splitlines()))


def _code(text: str) -> str:
    """Return a text as code in a line: between more backticks than it has side by side."""
    line = " ".join(visible(text).splitlines())
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"
