"""The values of terms, by TLC and by the compiled specification, and the terms in which the two differ.

TLC evaluates the definitions of a module one by one when it starts, and passes over those that fail. So one run prints
the values of a thousand terms, and a term whose value is missing is one that TLC refuses.

In order: a module of terms; TLC's values of them; those of the compiled specification; comparing the two; reducing a
term whose values differ.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.equality import eq
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.kinds import TlaError, Value, format_value
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc import find_java, find_tla2tools
from tests.support.tla.tla_terms import FIELDS, HEADER, INNER, MODELS, STRINGS, Term

# ---- A module of terms -----------------------------------------------------------------------------------------------

CFG = "".join(f"CONSTANT {name} = {name}\n" for name in sorted(MODELS, reverse=True))
_EXTENDS = "EXTENDS Integers, Sequences, FiniteSets, Bags, TLC\nCONSTANTS " + ", ".join(MODELS)


def write_module(folder: Path, texts: Sequence[str], *, printing: bool) -> Path:
    """Write a module that defines the terms as T0, T1, ..., and a configuration beside it.

    It mentions strings first, against the alphabet: TLC sorts them by the order in which it has met them. Fields come
    by the alphabet, since TLC compares two records field by field, and whether it meets an error depends on that order.

    Args:
        folder: the folder of the module.
        texts: the texts of the terms.
        printing: whether the definitions print their values, as TLC needs it.
    """
    words = [*sorted(FIELDS), *sorted({*STRINGS, "z"} - {*FIELDS}, reverse=True)]
    lines = [_EXTENDS, f"Words == [{', '.join(f'{word} |-> 0' for word in words)}]"]
    quoted = [f'"{word}"' for word in words]
    lines += [f"Quoted == <<{', '.join(quoted)}>>", HEADER]
    for index, text in enumerate(texts):
        lines.append(f'T{index} == Print(<<"T{index}", {text}>>, TRUE)' if printing else f"T{index} == {text}")
    path = folder / "Terms.tla"
    path.write_text("\n".join(["---- MODULE Terms ----", *lines, "====", ""]))
    (folder / "TermsInner.tla").write_text(INNER)
    path.with_suffix(".cfg").write_text(CFG)
    return path


# ---- Values by TLC ---------------------------------------------------------------------------------------------------

_PRINTED = re.compile(r'^<<\s*"T(\d+)",\s*(.*?)\s*>>  TRUE$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Failed:
    """The answer for a term without a value; the message is for readers and is not compared."""

    message: str = ""

    def __str__(self) -> str:
        return f"an error{f' ({self.message})' if self.message else ''}"


Answer: TypeAlias = "Failed | Value"


def answers_of_tlc(folder: Path, texts: Sequence[str]) -> list[Answer]:
    """Ask TLC for the values of terms; it prints none for a term that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    path = write_module(folder, texts, printing=True)
    output = run_tlc_for_output(path)
    found: dict[int, str] = {int(match[1]): match[2] for match in _PRINTED.finditer(output)}
    return [_read(found[i]) if i in found else Failed() for i in range(len(texts))]


def _read(text: str) -> Answer:
    """Read a printed value; where TLC cannot list a set it prints a description, which is no value."""
    try:
        return parse_value(text, MODELS)
    except ValueError as problem:
        return Failed(str(problem))


def run_tlc_for_output(path: Path) -> str:
    """Run TLC on a module without behaviours, and return what it prints."""
    command = [str(find_java().path), "-Xss16m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += [
        f"-Djava.io.tmpdir={path.parent}",
        "-cp",
        str(find_tla2tools()),
        "tlc2.TLC",
        "-deadlock",
        "-metadir",
        str(path.parent / "meta"),
        path.name,
    ]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=600, check=False)
    assert "Finished in" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


# ---- Values by the compiled specification ----------------------------------------------------------------------------


