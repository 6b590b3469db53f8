"""The pages that people read: their links lead somewhere, their terms are defined, and their numbers are right."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from lockstep.systems.registry import SYSTEMS, lemmas, models_of_tier, simulators
from tests.support.places import ROOT

DOCS = ROOT / "docs"
GLOSSARY = DOCS / "glossary.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "reference").glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "spec").rglob("*.md")),
    *sorted((ROOT / "traces").rglob("*.md")),
    *sorted((ROOT / "tests").rglob("*.md")),
]
MAX_README_WORDS = 900

#: A term of a link into the glossary, and each link of a page: its words and where it leads.
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _CODE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: its headings, as GitHub writes them."""
    heads = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def links(page: Path) -> list[tuple[str, str, Path, str]]:
    """The links of a page that stay in this project: words, target, file, anchor."""
    found = []
    for words, target in _LINK.findall(prose(page)):
        if not target.startswith(("http://", "https://")):
            file, _, anchor = target.partition("#")
            found.append((words, target, (page.parent / file).resolve() if file else page, anchor))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(page: Path) -> None:
    broken = [
        target
        for _, target, file, anchor in links(page)
        if not file.exists() or (anchor and anchor not in anchors(file))
    ]
    assert broken == []


NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name)
def test_every_link_of_a_notebook_leads_to_a_file_and_a_heading_that_are_there(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "markdown")
    targets = [target for _, target in _LINK.findall(text) if not target.startswith(("http://", "https://"))]
    assert targets
    broken = []
    for target in targets:
        file, _, anchor = target.partition("#")
        path = (notebook.parent / file).resolve()
        broken += [target] if not path.exists() or (anchor and anchor not in anchors(path)) else []
    assert broken == []


def test_every_page_is_reached_from_the_readme() -> None:
    seen, pending = set(), [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        if page not in seen:
            seen.add(page)
            pending += [file for _, _, file, _ in links(page) if file.suffix == ".md"]
    assert {name(page) for page in PAGES} <= {name(page) for page in seen}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= MAX_README_WORDS


# ---- The glossary ----


def entries() -> dict[str, str]:
    """The terms of the glossary with what is said of each."""
    parts = re.split(r"^### (.*)$", prose(GLOSSARY), flags=re.MULTILINE)
    return {
        term: re.split(r"^## ", said, flags=re.MULTILINE)[0].strip()
        for term, said in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_every_term_that_a_page_links_is_in_the_glossary() -> None:
    linked = {
        (name(page), anchor) for page in PAGES for _, _, file, anchor in links(page) if file == GLOSSARY and anchor
    }
    assert {("README.md", "trace"), ("docs/conformance.md", "forced")} <= linked
    known = {term.lower().replace(" ", "-") for term in entries()}
    assert {(page, anchor) for page, anchor in linked if anchor not in known} == set()


def test_the_glossary_is_in_order_and_says_each_thing_once() -> None:
    for part in re.split(r"^## ", prose(GLOSSARY), flags=re.MULTILINE)[1:]:
        terms = [term.lower() for term in re.findall(r"^### (.*)$", part, re.MULTILINE)]
        assert terms == sorted(set(terms))
    assert len(entries()) == len(re.findall(r"^### ", prose(GLOSSARY), re.MULTILINE))


@pytest.mark.parametrize("term", entries())
def test_every_term_names_the_place_that_defines_it(term: str) -> None:
    said = entries()[term]
    words, target = _LINK.findall(said)[-1]
    text = (GLOSSARY.parent / target).read_text(encoding="utf-8")
    assert said.endswith(f"[{words}]({target}).")
    assert re.search(rf"\b{re.escape(words.strip('`'))}\b", text)


#: Words of the protocol and of what the commands print.
WORDS = """
watermark, quorum index, dispatcher, COMPARE, TRUNCATE, APPEND, COMMIT, recording, trace, event, hidden, forced, floor,
witness, mutant, holds, violated, inconclusive, malformed, internal error, tier, plan, feature, switch, variant,
published, repaired
"""


@pytest.mark.parametrize("term", [" ".join(word.split()) for word in WORDS.split(",")])
def test_the_glossary_has_the_words_that_the_commands_print(term: str) -> None:
    assert term in entries()


# ---- Numbers ----


def test_the_page_on_tiers_counts_rightly() -> None:
    text = " ".join((DOCS / "tiers.md").read_text(encoding="utf-8").split())
    quick, deep = (len(models_of_tier(tier)) for tier in ("quick", "deep"))
    assert f"the {quick} *quick* models" in text
    assert f"the {deep} *deep* models" in text
    verified = [plan for each in SYSTEMS.values() if each.simulator for plan in each.simulator.verified]
    assert (len(lemmas()), len(verified)) == (8, 7)
    assert "eight lemmas with z3; 35 simulated clusters (seven plans of faults, five seeds each)" in text
    assert f"seven of the {len(simulators())} plans" in text
    assert {f"`make {target}`" for target in ("verify", "deep", "test", "nightly", "lint")} <= set(
        re.findall(r"^\| (`make \w+`) \|", (DOCS / "tiers.md").read_text(encoding="utf-8"), re.MULTILINE)
    )


def test_the_page_on_exit_codes_is_right() -> None:
    from lockstep.base.verdict import Verdict

    rows = re.findall(r"^\| (\d) \| \*([\w ]+)\* \|", prose(DOCS / "conformance.md"), re.MULTILINE)
    assert {word: int(code) for code, word in rows} == {str(each): each.exit_code for each in Verdict}
