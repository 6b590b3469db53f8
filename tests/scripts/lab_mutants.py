"""Mutants of a solution of the Raft lab: which does `lockstep grade` catch, and which the lab's kind of tests.

    python -m tests.scripts.lab_mutants [--seeds 3] [NAME ...]

prints a line for each of tests/support/lab_raft/mutants.toml, and the counts of docs/measured/lab.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.jobs.grade.grading import LabGrade, LabGrader
from lockstep.jobs.grade.lab import load_lab
from lockstep.jobs.grade.lab_lines import lab_tests

SOLUTION = Path(__file__).resolve().parents[1] / "support" / "lab_raft"
SEEDS = 3

#: How long one test of one seed may take: time leaps, so one that runs on does not end at all.
MAX_SECONDS = 20

#: How many tests of a mutant may run on, before the others are left out.
MAX_ENDLESS = 3


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit of raft.go, and the names that may be given to the rule that it breaks; none where it only slows."""

    name: str
    old: str
    new: str
    breaks: tuple[str, ...]

    def applied(self, source: str) -> str:
        """Return the source with the edit; raises ValueError where `old` does not stand in it once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: `old` stands in raft.go {source.count(self.old)} times")
        return source.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found in the runs of one program: the tests that failed, and the grades."""

    failed: tuple[str, ...]
    runs: int
    grades: tuple[LabGrade, ...]

    @property
    def broken(self) -> list[str]:
        """The rules that runs break, each once, in the order of the runs."""
        return list(dict.fromkeys(each.broken or "?" for each in self.grades if each.verdict.deviation is not None))

    @property
    def unlike(self) -> list[str]:
        """The rules that runs keep in another way."""
        return list(dict.fromkeys(each.unlike_rule or "?" for each in self.grades if each.unlike is not None))


def mutants() -> list[Mutant]:
    """Return the mutants of the list."""
    tables = tomllib.loads((SOLUTION / "mutants.toml").read_text(encoding="utf-8"))
    return [Mutant(name, table["old"], table["new"], tuple(table["breaks"])) for name, table in tables.items()]


def build(folder: Path, mutant: Mutant | None = None) -> Path:
    """Build the tests of the solution, or of a mutant of it, in a folder; raises CalledProcessError where Go cannot."""
    for path in SOLUTION.iterdir():
        if path.suffix in (".go", ".mod"):
            shutil.copy(path, folder)
    if mutant is not None:
        source = folder / "raft.go"
        source.write_text(mutant.applied(source.read_text(encoding="utf-8")), encoding="utf-8")
    program = folder / "lab.test"
    environment = {**os.environ, "GOPROXY": "off", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    command = ["go", "test", "-c", "-o", str(program), "."]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, timeout=300)
    return program


def run_tests(program: Path, seeds: Sequence[int], log: Path, *words: str) -> tuple[list[str], int]:
    """Run each test with each seed into a log; return the runs that failed, as TEST/SEED, and how many there were."""
    listed = subprocess.run([program, "-test.list", "."], check=True, capture_output=True, text=True)
    failed, runs, endless = [], 0, 0
    with log.open("w", encoding="utf-8") as file:
        for seed in seeds:
            for name in listed.stdout.split():
                if endless >= MAX_ENDLESS:
                    break
                command = [program, "-test.run", f"^{name}$", f"-seed={seed}", *words]
                runs += 1
                try:
                    done = subprocess.run(
                        command, capture_output=True, text=True, errors="replace", timeout=MAX_SECONDS, check=False
                    )
                    text, code = done.stdout, done.returncode
                except subprocess.TimeoutExpired as error:
                    text, code, endless = (error.stdout or b"").decode(errors="replace"), -1, endless + 1
                file.write(text.rpartition("\n")[0] + "\n" if code else text)
                if code:
                    failed.append(f"{name}/{seed}")
    return failed, runs


def judge(grader: LabGrader, seeds: Sequence[int], mutant: Mutant | None = None, *words: str) -> Judged:
    """Build, run and grade the solution, or a mutant of it up to the first run that breaks a rule.

    Arguments: `seeds`, of delays and losses; `words`, more options of the tests.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        failed, runs = run_tests(build(folder, mutant), seeds, folder / "out.log", *words)
        grades: list[LabGrade] = []
        for grade in grader.grades(lab_tests(folder / "out.log", grader.lab), 0):
            grades.append(grade)
            if mutant is not None and grade.verdict.deviation is not None:
                break
        return Judged(tuple(failed), runs, tuple(grades))


def outcome(mutant: Mutant, found: Judged) -> str:
    """Return what became of a mutant: named, misnamed, unlike (named, though safe), or nothing."""
    if found.broken:
        return "named" if found.broken[0] in mutant.breaks else "misnamed"
    if found.unlike:
        return "unlike" if found.unlike[0] in mutant.breaks else "unlike, misnamed"
    return "nothing"


def main() -> None:
    """Judge the mutants that the command line names, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    seeds, grader = range(1, given.seeds + 1), LabGrader(load_lab())
    chosen = [each for each in mutants() if not given.names or each.name in given.names]
    for mutant in chosen:
        found = judge(grader, seeds, mutant)
        tests = f"{len(found.failed)} of {found.runs} runs fail"
        rules = [re.sub("Rules for Servers, ", "", rule) for rule in found.broken or found.unlike]
        print(f"{mutant.name:28} {outcome(mutant, found):17} {tests:24} {'; '.join(rules)}", flush=True)


if __name__ == "__main__":
    main()
