"""The core of the reference: no time, no chance, no input or output."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import raftref.hashicorp

CORE = sorted(Path(raftref.hashicorp.__file__).parent.glob("*.py"))
PURE = {"__future__", "collections", "contextlib", "copy", "dataclasses", "enum", "functools", "struct", "typing"}


@pytest.mark.parametrize("file", CORE, ids=lambda file: file.name)
def test_the_core_imports_nothing_that_knows_time_chance_or_files(file: Path) -> None:
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    modules = [each.module or "" for each in nodes if isinstance(each, ast.ImportFrom)]
    modules += [alias.name for each in nodes if isinstance(each, ast.Import) for alias in each.names]
    assert {module.split(".")[0] for module in modules} <= {"raftref", *PURE}
    assert [module for module in modules if "simulation" in module or "disks" in module] == []


def test_the_core_is_more_than_a_dozen_modules() -> None:
    assert len(CORE) > 12
