"""The hunts that were measured: their table is that of docs/hunt.md, and a seed that found a flaw finds it again."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.scripts.hunts import FLAWS, names, results, table
from tests.support.places import ROOT

#: The results, a line for each flaw and seed.
HUNTS = ROOT / "tests" / "hunt" / "hunts.ndjson"
SEEDS = range(1, 6)
#: The budget of each hunt, of the processor.
SECONDS = 600


def hunts(*words: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tests.scripts.hunts", *map(str, words)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def seeds() -> Iterator[Any]:
    """Every flaw with every seed; those of a hunt that found nothing, or was not measured, are skipped."""
    found = {(each["flaw"], each["seed"]): each["found"] for each in results(HUNTS)}
    for flaw, seed in itertools.product(names(), SEEDS):
        if (flaw, seed) not in found:
            marks = [pytest.mark.skip(reason=f"{flaw} was not hunted with seed {seed}")]
        elif found[flaw, seed] is None:
            marks = [pytest.mark.skip(reason=f"seed {seed} did not find {flaw}")]
        else:
            marks = []
        yield pytest.param(flaw, seed, id=f"{flaw}-{seed}", marks=marks)


@pytest.mark.nightly
@pytest.mark.parametrize(("flaw", "seed"), list(seeds()))
def test_a_seed_that_found_a_flaw_finds_it_again(flaw: str, seed: int, tmp_path: Path) -> None:
    """In a process of its own: Hypothesis also draws constants of all modules that are loaded, and tests load more."""
    done = hunts(tmp_path / "hunts.ndjson", "--flaw", flaw, "--seed", seed, "--seconds", SECONDS)
    assert done.returncode == 0, done.stderr
    (again,) = results(tmp_path / "hunts.ndjson")
    assert (again["flaw"], again["seed"]) == (flaw, seed)
    assert again["found"] is not None


#: The flaws that were not hunted with each of the five seeds.
NOT_HUNTED_WITH_EACH_SEED = frozenset({"TornVote", "AppendTermCheck", "DeposedTruncate"})


def test_each_flaw_but_for_those_that_are_named_was_hunted_once_with_each_seed() -> None:
    done = results(HUNTS)
    hunted = [(each["flaw"], each["seed"]) for each in done]
    assert len(set(hunted)) == len(hunted)
    missing = set(itertools.product(names(), SEEDS)) - set(hunted)
    assert {flaw for flaw, _ in missing} == NOT_HUNTED_WITH_EACH_SEED
    assert all(each["seconds"] == SECONDS for each in done if each["found"] is None), "a budget of another length"


def test_the_page_has_the_table_of_the_hunts_that_were_measured() -> None:
    """`python -m tests.scripts.hunts tests/hunt/hunts.ndjson --table` prints it."""
    page = (ROOT / "docs" / "hunt.md").read_text(encoding="utf-8")
    section = re.search(r"^## What it finds\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    assert section is not None
    rows = [line for line in section[1].splitlines() if line.startswith("|")]
    assert rows == [line for line in table(results(HUNTS)) if line]


def measured(flaw: str, seed: int, after: float | None, **rest: Any) -> dict[str, Any]:
    """The result of a hunt; `after` None where it found nothing."""
    result = {"flaw": flaw, "nodes": 3, "seed": seed, "seconds": 600.0, "farthest": {"elections": float(seed)}, **rest}
    return {**result, "found": None} if after is None else {"found": "NoHoles", "after": after, "length": 9, **result}


def test_a_row_says_how_many_seeds_found_a_flaw_how_soon_and_how_far_the_others_came() -> None:
    rows = list(
        table(
            [
                *(measured("VoteFile", seed, after) for seed, after in ((1, 3.4), (2, 0.2), (3, 71.6))),
                measured("VoteFile", 4, 2.0, found="LogMatching", length=7),
                *(measured("PushTermCheck", seed, None, nodes=5) for seed in (1, 2)),
                measured("TornVote", 1, 9.0),
                measured("TornVote", 2, None),
            ]
        )
    )
    assert "| `VoteFile` | 4 of 4 | 2 s | 72 s | LogMatching, NoHoles | 7 |  |" in rows
    assert "| `PushTermCheck`, 5 nodes | 0 of 2 | > 600 s | > 600 s |  |  | elections 2 |" in rows
    assert "| `TornVote` | 1 of 2 | 9 s | > 600 s | NoHoles | 9 | elections 2 |" in rows
    assert len(rows) == 2 * len(FLAWS) + 3 + len(FLAWS)


def test_hunts_that_were_measured_are_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "hunts.ndjson"
    words = (file, "--flaw", "VoteFile", "--seed", 1)
    assert '"flaw": "VoteFile"' in hunts(*words).stdout
    (found,) = results(file)
    assert found["found"] is not None
    assert hunts(*words).stdout.splitlines() == list(table([found]))
    assert results(file) == [found]


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--flaw", "VoteFil"), "invalid choice: 'VoteFil'"), (("--table",), "there is no missing.ndjson")],
)
def test_a_misspelt_flaw_and_a_table_of_nothing_are_refused(words: tuple[str, ...], said: str) -> None:
    done = hunts("missing.ndjson", *words)
    assert done.returncode == 2
    assert said in done.stderr
