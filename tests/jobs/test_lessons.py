"""The lessons: each recorded flaw has one, and all that a page quotes of commands, traces and the spec is so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lockstep.cli.command_line import cli
from tests.support.places import ROOT
from tests.support.sampling import sampled

LESSONS = ROOT / "docs" / "course" / "lessons"
STORIES = ROOT / "traces" / "counterexamples"
PAGES = sorted(page for page in LESSONS.glob("*.md") if page.name != "README.md")
MAX_LINES = 74

#: The definition in Choices.tla of each flaw: "TornVote" is true where `WritesVoteInTwo` is.
SWITCHES = {
    flaw: switch
    for path in sorted((ROOT / "spec").glob("*/Choices.tla"))
    for switch, flaw in re.findall(r'^(\w+) +== "(\w+)" \\in Flaws$', path.read_text(encoding="utf-8"), re.MULTILINE)
}

#: Flaws by the name that their pages and recordings have: `TornVote` is torn_vote.
FLAWS = {re.sub(r"(?<!^)(?=[A-Z])", "_", flaw).lower(): flaw for flaw in SWITCHES}

#: Lessons whose commands each run takes.
BY_DAY = [LESSONS / "prior_term_commit.md"]


def recorded_flaws() -> set[str]:
    """The names of all recordings that are named after a flaw."""
    recordings = (ROOT / "traces" / "captured").rglob("*.ndjson")
    return {name for path in recordings if (name := path.stem.rpartition("-")[2]) in FLAWS}


def blocks(page: Path, language: str) -> list[re.Match[str]]:
    text = page.read_text(encoding="utf-8")
    found = list(re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert found
    return found


def ran(command: str) -> str:
    """Return what a command prints."""
    result = CliRunner().invoke(cli, command.split()[2:], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def is_part(part: Any, whole: Any) -> bool:
    """Whether a value is another one with some fields left out."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return isinstance(whole, list) and len(part) == len(whole) and all(map(is_part, part, whole))
    return bool(part == whole) and type(part) is type(whole)


def test_every_recorded_flaw_has_a_lesson_and_a_row_and_its_story_links_it() -> None:
    assert len(recorded_flaws()) == 13
    assert {page.stem for page in PAGES} == recorded_flaws()
    readme = (LESSONS / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`(\w+)`\]\((\w+)\.md\) \| (.*?) \|", readme, re.MULTILINE)
    assert {name: flaw for flaw, name, _ in rows} == {name: FLAWS[name] for name in recorded_flaws()}
    assert len(rows) == len(PAGES)
    for flaw, name, versions in rows:
        (story,) = (path for path in STORIES.rglob("README.md") if f"[{name}.trace.ndjson]" in path.read_text("utf-8"))
        section = story.read_text(encoding="utf-8").partition(f"\n## {flaw}\n")[2].partition("\n## ")[0]
        assert f"(../../../../docs/course/lessons/{name}.md)" in section
        page = (LESSONS / f"{name}.md").read_text(encoding="utf-8")
        assert f"\n`{flaw}` of {versions.replace(', 0.3.2', ' and 0.3.2')}: [the story]" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_lesson_is_short_and_has_its_parts(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    parts = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert parts == ["The recording", "The decisive step", "The rule", "The fix", "Questions"]
    assert re.findall(r"^(\d)\. ", text, re.MULTILINE) == ["1", "2"]
    assert re.search(r"^\*\*Answers\.\*\* \(1\) .* \(2\) ", text, re.MULTILINE | re.DOTALL)
    assert text.count("\n| published | ") == text.count("\n| repaired | ") == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_lines_of_the_spec_on_a_page_are_the_specs_and_one_has_the_flaw(page: Path) -> None:
    text, quoted = page.read_text(encoding="utf-8"), ""
    for quote in blocks(page, "tla"):
        (*_, target) = re.findall(r"\]\((\S+\.tla)\)", text[: quote.start()])
        assert quote[1] in (page.parent / target).read_text(encoding="utf-8")
        quoted += quote[1]
    switch = SWITCHES[FLAWS[page.stem]]
    assert re.search(rf"\b{switch}\b", quoted)
    assert switch == FLAWS[page.stem] or f"`{switch}` is `{FLAWS[page.stem]}`" in text


@pytest.mark.parametrize("page", sampled(PAGES, BY_DAY), ids=lambda page: page.stem)
def test_a_lessons_commands_print_what_it_says_and_its_fields_are_in_the_trace(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    (block,) = blocks(page, "text")
    commands = [line for line in block[1].splitlines() if line.startswith("$ ")]
    assert "".join(f"{line}\n{ran(line)}" for line in commands) == block[1]

    (trace,) = tmp_path.glob("*.trace.ndjson")
    assert commands[-1] == f"$ lockstep check --switch {FLAWS[page.stem]}=repaired {page.stem}.trace.ndjson"
    lines = trace.read_text(encoding="utf-8").splitlines()
    quotes = [quote.partition(" ") for each in blocks(page, "trace") for quote in each[1].splitlines()]
    wrong = [
        number for number, _, fields in quotes if not is_part(json.loads(fields), json.loads(lines[int(number) - 1]))
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_first_cause_is_the_lessons_flaw_and_the_refused_line_is_quoted(page: Path) -> None:
    """Read the output on the page, which the test of the commands compares with the real one."""
    (block,) = blocks(page, "text")
    (refused,) = re.findall(rf"^{page.stem}\.trace\.ndjson:(\d+): ", block[1], re.MULTILINE)
    assert re.findall(r"^ +cause +(.*?): ", block[1], re.MULTILINE) == [f"{FLAWS[page.stem]}=published"]
    quoted = [line.partition(" ")[0] for each in blocks(page, "trace") for line in each[1].splitlines()]
    assert refused in quoted
    assert quoted == sorted(quoted, key=int)


@pytest.mark.parametrize(
    ("name", "switch", "line", "cause"),
    [
        ("stale_compare_index", "CommitPastEnd", 568, "CommitPastEnd"),
        ("commit_past_end", "LateTruncate", 149, "LateTruncate"),
        ("reaped_install", "StaleInstall", 109, "StaleInstall"),
        ("verify_counts_nonvoters", "VerifyCountsOldAcks", 189, "VerifyCountsOldAcks"),
    ],
)
@pytest.mark.nightly
def test_a_question_with_another_switch_has_the_answer_that_the_page_gives(
    name: str, switch: str, line: int, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (LESSONS / f"{name}.md").read_text(encoding="utf-8")
    assert f"--switch {switch}=repaired" in text
    monkeypatch.chdir(tmp_path)
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    (block,) = blocks(LESSONS / f"{name}.md", "text")
    ran(block[1].splitlines()[0])
    printed = ran(f"$ lockstep check --switch {switch}=repaired {name}.trace.ndjson")
    assert f"{name}.trace.ndjson:{line}: " in printed
    assert f"cause      {cause}=published: " in printed
