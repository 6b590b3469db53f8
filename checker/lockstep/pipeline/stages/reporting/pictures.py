"""The pictures of a report on a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from lockstep.base.verdict import Verdict
from lockstep.pipeline.stages.reporting.reported import Report
from lockstep.report.bar_chart import bars

_COLOURS: Mapping[str, str] = {
    str(Verdict.HOLDS): "#4b9b6e",
    str(Verdict.VIOLATED): "#c0392b",
    str(Verdict.INCONCLUSIVE): "#d9b21f",
    str(Verdict.MALFORMED): "#8a6fb0",
    str(Verdict.INTERNAL): "#333b44",
}

#: So many rows a picture has at most.
_MOST_ROWS = 40


def pictures(found: Report) -> Iterator[tuple[str, str, str]]:
    """Yield the pictures that there is something for: the name of the file, the title, the SVG."""
    verdicts = dict[str, dict[str, int]]()
    for each in found.plans:
        of = verdicts.setdefault(f"{each['plan']} ({each['variant']})" if each["plan"] else each["variant"], {})
        of[each["verdict"]] = of.get(each["verdict"], 0) + each["traces"]
    yield from _picture("verdicts", "Verdicts, in traces", verdicts, _COLOURS)
    latencies = {_span(each): {"entries": each["entries"]} for each in found.latencies}
    yield from _picture("latency", "Events from append to commit, in entries", latencies)
    yield from _picture("actions", "How often actions are taken, by outcome", _taken(found))


def _picture(
    name: str, title: str, rows: Mapping[str, Mapping[str, int]], colours: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str, str]]:
    if rows:
        most = list(rows.items())[:_MOST_ROWS]
        told = title if len(most) == len(rows) else f"{title}: {len(most)} of {len(rows):,}"
        yield f"{name}.svg", told, bars(told, most, colours)


def _span(each: Mapping[str, Any]) -> str:
    if each["least"] is None:
        return "never"
    return f"{each['least']:,}" if each["least"] == each["most"] else f"{each['least']:,} to {each['most']:,}"


def _taken(found: Report) -> dict[str, dict[str, int]]:
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
        of = taken.setdefault(action, Counter())
        of.subtract({next(iter(of), "action"): known.total()})
        of.update(known)
    rows = {action: {word: count for word, count in sorted(of.items()) if count > 0} for action, of in taken.items()}
    return dict(sorted(rows.items(), key=lambda each: (-sum(each[1].values()), each[0])))
