"""Mutants of a solution of the Raft lab: which does `lockstep grade` catch, and which the lab's kind of tests.

    python -m tests.scripts.lab_mutants [--seeds 3] [NAME ...]

prints the table of docs/measured/lab.md: a line for each mutant of tests/support/lab_raft/mutants.toml, and the counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.jobs.grade.grading import LabGrade, LabGrader
from lockstep.jobs.grade.lab import load_lab
from lockstep.jobs.grade.lab_lines import lab_tests

SOLUTION = Path(__file__).resolve().parents[1] / "support" / "lab_raft"
SEEDS = 3

#: How long one test of one seed may take: time leaps, so one that runs on does not end at all.
MAX_SECONDS = 20

#: The test that the course does not have.
OWN_TEST = "TestRestarts3C"

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
    """The runs of one program: the tests that failed, and the grades."""

    failed: tuple[str, ...]
    runs: tuple[str, ...]
    grades: tuple[LabGrade, ...]

    @property
    def broken(self) -> list[str]:
        """The rules that runs break, each once, in the order of the runs."""
        return list(dict.fromkeys(each.broken or "?" for each in self.grades if each.verdict.deviation is not None))

    @property
    def unlike(self) -> list[str]:
        """The rules that runs keep in another way."""
        return list(dict.fromkeys(each.unlike_rule or "?" for each in self.grades if each.unlike is not None))


def mutants(name: str = "mutants.toml") -> list[Mutant]:
    """Return the mutants of a list, by default the mistakes; `variants.toml` has other right solutions."""
    tables = tomllib.loads((SOLUTION / name).read_text(encoding="utf-8"))
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


def run_tests(program: Path, seeds: Sequence[int], log: Path, *words: str) -> tuple[list[str], list[str]]:
    """Run each test with each seed into a log; return the runs that failed, as TEST/SEED, and all."""
    listed = subprocess.run([program, "-test.list", "."], check=True, capture_output=True, text=True)
    failed: list[str] = []
    runs: list[str] = []
    endless = 0
    with log.open("w", encoding="utf-8") as file:
        for seed in seeds:
            for name in listed.stdout.split():
                if endless >= MAX_ENDLESS:
                    break
                command = [program, "-test.run", f"^{name}$", f"-seed={seed}", *words]
                runs.append(f"{name}/{seed}")
                try:
                    done = subprocess.run(
                        command, capture_output=True, text=True, errors="replace", timeout=MAX_SECONDS, check=False
                    )
                    text, code = done.stdout, done.returncode
                except subprocess.TimeoutExpired as error:
                    text, code, endless = (error.stdout or b"").decode(errors="replace"), -1, endless + 1
                file.write(text.rpartition("\n")[0] + "\n" if code else text)
                if code:
                    failed.append(runs[-1])
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
        return Judged(tuple(failed), tuple(runs), tuple(grades))


def outcome(mutant: Mutant, found: Judged) -> str:
    """Return what became of a mutant: violated, noted as safe, or nothing; and whether its first name is right."""
    first, kind = ([*found.broken, *found.unlike], "violated" if found.broken else "noted")
    if not first:
        return "nothing"
    return kind if first[0] in mutant.breaks else f"{kind}, misnamed"


def of_lab(runs: Sequence[str]) -> list[str]:
    """Return the runs of tests of the course's kind."""
    return [run for run in runs if not run.startswith(OWN_TEST)]


def report(judged: Mapping[Mutant, Judged], seeds: int) -> Iterator[str]:
    """Yield the lines of the counts."""
    outcomes = Counter(outcome(mutant, found) for mutant, found in judged.items())
    yield f"{len(judged)} mutants, {seeds} seeds: " + ", ".join(f"{n} {what}" for what, n in outcomes.most_common())
    graded = {mutant for mutant, found in judged.items() if outcome(mutant, found) != "nothing"}
    failing = {mutant for mutant, found in judged.items() if of_lab(found.failed)}
    yield f"lockstep grade notices {len(graded)}, the tests {len(failing)}, both {len(graded & failing)}"
    yield f"neither: {', '.join(each.name for each in judged if each not in graded | failing)}"


def main() -> None:
    """Judge the mutants that the command line names, or all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    grader, judged = LabGrader(load_lab()), {}
    print(f"{'mutant':28} {'lockstep grade':18} {'tests fail':11} the rule that is named")
    for mutant in mutants():
        if given.names and mutant.name not in given.names:
            continue
        found = judged[mutant] = judge(grader, range(1, given.seeds + 1), mutant)
        rule = next(iter([*found.broken, *found.unlike]), "").replace("Rules for Servers, ", "")
        tests = f"{len(of_lab(found.failed))} of {len(of_lab(found.runs))}"
        print(f"{mutant.name:28} {outcome(mutant, found):18} {tests:11} {rule}".rstrip(), flush=True)
    print("", *report(judged, given.seeds), sep="\n")


if __name__ == "__main__":
    main()
