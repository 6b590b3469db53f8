"""The table of traces/counterexamples/README.md, made of the manifest: `python -m counterexamples.index` prints it."""

from __future__ import annotations

from collections.abc import Sequence

from tests.scripts.counterexamples.tool import Counterexample, counterexamples

_HEAD = """\
| flaw | violated, by the last step | steps | nodes | the repaired spec refuses | model |
| --- | --- | --- | --- | --- | --- |"""


def table(rows: Sequence[Counterexample]) -> str:
    """Return the table, a row for each counterexample."""
    return "\n".join((_HEAD, *map(_row, rows)))


def _row(row: Counterexample) -> str:
    folder = row.file.rpartition("/")[0]
    story = f"[`{row.switch}`]({folder}/README.md#{row.switch.lower()})"
    violated = "nothing: liveness" if row.violates is None else f"`{row.violates}`"
    fails = "" if row.refused.name == row.refused.action else f", `{row.refused.name}`"
    refused = f"line {row.refused.line}, `{row.refused.action}`{fails} ({row.refused.code})"
    cells = (story, violated, str(row.steps), str(row.nodes), refused, f"[`{row.model}`]({row.file})")
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(table(counterexamples()))
