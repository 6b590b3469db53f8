"""Made-up projects of TLA+ whose modules mention the same names in different orders, and TLC's order of these names."""

from __future__ import annotations

import random
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lockstep.tlc import find_java, find_tla2tools

STANDARD = ("Naturals", "Sequences", "FiniteSets", "TLC", "Integers", "Bags")
#: Strings; some are identifiers of standard modules, keywords, numbers, or no identifiers at all.
WORDS = tuple(f"w{number}" for number in range(12))
OTHER_WORDS = ("a", "b", "x", "s", "val", "out", "ok", "n", "N", "IN", "UNION", "done two", "msg-1")


@dataclass
class Maker:
    """Writes a project, one choice after the other."""

    random: random.Random

    def word(self) -> str:
        return f'"{self.random.choice((*WORDS, *OTHER_WORDS))}"'

    def field(self) -> str:
        return self.random.choice((*WORDS, "a", "b", "x", "s", "val", "out", "ok", "n", "N"))

    def expr(self, depth: int = 0) -> str:
        """Write an expression; it is never evaluated."""
        choice = self.random.randrange(13) if depth < 3 else 0
        name = f"v{depth}"

        def more() -> str:
            return self.expr(depth + 1)

        match choice:
            case 3:
                return f"[{self.field()}A |-> {more()}, {self.field()} |-> {self.word()}]"
            case 4:
                return f"{{{more()}, {more()}}}"
            case 5:
                return f"IF {more()} = {more()} THEN {more()} ELSE {more()}"
            case 6:
                return f"CASE {more()} = {more()} -> {more()} [] OTHER -> {more()}"
            case 7:
                return f"(LET q{depth} == {more()} IN <<q{depth}, {more()}>>)"
            case 8:
                return f"[{name} \\in {{{more()}}} |-> {more()}]"
            case 9:
                return f"(CHOOSE {name} \\in {{{more()}}} : {name} = {more()})"
            case 10:
                changes = f"!.{self.field()} = {more()}, ![{self.word()}] = {more()}"
                return f"[[{self.field()} |-> {more()}] EXCEPT {changes}]"
            case 11:
                return f"{{<<{name}, {more()}>> : {name} \\in {{{more()}}}}}"
            case 12:
                return f"[{self.field()} : {{{more()}}}]"
            case _:
                return self.word()

    def module(self, number: int, below: list[str]) -> str:
        """Write a module that extends and instances some of those below it."""
        extended = self.random.sample(below, min(len(below), self.random.randrange(3)))
        extended += self.random.sample(STANDARD, self.random.randrange(3))
        extended = [each for each in extended if number or each != "TLC"] + ([] if number else ["TLC"])
        self.random.shuffle(extended)
        lines = [f"D{number}x{nth} == {self.expr()}" for nth in range(self.random.randrange(1, 4))]
        lines.insert(1, f"(* {self.word()} (* {self.field()} *) *) \\* {self.field()}")
        for each in below:
            if each not in extended and self.random.random() < 0.4:
                lines.insert(self.random.randrange(len(lines) + 1), f"I{each}of{number} == INSTANCE {each}")
        head = [f"EXTENDS {', '.join(extended)}"] if extended else []
        return "\n".join(
            [f"w1 before\n---- MODULE M{number} ----", *head, *([] if number else [ROOT_CONSTANTS]), *lines]
        )


#: The constants of the root module, to which the cfg gives sets of words.
ROOT_CONSTANTS = "CONSTANTS One, Other"


def write_project(folder: Path, seed: int) -> Path:
    """Write a project and return the file of its root module; a configuration stands beside it."""
    maker = Maker(random.Random(seed))
    names = [f"M{number}" for number in range(maker.random.randrange(1, 6))]
    for number, name in enumerate(names):
        text = maker.module(number, names[number + 1 :])
        if not number:
            words = maker.random.sample((*WORDS, *OTHER_WORDS), len(WORDS) + len(OTHER_WORDS))
            quoted = ", ".join(f'"{word}"' for word in words)
            text += f"\nWords == {{{quoted}}}\nASSUME PrintT(Words)"
        (folder / f"{name}.tla").write_text(f"{text}\n====\nw2 behind\n")
    values = maker.random.sample(WORDS, 4)
    given = [value if maker.random.random() < 0.6 else f'"{value}"' for value in values]
    lines = [f"Other = {{{given[0]}, {given[1]}}}", f"One = {{{given[2]}, {given[3]}}}"]
    (folder / "M0.cfg").write_text("CONSTANTS\n" + "\n".join(lines) + "\n")
    return folder / "M0.tla"


def order_by_tlc(module: Path) -> list[str]:
    """Have TLC print all words, and return them in its order."""
    command = [str(find_java().path), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(find_tla2tools())]
    command += [f"-Djava.io.tmpdir={module.parent}", "tlc2.TLC", "-metadir", str(module.parent / "meta"), module.name]
    done = subprocess.run(command, cwd=module.parent, capture_output=True, text=True, timeout=120, check=False)
    printed = re.search(r'^\{\s*"(?:.|\n)*?\}$', done.stdout, re.MULTILINE)
    assert printed is not None, done.stdout
    return re.findall(r'"([^"]*)"', printed[0])
