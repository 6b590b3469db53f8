"""Pairs of modules that are one specification, in ASCII and with Unicode symbols."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from lockstep.tlc.unicode_symbols import SYMBOLS

#: The Unicode form of each ASCII form of a symbol.
FORMS = {
    **{ascii_form: symbol for symbol, ascii_form in SYMBOLS.items() if ascii_form.isascii() and len(symbol) == 1},
    **{
        "#": "≠",
        r"\leq": "≤",
        r"\geq": "≥",
        r"\union": "∪",
        r"\intersect": "∩",
        r"\land": "∧",
        r"\lor": "∨",
        r"\lnot": "¬",
    },
    **{"=<": "≤", r"\circ": "∘", r"\times": "×", r"\exists": "∃", r"\forall": "∀", r"\neg": "¬"},
}
_WORDS = r"\\[A-Za-z]+|\b(?:Nat|Int|Real)\b"
_SIGNS = "|".join(re.escape(form) for form in sorted(FORMS, key=len, reverse=True) if not re.fullmatch(_WORDS, form))
_CONVERTED = re.compile(
    rf'(?P<kept>\\\*[^\n]*|"(?:[^"\\\n]|\\.)*"|-{{3,}}|={{4,}}|<\d+>\S*)|(?P<comment>\(\*)|(?P<form>{_WORDS}|<<|>>_|{_SIGNS})'
)


def with_symbols(text: str, *, padded: bool = True) -> str:
    """Write a module's ASCII symbols as Unicode ones; what follows stays in its column if they are padded."""
    pieces, position = [], 0
    while (found := _CONVERTED.search(text, position)) is not None:
        pieces.append(text[position : found.start()])
        position = found.end()
        if found["comment"] is not None:
            position = _comment_end(text, found.start())
            pieces.append(text[found.start() : position])
        elif found["kept"] is not None:
            pieces.append(found[0])
        else:
            symbol = {">>_": "⟩_"}.get(found[0], FORMS.get(found[0], found[0]))
            pieces.append(symbol.ljust(len(found[0])) if padded and found[0] != ">>_" else symbol)
    return "".join([*pieces, text[position:]])


def _comment_end(text: str, start: int) -> int:
    depth = 0
    for found in re.finditer(r"\(\*|\*\)", text[start:]):
        depth += 1 if found[0] == "(*" else -1
        if depth == 0:
            return start + found.end()
    raise AssertionError("a comment does not end")


@dataclass
class Printer:
    """Prints a formula in lists whose bullets stand wherever the line has got to, with one table of symbols.

    Attributes:
        random: of a seed, so that two printers with two tables print one formula.
        symbols: what stands for each name.
        lines: what is printed so far.
        bound: how many variables are bound so far.
    """

    random: random.Random
    symbols: dict[str, str]
    lines: list[str]
    bound: int = 0

    def put(self, *words: str) -> None:
        for word in words:
            self.lines[-1] += self.symbols.get(word, word)

    def line(self, column: int) -> None:
        self.lines.append(" " * column)

    def formula(self, depth: int = 0) -> None:
        """Print a formula, whose lists go on below their first bullet."""
        choice = self.random.randrange(7) if depth < 4 else 0
        match choice:
            case 1 | 2:
                self.list_of("and" if choice == 1 else "or", depth)
            case 3:
                self.bound += 1
                self.put(
                    "all" if self.random.random() < 0.5 else "some", f" v{self.bound}", "in", "{1, 2}", "cup", "{3} : "
                )
                self.formula(depth + 1)
            case 4:
                self.put("(", "not")
                self.formula(depth + 1)
                self.put(")")
            case 5:
                self.put("(")
                self.formula(depth + 1)
                self.put("implies" if self.random.random() < 0.5 else "or")
                self.formula(depth + 1)
                self.put(")")
            case 6:
                self.put("IF ", "left", "1, x", "right", " = ", "left", "1", "right", " THEN ")
                self.formula(depth + 1)
                self.put(" ELSE ")
                self.formula(depth + 1)
            case _:
                self.put("x", self.random.choice(["at most", "differs", "in set of"]), "1")

    def list_of(self, bullet: str, depth: int) -> None:
        column = len(self.lines[-1])
        for number in range(self.random.randrange(1, 4)):
            if number:
                self.line(column)
            self.put(bullet, " " * self.random.randrange(2))
            self.formula(depth + 1)


_ASCII = {
    **{"and": "/\\", "or": "\\/", "all": r"\A", "some": r"\E", "in": r" \in ", "cup": r" \cup ", "not": "~"},
    **{"implies": "=>", "left": "<<", "right": ">>", "at most": " <= ", "differs": "#", "in set of": r" \in 0.."},
    "==": " == ",
}
_UNICODE = {
    **{"and": "∧", "or": "∨", "all": "∀", "some": "∃", "in": "∈", "cup": "∪", "not": "¬"},
    **{"implies": "⇒", "left": "⟨", "right": "⟩", "at most": "≤", "differs": "≠", "in set of": "∈0‥"},
    "==": "≜",
}


def made_up_twins(seed: int, formulas: int = 12) -> tuple[str, str]:
    """Print a module of made-up formulas twice, in ASCII and with symbols."""
    texts = []
    for symbols in (_ASCII, _UNICODE):
        printer = Printer(random.Random(seed), symbols, ["---- MODULE Twin ----", "EXTENDS Integers", "VARIABLE x"])
        for number in range(formulas):
            printer.line(0)
            printer.put(f"F{number}", "==")
            if printer.random.random() < 0.3:
                printer.line(2)
            printer.formula()
        texts.append("\n".join([*printer.lines, "====", ""]))
    return texts[0], texts[1]
