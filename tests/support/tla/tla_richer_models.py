"""Made-up models of records, sequences, sets and functions, with definitions, constraints and evaluations that fail.

A module has many next-state relations, so that it is parsed once for all of them. Formulas are made of templates: in
`<kind>` stands a formula of that kind, and for `?` a name that no other quantifier has.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

HEAD = """---- MODULE Rich ----
EXTENDS Integers, Sequences, FiniteSets, TLC
CONSTANTS A, a1
VARIABLES x, r, m, g, t
vars == <<x, r, m, g, t>>
Ap(F(_), v) == F(v)
RECURSIVE Sum(_)
Sum(n) == IF n = 0 THEN 0 ELSE r[t[2]].k + Sum(n - 1)
D0 == Cardinality({z \\in A : r[z].k > x})
D1 == IF x + t[1] > 2 THEN x ELSE Cardinality(m)
D2(p) == r[p].k + Len(r[p].l)
D3 == \\E z \\in A : r[z].l # <<>>
D4 == {r[z].k : z \\in A}
D5(p) == \\A z \\in A : r[z].k <= r[p].k
D6 == [p |-> t[2], v |-> x]
D7[n \\in 0..3] == IF n = 0 THEN x ELSE D7[n - 1] + t[1]
Init ==
  /\\ x \\in 0..1
  /\\ r = [z \\in A |-> [k |-> 0, s |-> {}, l |-> <<>>]]
  /\\ m = {}
  /\\ g = [z \\in {} |-> 0]
  /\\ t \\in {<<0, z>> : z \\in A}