def compile_terms(folder: Path, texts: Sequence[str]) -> Spec:
    """Compile a module of terms."""
    folder.mkdir(parents=True, exist_ok=True)
    path = write_module(folder, texts, printing=False)
    return load_spec(path, path.with_suffix(".cfg"), cache_dir=folder / "cache")


def answers_of_compiled(spec: Spec, count: int) -> list[Answer]:
    """Evaluate the terms of a compiled module."""
    return [evaluate(spec, f"T{index}") for index in range(count)]


def evaluate(spec: Spec, name: str) -> Answer:
    """Evaluate a definition as far as TLC does for printing it: no set is left unlisted."""
    try:
        return frozen(spec.evaluate(name))
    except TlaError as error:
        return Failed(str(error))


# ---- Comparing them --------------------------------------------------------------------------------------------------


def same(mine: Answer, other: Answer) -> bool:
    """Return whether two answers are equal: the same value, or both an error."""
    if isinstance(mine, Failed) or isinstance(other, Failed):
        return isinstance(mine, Failed) and isinstance(other, Failed)
    try:
        return eq(mine, other)
    except TlaError:
        return False


@dataclass(frozen=True)
class Difference:
    """A term whose value by the compiled specification differs from TLC's."""

    text: str
    here: Answer
    tlc: Answer

    def __str__(self) -> str:
        shown = [a if isinstance(a, Failed) else format_value(a) for a in (self.here, self.tlc)]
        return f"{self.text}\n    here: {shown[0]}\n    TLC:  {shown[1]}"


@dataclass
class Comparison:
    """The outcome of comparing some terms.

    Attributes:
        differing: the differences, by the index of the term.
        failing: the number of terms that fail in TLC.
    """

    differing: dict[int, Difference] = field(default_factory=dict)
    failing: int = 0


@dataclass(frozen=True)
class TlcAnswers:
    """The answers of TLC to some terms."""

    texts: tuple[str, ...]
    answers: list[Answer]


def ask_tlc(folder: Path, texts: Sequence[str]) -> TlcAnswers:
    """Ask TLC for the values of terms."""
    return TlcAnswers(tuple(texts), answers_of_tlc(folder / "tlc", texts))


def compared(ours: Sequence[Answer], theirs: TlcAnswers) -> Comparison:
    """Compare answers with those of TLC."""
    result = Comparison(failing=sum(isinstance(answer, Failed) for answer in theirs.answers))
    for index, (mine, other) in enumerate(zip(ours, theirs.answers, strict=True)):
        if not same(mine, other):
            result.differing[index] = Difference(theirs.texts[index], mine, other)
    return result


def compare(folder: Path, texts: Sequence[str]) -> Comparison:
    """Compare the values of terms by the compiled specification and by TLC."""
    return compared(answers_of_compiled(compile_terms(folder / "here", texts), len(texts)), ask_tlc(folder, texts))


# ---- Reducing a term -------------------------------------------------------------------------------------------------


def reduced(folder: Path, terms: Sequence[Term], rounds: int = 15, tries: int = 60) -> list[Term]:
    """Reduce terms that differ: replace each by the shortest simpler one that still differs, again and again."""
    terms = list(terms)
    for number in range(rounds):
        candidates = [(index, other) for index, term in enumerate(terms) for other in _simpler(term, tries)]
        if not candidates:
            break
        outcome = compare(folder / str(number), [str(other) for _, other in candidates])
        if not outcome.differing:
            break
        for place in sorted(outcome.differing, reverse=True):
            index, smaller = candidates[place]
            terms[index] = smaller
    return terms


def _simpler(term: Term, tries: int) -> list[Term]:
    """List some terms that are simpler than another, the shortest first."""
    found = {str(other): other for other in term.smaller() if len(str(other)) < len(str(term))}
    listed = sorted(found.values(), key=lambda other: len(str(other)))
    step = max(1, len(listed) // tries)
    return listed[::step]
