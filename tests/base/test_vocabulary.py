"""The project's own vocabulary: words that may not come back, and class names with one meaning."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support.places import ROOT

FOLDERS = ("checker", "reference", "tests", "bench")


@dataclass(frozen=True)
class Unwanted:
    """A word that is not to be used: what finds it, what to write instead, and how often it may stand at most.

    A maximum is the count when it was pinned: it may only fall, and is 0 once the word is gone.
    """

    pattern: str
    instead: str
    maximum: int


UNWANTED = {
    "told": Unwanted(r"(?<![a-z])told(?![a-z])", "report, print, record, return, show", 0),
    "tell": Unwanted(r"\b[Tt]ell(s|ing)?\b", "report, print, record, return, show; `Return whether`", 1),
    "so many": Unwanted(r"\b[Ss]o many\b", "a limit is MAX_X, a count is x_count", 0),
    "of which": Unwanted(r"\b[Oo]f which\b", "whose, with, or two sentences", 0),
    "def of": Unwanted(r"\bdef _?of\b|\bdef _?told\b", "the name of the thing that is returned", 0),
    "_FEW, _MOST": Unwanted(r"\b_?(FEW|MOST|MANY)\b|\b_?MOST_[A-Z]", "MAX_ and the thing that is limited", 0),
    "hands": Unwanted(r"\bhands\b(?! (over|on|out)\b)", "workers", 0),
    "room": Unwanted(r"\brooms?\b", "memory_budget; package", 7),
    "sight": Unwanted(r"(?<![a-z])sights?(?![a-z])", "observation", 0),
    "concern": Unwanted(r"\b[Cc]oncern(s|ed|ing)?\b", "affected", 0),
    "beyond": Unwanted(r"(?<![a-z])beyond(?![a-z])", "unreachable; above, after", 3),
    "ahead": Unwanted(r"(?<![a-z])ahead(?![a-z])", "lookahead", 0),
    "class Told": Unwanted(
        r"\bclass _?(Told|Said|Kept|How|Met|Look|Taken|Asked|Seen)\b",
        "the thing: Observation, Output, Subscription",
        0,
    ),
    "Who ..., What ...": Unwanted(
        r'"""(Who|What|Of|Tell|Tells|Say|Says|So) ', "a noun phrase or an imperative verb: `Return the ...`", 0
    ),
    "diary": Unwanted(r"\bthe aim was\b|\bsince then\b|\bused to be\b", "what holds now", 0),
}

#: The two systems, each of which may have its own class of a name, in the reference and in the checker.
SYSTEMS = ("dledger", "hashicorp")


@cache
def sources() -> dict[Path, str]:
    """The Python files of the project, without this one."""
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")) if path != Path(__file__))
    return {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}


def found(pattern: str) -> list[str]:
    """Where a pattern stands, as FILE:LINE."""
    expression = re.compile(pattern)
    return [
        f"{path}:{number}"
        for path, text in sources().items()
        for number, line in enumerate(text.splitlines(), start=1)
        for _ in expression.findall(line)
    ]


@pytest.mark.parametrize("word", UNWANTED)
def test_an_unwanted_word_does_not_come_back(word: str) -> None:
    unwanted = UNWANTED[word]
    places = found(unwanted.pattern)
    assert len(places) <= unwanted.maximum, f"write {unwanted.instead} instead: {places}"


def test_pages_and_specs_have_no_word_of_an_older_vocabulary() -> None:
    """Prose may use ordinary words such as `beyond`; these stood for terms that have a name."""
    words = re.compile("|".join(UNWANTED[name].pattern for name in ("told", "tell", "so many", "diary")))
    suffixes = {".md", ".tla", ".cfg", ".toml"}
    texts = [path for top in ("docs", "spec", "traces") for path in (ROOT / top).rglob("*") if path.suffix in suffixes]
    texts += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    assert len(texts) > 300
    found_in = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if words.search(line)
    ]
    assert found_in == []


def home(path: Path) -> str:
    """The package of a system that a module is in, or the module itself."""
    system = next((part for part in path.parts if part in SYSTEMS), None)
    return str(path) if system is None else f"{path.parts[0]}/{system}"


def names_in_several_modules() -> dict[str, list[str]]:
    """Class names with the modules that they stand in, unless those are one of each system."""
    modules: dict[str, list[Path]] = defaultdict(list)
    for path, text in sources().items():
        if path.parts[0] in ("checker", "reference"):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef):
                    modules[node.name].append(path)
    several = {}
    for name, paths in modules.items():
        of_systems = all(any(system in path.parts for system in SYSTEMS) for path in paths)
        if len(paths) > 1 and not (of_systems and len(set(map(home, paths))) == len(paths)):
            several[name] = list(map(str, paths))
    return several


def test_a_class_name_has_one_meaning() -> None:
    assert names_in_several_modules() == {}