Sym == Permutations(A)
"""

SIMPLE = {
    "element": ("t[2]", "t[2]", "a1"),
    "integer": ("0", "1", "2", "x", "x", "t[1]"),
    "set": ("r[<element>].s", "{<integer>}", "0..<integer>", "D4"),
    "truth": (
        "<integer> < <integer>",
        "<integer> = <integer>",
        "<element> = <element>",
        "r[<element>].l = <<>>",
        "m = {}",
        "<element> \\in DOMAIN g",
        "D3",
    ),
}

#: Formulas without a value in some states.
FAILING = {
    "element": ("(CHOOSE ? \\in DOMAIN g : TRUE)",),
    "integer": ("Head(r[<element>].l)", "g[<element>]"),
}

DEEPER = {
    "element": ("(IF <truth> THEN <element> ELSE t[2])",),
    "integer": (
        "r[<element>].k",
        "Len(r[<element>].l)",
        "Cardinality(r[<element>].s)",
        "((<integer> + <integer>) % 3)",
        "(IF <truth> THEN <integer> ELSE <integer>)",
        "(IF r[<element>].l = <<>> THEN 0 ELSE Head(r[<element>].l))",
        "(IF <element> \\in DOMAIN g THEN g[t[2]] ELSE 1)",
        "D0",
        "D1",
        "D2(<element>)",
        "D6.v",
        "(D7[<integer> % 3] % 3)",
        "Ap(LAMBDA ? : ? + x, <integer>)",
        "Cardinality(<set>)",
        "(CHOOSE ? \\in 0..2 : ? >= <integer> \\/ ? = 2)",
        "(LET ? == <integer> IN (? + ?) % 3)",
        "Sum(x)",
    ),
    "set": (
        "{? \\in 0..2 : ? # <integer>}",
        "{?.v : ? \\in m}",
        "(r[<element>].s \\cup {<integer>})",
        "{g[?] : ? \\in DOMAIN g}",
    ),
    "truth": (
        "(<truth> /\\ <truth>)",
        "(<truth> \\/ <truth>)",
        "~(<truth>)",
        "(<truth> => <truth>)",
        "<integer> \\in <set>",
        "<set> \\subseteq <set>",
        "r[<element>] = r[<element>]",
        "(\\E ? \\in <set> : ? > <integer>)",
        "(\\A ? \\in A : r[?].k <= <integer>)",
        "(\\A ? \\in m : ?.v # <integer> \\/ ?.p = <element>)",
        "[p |-> <element>, v |-> <integer>] \\in m",
        "D6 \\in m",
        "D5(<element>)",
        "<<<integer>, <element>>> = t",
        "t \\in (0..<integer>) \\X {<element>}",
        "r[<element>] \\in [k : 0..<integer>, s : SUBSET (0..1), l : Seq(0..2)]",
    ),
}

WRITES = {
    "x": ("x' = <integer>", "x' = (x + 1) % 4", "x' \\in <set>", "(x' = <integer> \\/ x' = 1)"),
    "r": (
        "r' = [r EXCEPT ![<element>].k = (@ + 1) % 3]",
        "r' = [r EXCEPT ![<element>].k = <integer>, ![<element>].s = @ \\cup {<integer> % 2}]",
        "r' = [r EXCEPT ![<element>].l = IF Len(@) < 2 THEN Append(@, <integer> % 2) ELSE Tail(@)]",
        "r' = [r EXCEPT ![<element>] = r[<element>]]",
        "r' = [? \\in A |-> IF ? = <element> THEN [r[?] EXCEPT !.k = <integer>] ELSE r[?]]",
    ),
    "m": (
        "m' = (IF Cardinality(m) < 2 THEN m \\cup {[p |-> <element>, v |-> <integer>]} ELSE {})",
        "m' = {? \\in m : ?.p # <element>}",
        "m' = {[? EXCEPT !.v = <integer>] : ? \\in m}",
    ),
    "g": (
        "g' = [? \\in DOMAIN g \\cup {<element>} |-> IF ? = <element> THEN <integer> ELSE g[?]]",
        "g' = [? \\in DOMAIN g \\ {<element>} |-> g[?]]",
        "g' = (<element> :> <integer>) @@ g",
        "g' = [? \\in {z \\in A : r[z].k > 0} |-> r[?].k]",
    ),
    "t": ("t' = <<<integer>, t[2]>>", "t' = [t EXCEPT ![2] = <element>]", "(\\E ? \\in A : t' = <<t[1], ?>>)"),
}

#: Formulas that mostly hold in the initial states.
HOLDING = (
    "(x < 2 \\/ <truth>)",
    "(m = {} \\/ <truth>)",
    "(r[<element>].k = 0 \\/ <truth>)",
    "(Cardinality(m) + Len(r[<element>].l) < 3)",
    "(D3 => <truth>)",
    "(\\A ? \\in m : ?.v # <integer> \\/ ?.p # <element>)",
    "(D0 < 3 \\/ D5(<element>))",
)

#: Quantifiers of actions, with the kind of their variable.
CHOICES = (
    ("\\E ? \\in A : ", (("element", "?"),)),
    ("\\E ? \\in m : ", (("element", "?.p"), ("integer", "?.v"))),
    ("\\E ? \\in DOMAIN g : ", (("element", "?"), ("integer", "g[?]"))),
    ("\\E ? \\in <set> : ", (("integer", "?"),)),
)
#: Actions that make many states; each leaves all else as it is.
GROWING = (
    "x < 2 /\\ x' = x + 1 /\\ UNCHANGED <<r, m, g, t>>",
    "\\E ? \\in A : r[?].k < 2 /\\ r' = [r EXCEPT ![?].k = @ + 1] /\\ UNCHANGED <<x, m, g, t>>",
    "\\E ? \\in A : Len(r[?].l) < 2 /\\ r' = [r EXCEPT ![?].l = Append(@, x)] /\\ UNCHANGED <<x, m, g, t>>",
    "\\E ? \\in A : Cardinality(m) < 2 /\\ m' = m \\cup {[p |-> ?, v |-> x]} /\\ UNCHANGED <<x, r, g, t>>",
    "\\E ? \\in A : g' = (? :> x) @@ g /\\ UNCHANGED <<x, r, m, t>>",
    "\\E ? \\in A : r' = [r EXCEPT ![?].s = @ \\cup {x}] /\\ t' = <<x, ?>> /\\ UNCHANGED <<x, m, g>>",
)
STEPS = (
    "x' >= x \\/ <truth>",
    "x' \\in {x, (x + 1) % 3, (x + 2) % 3}",
    "r'[t[2]] = r[t[2]] \\/ x' # x",
    "Cardinality(m') < 3",
    "(<truth> => x' \\in <set>)",
    "D0' >= D0",
    "t'[2] = t[2] \\/ D3",
    "(\\A ? \\in A : r'[?].k >= r[?].k \\/ x' = x)",
)
SUBSCRIPTS = ("vars", "x", "<<x, r>>", "D0", "r")
VIEWS = ("<<x, m>>", "<<r, t[1]>>", "D0", "<<x, D4, g>>", "[z \\in A |-> r[z].k]", "D6")


class RicherMaker:
    """Writes a module, and its cfgs, one choice after the other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names, self.failing = 0, 0.0
        self.bound: dict[str, list[str]] = {"element": [], "integer": []}

    def fresh(self) -> str:
        self.names += 1
        return f"q{self.names}"

    def filled(self, template: str, depth: int) -> str:
        text = template.replace("?", self.fresh())
        return re.sub(r"<(element|integer|set|truth)>", lambda kind: self.formula(kind[1], depth - 1), text)

    def formula(self, kind: str, depth: int = 2) -> str:
        """Make a formula of a kind; about one in a hundred has no value in some states."""
        bound = 3 * self.bound.get(kind, [])
        made = FAILING[kind] if kind in FAILING and self.random.random() < self.failing else SIMPLE[kind]
        return self.filled(self.random.choice([*bound, *made, *(DEEPER[kind] if depth > 0 else ())]), depth)

    def writes(self) -> list[str]:
        written = [name for name in WRITES if self.random.random() < 0.36]
        kept = [name for name in WRITES if name not in written]
        self.random.shuffle(written)
        assigned = [self.filled(self.random.choice(WRITES[name]), 2) for name in written]
        return [*assigned, *([f"UNCHANGED <<{', '.join(kept)}>>"] if kept else [])]

    def body(self, depth: int) -> str:
        guards = [self.formula("truth") for _ in range(self.random.choice((0, 1, 1, 2)))]
        late = ["x' # 3"] if self.random.random() < 0.1 else []
        text = "(" + " /\\ ".join(f"({each})" for each in (*guards, *self.writes(), *late)) + ")"
        chance = self.random.random()
        if depth and chance < 0.3:
            return f"({text} \\/ {self.body(depth - 1)})"
        if depth and chance < 0.5:
            return f"(IF {self.formula('truth')} THEN {text} ELSE {self.body(depth - 1)})"
        return text

    def action(self) -> str:
        head, self.bound = "", {"element": [], "integer": []}
        for _ in range(self.random.choice((0, 1, 1, 2))):
            template, gives = self.random.choice(CHOICES)
            name = self.fresh()
            head += self.filled(template.replace("?", name), 1)
            for kind, text in gives:
                self.bound[kind].append(text.replace("?", name))
        text = head + self.body(1)
        self.bound = {"element": [], "integer": []}
        return text

    def cfg(self, number: int) -> str:
        """Make the cfg of a next-state relation; each has all that it names to itself."""
        chances = {"INVARIANT Inv": 0.6, "CONSTRAINT Con": 0.35, "ACTION_CONSTRAINT Act": 0.2, "PROPERTY Prop": 0.4}
        entries = [f"{each}{number}" for each, chance in chances.items() if self.random.random() < chance]
        merged = self.random.choice(("SYMMETRY Sym", f"VIEW View{number}", "", ""))
        deadlock = self.random.choice(("TRUE", "FALSE", "FALSE"))
        start = ["CONSTANT A = {b1, b2, b3} a1 = b1", f"INIT Init NEXT Next{number}", f"CHECK_DEADLOCK {deadlock}"]
        return "\n".join([*start, *entries, merged, ""])

    def write(self, folder: Path, count: int) -> tuple[Path, list[Path]]:
        """Write a module with `count` next-state relations; return it, and the cfg of each."""
        lines = []
        for number in range(count):
            self.failing = 0.1 if number % 3 == 0 else 0.0
            actions = [self.action() for _ in range(self.random.choice((2, 3, 4)))]
            actions += [self.filled(each, 0) for each in self.random.sample(GROWING, 2)]
            lines.append(f"Next{number} ==\n" + "\n".join(f"  \\/ {each}" for each in actions))
            lines.append(f"Inv{number} == {self.filled(self.random.choice(HOLDING), 2)}")
            lines.append(f"Con{number} == {self.filled(self.random.choice(HOLDING), 2)}")
            lines.append(f"Act{number} == {self.filled(self.random.choice(STEPS), 2)}")
            step, subscript = self.filled(self.random.choice(STEPS), 2), self.random.choice(SUBSCRIPTS)
            lines.append(f"Prop{number} == [][{step}]_{subscript}")
            lines.append(f"View{number} == {self.random.choice(VIEWS)}")
        module = folder / "Rich.tla"
        module.write_text(HEAD + "\n".join(lines) + "\n====\n")
        cfgs = [folder / f"c{number}.cfg" for number in range(count)]
        for number, path in enumerate(cfgs):
            path.write_text(self.cfg(number))
        return module, cfgs
