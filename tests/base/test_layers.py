"""Layers: no circle of imports, data flows one way, and no name of one system outside its own package."""

from __future__ import annotations

import ast
import functools
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from lockstep.systems.registry import SYSTEMS
from lockstep.systems.system import System
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.loading.spec_project import module_texts
from lockstep.tla.values.kinds import Value
from tests.support.places import ROOT, TESTS

SOURCES = {"lockstep": ROOT / "checker", "raftref": ROOT / "reference"}

#: What is there for Python alone.
PLUMBING = {"__init__.py", "__main__.py", "__pycache__", "py.typed"}


def folders(top: Path) -> Iterator[Path]:
    yield top
    yield from (each for each in sorted(top.rglob("*")) if each.is_dir() and each.name not in PLUMBING)


# ---- Imports ----


def modules(package: str) -> dict[str, Path]:
    """The modules of a package by their dotted names."""
    root = SOURCES[package]
    found = {}
    for path in (root / package).rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: set[str]) -> Iterator[str]:
    """The modules that a file imports when it is imported itself, and those that its functions import later."""
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in known)
        elif node.module:
            for each in node.names:
                within = f"{node.module}.{each.name}"
                yield within if within in known else node.module


@functools.cache
def import_statements(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports of a file, but for those that only types ask for."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    only_types = {
        id(node)
        for test in nodes
        if isinstance(test, ast.If) and ast.unparse(test.test) == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    return tuple(each for each in nodes if isinstance(each, ast.Import | ast.ImportFrom) and id(each) not in only_types)


@pytest.mark.parametrize("package", SOURCES)
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    known = modules(package)
    graph = nx.DiGraph()
    for name, path in known.items():
        graph.add_edges_from((name, other) for other in imports(path, set(known)) if other in known and other != name)
    assert graph.number_of_edges() > len(known)
    assert sorted(nx.simple_cycles(graph)) == []


#: The packages of the checker by layer: each imports itself and those before it.
ORDER = (
    *("base", "tlc", "tla", "trace", "conformance", "logs", "models"),
    *("systems", "report", "jobs", "hunt", "cluster", "pipeline", "cli"),
)


def test_every_package_of_the_checker_has_a_layer() -> None:
    packages = {path.name for path in (SOURCES["lockstep"] / "lockstep").iterdir() if (path / "__init__.py").exists()}
    assert packages == set(ORDER)


def test_data_flows_one_way_through_the_layers() -> None:
    known = modules("lockstep")
    wrong = []
    for name, path in known.items():
        layer = name.split(".")[1] if name.count(".") else ""
        if layer not in ORDER:  # lockstep itself, and __main__
            continue
        for other in imports(path, set(known)):
            there = other.split(".")[1] if other.startswith("lockstep.") else layer
            if ORDER.index(there) > ORDER.index(layer):
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_the_reference_never_imports_the_checker() -> None:
    for path in (ROOT / "reference").rglob("*.py"):
        assert "import lockstep" not in path.read_text(encoding="utf-8").replace("from lockstep", "import lockstep"), (
            path
        )


# ---- Tests ----


def test_every_folder_of_tests_is_one_of_the_project() -> None:
    packages = {each.name for package in SOURCES for each in folders(SOURCES[package] / package)}
    support = {"support", "scripts", "specs", "recorded", "__pycache__"}
    here = {each.name for each in TESTS.iterdir() if each.is_dir()} - support
    assert here - packages - {"bench", "reference"} == set()
    assert not list(TESTS.glob("test_*.py"))


# ---- Names of a system ----


def names_of(system: System) -> set[str]:
    """Actions, properties, constants, and what a node shows: the words that only a system's own package may know."""
    assert system.constants is not None
    assert system.null is not None
    first = {name: choices[0] for name, choices in system.constants.allowed.items()}
    constants: dict[str, Value] = dict(system.constants.values(["n1"], {**first, **system.constants.defaults}))
    spec = load_spec(system.module, system.trace_cfg, constants=constants, footprints=system.footprints)
    shown = spec.evaluate(system.observe, next(iter(spec.initial_states())), "n1").d
    choices = system.constants.allowed
    return {*spec.actions, *system.codes, *choices, *shown, *spec.variables, system.spec, system.null} - PLAIN


def words_of(system: System) -> set[str]:
    """Return every word of a system's spec; its own package may know them, whether or not others share them."""
    return {word for text in module_texts(system.module).values() for word in re.findall(r"\w+", text)}


#: Plain words of programs, which are names of a system as well; TypeOK is everybody's.
PLAIN = {
    *("log", "role", "node", "network", "received", "election", "committed", "futures", "TypeOK", "elected"),
    *(
        "leader",
        "loop",
        "verify",
        "verified",
        "transfer",
        "snapshots",
        "Snapshots",
        "Verify",
        "campaign",
        "Heartbeat",
        "configurations",
    ),
}

#: The package of each system.
HOMES = {system.spec: system.root.parts[0] for system in SYSTEMS.values()}


@functools.cache
def tokens(path: Path) -> tuple[tuple[int, str], ...]:
    """The names of a Python file, and the words of its strings, with their lines."""
    found: list[tuple[int, str]] = []
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.NAME:
                found.append((token.start[0], token.string))
            elif token.type == tokenize.STRING:
                found += ((token.start[0], word) for word in re.findall(r"\w+", token.string))
    return tuple(found)


@pytest.mark.parametrize("owner", SYSTEMS.values(), ids=lambda system: system.spec)
def test_no_name_of_a_system_stands_outside_its_package(owner: System) -> None:
    """Only the registry names the systems. Two systems may share a word."""
    names = {system.spec: names_of(system) for system in SYSTEMS.values()}
    assert len(names[owner.spec]) > 60
    found = []
    for path in sorted((ROOT / "checker").rglob("*.py")):
        place = path.relative_to(ROOT / "checker" / "lockstep")
        if place.parts[:2] == ("systems", HOMES[owner.spec]) or place.parts == ("systems", "registry.py"):
            continue
        lives_here = [spec for spec, home in HOMES.items() if place.parts[:2] == ("systems", home)]
        foreign = names[owner.spec] - {word for spec in lives_here for word in words_of(SYSTEMS[spec])}
        found += [
            f"{place}:{line}: {word}"
            for line, word in tokens(path)
            if word in foreign or HOMES[owner.spec] in word.lower()
        ]
    assert found == []


@pytest.mark.parametrize("system", HOMES.values())
def test_the_shared_part_of_the_reference_names_no_system(system: str) -> None:
    for path in sorted((ROOT / "reference" / "raftref").rglob("*.py")):
        if system not in path.relative_to(ROOT).parts:
            text = re.sub(rf"`raftref\.{system}[^`]*`", "", path.read_text(encoding="utf-8"))
            assert not re.search(system, text, re.I), path
