"""Modules with Unicode symbols, rewritten for a SANY that reads ASCII, and the places of what it says of them.

The SANY of TLC 2.15 stops at the first ``∪``, which newer ones take. A rewritten module means the same, and each place
in it has one in the module as its author wrote it:

- A symbol becomes its ASCII form, and a line stays a line.
- Lists of ``∧`` and ``∨`` depend on columns. So what stands in one column of the author's module stands in one column
  of the rewritten one, and the columns keep their order: each is as wide as the widest of what any line has in it. With
  ``∀`` in column 7 of one line, column 8 of every line moves to the right.
- Strings are values, and keep their characters and their length: for a character that the lexer of that SANY refuses,
  which is one above Latin-1, another one stands in that occurs nowhere in the project; it is put back in all messages.
- Comments are left out.

Source: tla-unicode.csv of RFC 5 of tlaplus/rfcs; tla+.jj and JunctionListContext of tlaplus/tlaplus.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lockstep.base.errors import NOT_PARSED, BadInputError
from lockstep.tlc.module_files import ModuleFile, comment_end

#: The symbols of RFC 5, and what each is in ASCII.
SYMBOLS = {
    **{"≜": "==", "∈": r"\in", "←": "<-", "∀": r"\A", "∃": r"\E", "↦": "|->", "→": "->", "⟨": "<<", "⟩": ">>"},
    **{"⟩_": ">>_", "□": "[]", "∷": "::", "¬": "~", "◇": "<>", "⇒": "=>", "⇸": "-+->", "≡": r"\equiv", "⇔": "<=>"},
    **{"↝": "~>", "∧": "/\\", "∨": "\\/", "≔": ":=", "⩴": "::=", "≠": "/=", "≤": "<=", "≥": ">=", "≈": r"\approx"},
    **{"⊢": "|-", "⊨": "|=", "⊣": "-|", "⫤": "=|", "≍": r"\asymp", "≅": r"\cong", "≐": r"\doteq", "≫": r"\gg"},
    **{"≪": r"\ll", "∉": r"\notin", "≺": r"\prec", "≻": r"\succ", "⪯": r"\preceq", "⪰": r"\succeq", "∝": r"\propto"},
    **{"∼": r"\sim", "≃": r"\simeq", "⊏": r"\sqsubset", "⊐": r"\sqsupset", "⊑": r"\sqsubseteq", "⊒": r"\sqsupseteq"},
    **{"⊂": r"\subset", "⊃": r"\supset", "⊆": r"\subseteq", "⊇": r"\supseteq", "∩": r"\cap", "∪": r"\cup"},
    **{"‥": "..", "…": "...", "⊕": r"\oplus", "⊖": r"\ominus", "‖": "||", "⊙": r"\odot", "⊘": r"\oslash"},
    **{"⊗": r"\otimes", "◯": r"\bigcirc", "●": r"\bullet", "÷": r"\div", "∘": r"\o", "⋆": r"\star", "‼": "!!"},
    **{"⁇": "??", "⊓": r"\sqcap", "⊔": r"\sqcup", "⊎": r"\uplus", "×": r"\X", "≀": r"\wr", "⋅": r"\cdot", "⁺": "^+"},
    **{"ℕ": "Nat", "ℤ": "Int", "ℝ": "Real"},
}

#: Characters that look like symbols of TLA+ and are none, for newer SANYs neither, and what to write.
_LOOKALIKES = {
    **{"∅": "{}", "′": "'", "’": "'", "‘": "'", "“": '"', "”": '"', "∖": "\\", "−": "-", "–": "-", "∗": "*", "∣": "|"},
    **{"⋄": "◇", "◊": "◇", "◻": "□", "⬜": "□", "〈": "⟨", "〉": "⟩", "⇝": "↝", "⟶": "→", "⟵": "←", "⟼": "↦"},
    **{"⟹": "⇒", "⟺": "⇔", "≝": "≜", "·": "⋅", "•": "●", "∄": "¬∃", "⊄": "¬(S ⊆ T)", "⊈": "¬(S ⊆ T)"},
}

#: The stops of a tab, as SANY counts columns.
_TAB = 8

_SYMBOL = "|".join(sorted(SYMBOLS, key=len, reverse=True))

#: Where a module begins; SANY passes over what stands before the first one.
_HEADER = r"-{4,}[ \t]*MODULE\b"

_TOKEN = re.compile(
    rf"""(?P<newline>\n)
      | (?P<space>[^\S\n]+)
      | (?P<header>{_HEADER})
      | (?P<end>={{4,}})
      | (?P<line>\\\*[^\n]*)
      | (?P<comment>\(\*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<symbol>{_SYMBOL})
      | (?P<bullet>/\\|\\/)
      | (?P<ascii>(?:(?!\\\*|\(\*|/\\|\\/)[!#-~])+)
      | (?P<other>.)
    """,
    re.VERBOSE,
)

_OF_CFG = re.compile(
    rf'(?P<kept>\\\*[^\n]*|\(\*.*?\*\))|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<symbol>{_SYMBOL})', re.DOTALL
)

#: Substitutes for a character, the controls first, which nobody writes; TLA+ has no meaning for any of them.
_LATIN = [*map(chr, range(0x80, 0xA0)), *map(chr, range(0xA1, 0x100))]


def hint_at(character: str) -> str:
    """Return what to write instead of a character that is no symbol of TLA+; "" if that is not known."""
    instead = _LOOKALIKES.get(character)
    return "" if instead is None else f"; write {instead}"


def rewrite_in_ascii(files: Mapping[str, ModuleFile], cfg: str | None = None) -> Rewritten | None:
    """Rewrite a project in ASCII.

    Arguments: `files`, its modules by name; `cfg`, the text of its configuration, if it has one.
    Returns None where a SANY that reads ASCII takes all of it as it is.
    Raises BadInputError where its strings have more different characters than can be stood in for.
    """
    if not any(_has_non_ascii(each.text) for each in files.values()) and (cfg is None or cfg.isascii()):
        return None
    return Rewritten(files, cfg)


@dataclass(frozen=True, slots=True)
class _Token:
    """A token of a module: where it stands, how wide it is there, and what it becomes; line from 1, column from 0."""

    line: int
    column: int
    width: int
    text: str
    is_symbol: bool
    is_glued: bool

    @property
    def needed(self) -> int:
        """The columns that it takes; a symbol has a space behind it, since `a∪b` is not `a\\cupb`."""
        return len(self.text) + self.is_symbol


@dataclass(frozen=True)
class RewrittenModule:
    """A module in ASCII, and what its places are in the author's file."""

    text: str
    path: Path
    _lines: Mapping[int, list[tuple[int, _Token]]] = field(repr=False)

    def column(self, line: int, column: int) -> int:
        """Return the column in the author's file of a column here; both count from 1."""
        placed = self._lines.get(line, [])
        at = bisect_right(placed, column - 1, key=lambda each: each[0]) - 1
        if at < 0:
            return column
        begin, token = placed[at]
        inside = min(column - 1 - begin, token.width - 1) if token.is_symbol else column - 1 - begin
        behind = placed[at + 1][1].column if at + 1 < len(placed) else token.column + inside
        return min(token.column + inside, behind) + 1


class Rewritten:
    """A project in ASCII, and the way back from messages about it.

    Attributes:
        cfg: the configuration, rewritten; None if there is none.
    """

    def __init__(self, files: Mapping[str, ModuleFile], cfg: str | None) -> None:
        """Rewrite a project; arguments and exceptions are those of :func:`rewrite_in_ascii`."""
        self._files = files
        texts = [each.text for each in files.values()]
        stand_ins = _stand_ins([*texts, cfg or ""])
        symbols = SYMBOLS | _numbers_that_are_defined(texts)
        self.modules = {
            name: _rewritten_module(each, symbols, stand_ins)
            for name, each in files.items()
            if _has_non_ascii(each.text)
        }
        self.cfg = None if cfg is None else _cfg_in_ascii(cfg, stand_ins)
        self._back = {ord(latin): chr(character) for character, latin in stand_ins.items()}

    @property
    def has_stand_ins(self) -> bool:
        """Whether a character stands in for another one."""
        return bool(self._back)

    def write(self, folder: Path) -> None:
        """Write all modules of the project into a folder, those that are not rewritten as they are."""
        for name, each in self._files.items():
            text = self.modules[name].text if name in self.modules else each.text
            (folder / f"{name}.tla").write_text(text, encoding="utf-8")

    def characters(self, text: str) -> str:
        """Return a text with the characters of the author's strings."""
        return text.translate(self._back) if self._back else text

    def restored(self, folder: Path) -> Callable[[str], str]:
        """Return a function that gives the lines of SANY or TLC the author's files and places.

        Arguments: `folder`, where the modules were written.
        """
        return _Lines(self, {str(folder / f"{name}.tla"): each.path for name, each in self._files.items()})

    def column(self, module: str, line: int, column: int) -> int:
        """Return the column in the author's file of a column in the rewritten one."""
        return self.modules[module].column(line, column) if module in self.modules else column

    def xml(self, exported: bytes) -> bytes:
        """Return the XML of SANY's exporter with the author's places and characters."""

        def place(found: re.Match[bytes]) -> bytes:
            begin, end, first, last = (int(found[number]) for number in (1, 2, 3, 4))
            module = found[5].decode()
            if module not in self.modules:
                return found[0]
            columns = self.column(module, first, begin), self.column(module, last, end)
            return _WRITTEN % (*columns, first, last, found[5])

        def string(found: re.Match[bytes]) -> bytes:
            text = re.sub(r"&#(\d+);", lambda number: chr(int(number[1])), found[1].decode())
            return b"<StringValue>%s</StringValue>" % self.characters(text).encode()

        placed = _LOCATION.sub(place, exported)
        return re.sub(rb"<StringValue>(.*?)</StringValue>", string, placed) if self._back else placed


_LOCATION = re.compile(
    rb"<location>\s*<column>\s*<begin>(\d+)</begin>\s*<end>(\d+)</end>\s*</column>\s*"
    rb"<line>\s*<begin>(\d+)</begin>\s*<end>(\d+)</end>\s*</line>\s*<filename>(\w+)</filename>\s*</location>"
)
_WRITTEN = (
    b"<location><column><begin>%d</begin><end>%d</end></column><line><begin>%d</begin><end>%d</end></line>"
    b"<filename>%s</filename></location>"
)

_RANGE = (
    r"(?P<a>line )(?P<first>\d+)(?P<b>, col(?:umn)? )(?P<begin>\d+)(?P<c> to line )(?P<last>\d+)(?P<d>, col(?:umn)? )"
)
_PLACES = re.compile(
    rf"{_RANGE}(?P<end>\d+)(?P<e> (?:of module|in) )(?P<module>\w+)"
    r"|(?P<point>line )(?P<line>\d+)(?P<and>, col(?:umn)? )(?P<column>\d+)",
    re.IGNORECASE,
)


class _Lines:
    """Rewriter of the lines of SANY or TLC: a place without a module is one of the file parsed last."""

    def __init__(self, project: Rewritten, paths: Mapping[str, Path]) -> None:
        self.project = project
        self.paths = paths
        self.files = re.compile("|".join(re.escape(path) for path in paths))
        self.parsing = ""

    def __call__(self, line: str) -> str:
        if line.startswith("Parsing file "):
            self.parsing = Path(line.removeprefix("Parsing file ")).stem
        line = self.files.sub(lambda path: str(self.paths[path[0]]), line)
        return self.project.characters(_PLACES.sub(self.place, line))

    def place(self, found: re.Match[str]) -> str:
        column = self.project.column
        if found["module"] is None:
            at = column(self.parsing, int(found["line"]), int(found["column"]))
            return f"{found['point']}{found['line']}{found['and']}{at}"
        begin = column(found["module"], int(found["first"]), int(found["begin"]))
        end = column(found["module"], int(found["last"]), int(found["end"]))
        head = f"{found['a']}{found['first']}{found['b']}{begin}{found['c']}{found['last']}{found['d']}{end}"
        return f"{head}{found['e']}{found['module']}"


def _has_non_ascii(text: str) -> bool:
    """Return whether a module has a symbol or a string that is not ASCII; comments do not count."""
    return not text.isascii() and any(
        kind == "symbol" or (kind == "string" and not token.isascii()) for kind, token in _split(text)
    )


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Split the outermost module of a text into tokens and what is between them; what is around it is space."""
    header = re.search(_HEADER, text)
    position = len(text) if header is None else header.start()
    yield from (("newline", "\n") for _ in range(text.count("\n", 0, position)))
    if header is not None:
        yield "space", text[text.rfind("\n", 0, position) + 1 : position]
    depth = 0
    while (found := _TOKEN.match(text, position)) is not None:
        kind, position = str(found.lastgroup), found.end()
        depth += {"header": 1, "end": -1}.get(kind, 0)
        if kind == "comment":
            position = comment_end(text, found.start()) or len(text)
            pieces = re.split(r"(\n)", text[found.start() : position])
            yield from (("newline" if piece == "\n" else "space", piece) for piece in pieces)
        else:
            yield "space" if kind == "line" else kind, found[0]
        if depth == 0:
            return


def _rewritten_module(file: ModuleFile, symbols: Mapping[str, str], stand_ins: Mapping[int, str]) -> RewrittenModule:
    tokens = [*_tokens(file.text, symbols, stand_ins)]
    begins = _columns(tokens)
    lines: dict[int, list[tuple[int, _Token]]] = {}
    texts: dict[int, str] = {}
    for token in tokens:
        begin = begins[token.column]
        lines.setdefault(token.line, []).append((begin, token))
        texts[token.line] = texts.get(token.line, "").ljust(begin) + token.text
    text = "".join(f"{texts.get(line, '')}\n" for line in range(1, max(texts, default=0) + 1))
    return RewrittenModule(text, file.path, lines)


def _tokens(text: str, symbols: Mapping[str, str], stand_ins: Mapping[int, str]) -> Iterator[_Token]:
    """Yield the tokens of a module, as they are to be written."""
    line, column, is_glued = 1, 0, False
    for kind, token in _split(text):
        if kind == "newline":
            line, column, is_glued = line + 1, 0, False
            continue
        behind = _behind(column, token)
        if kind != "space":
            becomes = symbols[token] if kind == "symbol" else token
            if kind == "string":
                becomes = token.replace("\t", "\\t").translate(stand_ins)
            yield _Token(line, column, behind - column, becomes, kind == "symbol", is_glued)
        column, is_glued = behind, kind != "space" or (is_glued and not token)


def _behind(column: int, text: str) -> int:
    """Return the column after a text without line breaks."""
    if "\t" not in text:
        return column + len(text)
    for character in text:
        column += _TAB - column % _TAB if character == "\t" else 1
    return column


def _columns(tokens: Iterable[_Token]) -> list[int]:
    """Return where each column of the author's module begins in the rewritten one."""
    widths: dict[int, int] = {}
    most = 0
    for token in tokens:
        last = token.column + token.width - 1
        widths[last] = max(widths.get(last, 1), token.needed - token.width + 1)
        if token.is_symbol and token.is_glued:  # or `x<⟨1⟩` would become `x<<<1>>`
            widths[token.column - 1] = max(widths.get(token.column - 1, 1), 2)
        most = max(most, last)
    return [0, *itertools.accumulate(widths.get(column, 1) for column in range(most + 1))]


def _numbers_that_are_defined(texts: Iterable[str]) -> dict[str, str]:
    """Return names for ℕ, ℤ and ℝ where the project defines them itself, as `LOCAL ℕ ≜ Nat`, which newer SANYs want."""
    joined = "\n".join(texts)
    names = {}
    for symbol in re.findall(r"([ℕℤℝ])\s*(?:≜|==(?!=))", joined):
        name = f"{SYMBOLS[symbol]}_"
        while re.search(rf"\b{name}\b", joined):
            name += "_"
        names[symbol] = name
    return names


def _stand_ins(texts: Iterable[str]) -> dict[int, str]:
    """Choose a substitute for each character above Latin-1 in the strings of a project.

    Raises BadInputError where there are not enough.
    """
    joined = "\n".join(texts)
    strings = re.findall(r'"(?:[^"\\\n]|\\.)*"', joined)  # also those in comments, which does no harm
    wanted = sorted({character for string in strings for character in string if ord(character) > 0xFF})
    free = [character for character in _LATIN if character not in joined]
    if len(wanted) > len(free):
        problem = f"the strings of the project have {len(wanted)} different characters that are not Latin-1"
        raise BadInputError(f"{NOT_PARSED} {problem}; at most {len(free)} can be taken")
    return {ord(character): latin for character, latin in zip(wanted, free, strict=False)}


def _cfg_in_ascii(cfg: str, stand_ins: Mapping[int, str]) -> str:
    """Rewrite a configuration, where a column means nothing."""

    def becomes(found: re.Match[str]) -> str:
        if found["symbol"] is not None:
            return f" {SYMBOLS[found['symbol']]} "
        return found[0].translate(stand_ins) if found["string"] is not None else found[0]

    return _OF_CFG.sub(becomes, cfg)
