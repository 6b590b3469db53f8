"""A report on a run as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lockstep.base.characters import counted, visible
from lockstep.pipeline.stages.reporting.pictures import pictures
from lockstep.pipeline.stages.reporting.reported import Report


def as_markdown(found: Report) -> str:
    """Lay out a report."""
    return "\n".join(_lines(found))


def _lines(found: Report) -> Iterator[str]:
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


def _reached(found: Report) -> Iterator[str]:
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
