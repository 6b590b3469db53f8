"""The page on mechanisms: what it names is there, and what it counts are its rows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support.places import ROOT

PAGE = ROOT / "reference" / "mechanisms.md"
COLUMNS = ["mechanism", "in the code", "spec", "reference", "test", "state"]
SPEC, REFERENCE, TEST = 2, 3, 4
#: The states of a row; all but the first are followed by a reason.
WHOLE, SIMPLIFIED, MISSING = "whole", "simplified", "missing"
OWN = ("Java's own", "Go's own")

_LABEL = re.compile(r"^\[([^\]]+)\]: (\S+)$", re.MULTILINE)
_DIFFERENCE = re.compile(r"\(([a-z]+(?:-[a-zA-Z]+)+)\)")


@dataclass(frozen=True)
class Row:
    """A mechanism: its part of the page and its cells, by column."""

    part: str
    cells: tuple[str, ...]

    @property
    def state(self) -> str:
        return self.cells[-1].partition(":")[0]

    def names(self, column: int) -> list[tuple[str, str]]:
        """The names of a cell with the labels before them; a name without one belongs to the label before."""
        found, label = [], ""
        for given, name in re.findall(r"(?:\[([^\]]+)\] )?`([^`]+)`", self.cells[column]):
            label = given or label
            found.append((label, name))
        return found


@cache
def rows() -> tuple[Row, ...]:
    found, part, in_table = [], "", False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            part = line.removeprefix("## ")
        cells = [each.strip() for each in line.strip("|").split("|")] if line.startswith("|") else []
        if cells == COLUMNS:
            in_table = True
        elif not cells:
            in_table = False
        elif in_table and not set(line) <= set("| -"):
            found.append(Row(part, tuple(cells)))
    return tuple(found)


@cache
def files() -> dict[str, Path]:
    """The file of each label."""
    defined = _LABEL.findall(PAGE.read_text(encoding="utf-8"))
    return {label: (PAGE.parent / path).resolve() for label, path in defined}


def is_bound(node: ast.stmt, name: str) -> bool:
    """Whether a statement defines a name: a class, a function, a constant or a field."""
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name == name
        case ast.Assign(targets=targets):
            return any(isinstance(each, ast.Name) and each.id == name for each in targets)
        case ast.AnnAssign(target=ast.Name(id=target)):
            return target == name
    return False


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def defines(path: Path, name: str) -> bool:
    """Whether a module has a name, such as `Class.method`."""
    scope: ast.Module | ast.ClassDef = tree(path)
    *outer, last = name.split(".")
    for each in outer:
        inner = next((node for node in scope.body if isinstance(node, ast.ClassDef) and node.name == each), None)
        if inner is None:
            return False
        scope = inner
    return any(is_bound(node, last) for node in scope.body)


def has_test(path: Path, name: str) -> bool:
    """Whether a module has a test, in a class or not."""
    return re.search(rf"^( {{4}})?def (?=test_){name}\(", text_of(path), re.MULTILINE) is not None


def is_in_spec(path: Path, name: str) -> bool:
    """Whether a TLA+ module defines a name."""
    return re.search(rf"^{name}(\([^)]*\))? *==", text_of(path), re.MULTILINE) is not None


FINDERS = {SPEC: is_in_spec, REFERENCE: defines, TEST: has_test}


def absent(row: Row, column: int) -> list[str]:
    """The names of a cell that are not where they should be."""
    find = FINDERS[column]
    return [
        f"{label} {name}"
        for label, name in row.names(column)
        if not (label in files() and files()[label].is_file() and find(files()[label], name))
    ]


def test_the_page_has_rows_of_both_systems() -> None:
    assert {row.part for row in rows()} == {"DLedger", "hashicorp/raft"}
    assert {len(row.cells) for row in rows()} == {len(COLUMNS)}
    assert len(rows()) >= 185


@pytest.mark.parametrize("column", FINDERS, ids=lambda column: COLUMNS[column])
def test_every_name_is_where_the_page_says(column: int) -> None:
    assert [each for row in rows() for each in absent(row, column)] == []


@pytest.mark.parametrize("column", FINDERS, ids=lambda column: COLUMNS[column])
def test_a_name_that_is_gone_is_noticed(column: int) -> None:
    row = next(row for row in rows() if row.names(column))
    (label, name), *_ = row.names(column)
    cells = [*row.cells]
    for gone in (f"[{label}] `{name}Gone`", f"[none/{label}] `{name}`", f"`{name}`"):
        cells[column] = gone
        assert len(absent(Row(row.part, tuple(cells)), column)) == 1


def test_a_cell_without_names_is_a_dash() -> None:
    empty = {row.cells[column] for row in rows() for column in FINDERS if not row.names(column)}
    assert empty == {"-"}


def test_every_file_is_named_by_a_row() -> None:
    used = {label for row in rows() for column in FINDERS for label, _ in row.names(column)}
    assert used == files().keys()


def test_every_row_has_a_state_and_a_reason_unless_it_is_whole() -> None:
    assert {row.state for row in rows()} <= {WHOLE, SIMPLIFIED, MISSING, *OWN}
    reasons = [(row.state, row.cells[-1].partition(": ")[2]) for row in rows()]
    assert [state for state, reason in reasons if (state == WHOLE) is bool(reason)] == []


def test_what_is_there_has_code_and_a_test_and_what_is_missing_has_neither() -> None:
    for row in rows():
        has_code, has_tests = bool(row.names(REFERENCE)), bool(row.names(TEST))
        if row.state == WHOLE:
            assert (has_code, has_tests) == (True, True), row.cells[0]
        elif row.state == SIMPLIFIED:
            assert (has_code or bool(row.names(SPEC)), has_tests) == (True, True), row.cells[0]
        elif row.state == MISSING:
            assert (has_code, has_tests) == (False, False), row.cells[0]


def test_every_difference_in_parentheses_has_a_name_in_the_spec() -> None:
    named = {name for row in rows() for name in _DIFFERENCE.findall(row.cells[-1])}
    text = (ROOT / "spec" / "dledger" / "README.md").read_text(encoding="utf-8")
    assert named
    assert {name for name in named if f"- **{name}.**" not in text} == set()


def test_the_counts_on_top_are_those_of_the_rows() -> None:
    counted = Counter((row.part, row.state) for row in rows())
    text = PAGE.read_text(encoding="utf-8")
    assert f"| {len(rows())} mechanisms | whole | simplified | the language's own | missing |" in text
    for part in sorted({row.part for row in rows()}):
        own = sum(counted[part, each] for each in OWN)
        numbers = (counted[part, WHOLE], counted[part, SIMPLIFIED], own, counted[part, MISSING])
        total = sum(numbers)
        assert f"| {part}: {total} | {' | '.join(map(str, numbers))} |" in text
