"""Planted deviations judged: `python -m tests.scripts.diagnosis.judge OUTPUT FILE...` prints the table of the page.

A row is right if the diagnosis names first a rule that the function with the mistake states (rules.toml). A change of a
recording is named rightly by the line, or by the action of the step that is missing.
"""

from __future__ import annotations

import csv
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

RULES = Path(__file__).with_name("rules.toml")

#: The cause that is right of each change of a recording.
CHANGES = {"SHOWS": "value", "DROPPED": "step", "REPEATED": "repeated"}

Row = dict[str, str]
Rules = Mapping[str, Mapping[str, list[str]]]


def read_rows(path: Path) -> list[Row]:
    """Read planted deviations; raises ValueError where a file has none."""
    with path.open(encoding="utf-8", newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    if not rows:
        raise ValueError(f"{path} has no row")
    return rows


def system_of(row: Row) -> str:
    """Return the system of the reference that a row's plan is of."""
    return "hashicorp" if row["source"].startswith("raft") else "dledger"


def is_right(row: Row, rules: Rules) -> bool:
    """Return whether the first cause of a row is what was planted; raises KeyError for a function without rules."""
    change, _, action = row["rule"].partition(" ")
    if change in CHANGES:
        is_there = row["what"].startswith(f"{action}(") if change == "DROPPED" else row["at"] == row_of_change(row)
        return row["cause"] == CHANGES[change] and is_there
    known = rules[system_of(row)][row["rule"]]
    if row["cause"] == "flaws":
        return all(each.partition("=")[0] in known for each in row["what"].split(", "))
    return row["definition"] in known


def row_of_change(row: Row) -> str:
    """Return the line at which a change of a recording is right: of a repeated event that of the second."""
    return str(int(row["planted_at"]) + (row["rule"].startswith("REPEATED")))


def table(rows: Iterable[Row], rules: Rules) -> str:
    """Return a table in Markdown: by what was planted, how many, and how many were named first."""
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for row in rows:
        counts[_what(row)][is_right(row, rules)] += 1
    lines = ["| planted | deviations | the right cause is named first | % |", "| --- | --- | --- | --- |"]
    for what, found in [*counts.items(), ("all", sum(counts.values(), Counter[bool]()))]:
        total = found.total()
        lines.append(f"| {what} | {total} | {found[True]} | {100 * found[True] / total:.0f} |")
    return "\n".join(lines)


def _what(row: Row) -> str:
    changed = {"SHOWS": "a value that a recording shows", "DROPPED": "an event left out", "REPEATED": "an event twice"}
    change = row["rule"].partition(" ")[0]
    if change in changed:
        return changed[change]
    title = "hashicorp/raft" if system_of(row) == "hashicorp" else "DLedger"
    return f"a mistake in the reference of {title}"


def table_of_specs(rows_by_form: Mapping[str, Sequence[Row]]) -> str:
    """Return a table in Markdown of mistakes in specs: how many, and how many were named first, and at all."""
    lines = [
        "| what the right spec does | mistakes | named first | named | % first |",
        "| --- | --- | --- | --- | --- |",
    ]
    for form, rows in rows_by_form.items():
        first, named = (sum(row["rank"] in ranks for row in rows) for ranks in (("1",), ("1", "2", "3")))
        lines.append(f"| {form} | {len(rows)} | {first} | {named} | {100 * first / len(rows):.0f} |")
    return "\n".join(lines)


def load_rules() -> Rules:
    """Return the rules of the functions of each reference."""
    return tomllib.loads(RULES.read_text(encoding="utf-8"))


def write_judged(rows: Sequence[Row], rules: Rules, path: Path) -> None:
    """Write rows as CSV, each with whether it is right."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "right"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "right": "yes" if is_right(row, rules) else "no"} for row in rows)


def main() -> None:
    """Write the rows of some files, judged, into the first file that is named, and print the table."""
    rules = load_rules()
    rows = [row for name in sys.argv[2:] for row in read_rows(Path(name))]
    write_judged(rows, rules, Path(sys.argv[1]))
    print(table(rows, rules))


if __name__ == "__main__":
    main()
