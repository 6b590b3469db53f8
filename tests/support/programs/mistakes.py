"""Small specs with one mistake of their author each, and the message of every command about it."""

from __future__ import annotations

from dataclasses import dataclass

_SPEC = """---- MODULE M ----
EXTENDS Naturals, Sequences
CONSTANT Most
VARIABLES count, queue
Init == count = 0 /\\ queue = <<>>
Add(n) ==
    /\\ count < Most
    /\\ count' = count + n
    /\\ UNCHANGED queue
Push ==
    /\\ Len(queue) < Most
    /\\ queue' = Append(queue, count)
    /\\ UNCHANGED count
Next == Push \\/ \\E n \\in {1, 2} : Add(n)
Low == count < 9
====
"""
_CFG = "CONSTANT Most = 2\nINIT Init\nNEXT Next\nINVARIANT Low\n"

ALGORITHM = """---- MODULE M ----
EXTENDS Naturals
(* --algorithm Count
variables count = 0;
begin
  Up: while count < 2 do count := count + 1; end while;
end algorithm; *)
====
"""


@dataclass(frozen=True)
class Mistake:
    """A spec with a mistake: what is said of it, after the folder; how many steps lead there, where some do."""

    name: str
    tla: str
    cfg: str
    said: str
    steps: int = 0


def _wrong(name: str, said: str, *replaced: tuple[str, str], cfg: str = _CFG, steps: int = 0) -> Mistake:
    text = _SPEC
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new, 1)
    return Mistake(name, text, cfg, said, steps)


MISTAKES = (
    _wrong(
        "a missing UNCHANGED",
        "M.tla:6:1: LS604 Add(n = 1) does not say what queue becomes (a missing UNCHANGED?)",
        ("    /\\ UNCHANGED queue\n", ""),
        steps=1,
    ),
    _wrong(
        "a set that is none, over which a property is quantified",
        'M.tla:5:31: LS603 Init: a bound needs a set, but was given "two"',
        ("Init == count = 0", "Init == count = 0 /\\ \\E n \\in Most : n > 0"),
        ("    /\\ Len(queue) < Most\n", "    /\\ Len(queue) < 2\n"),
        ("    /\\ count < Most\n", "    /\\ count < 2\n"),
        ("Low == count < 9", "Low == \\A n \\in Most : []<>(count = n)"),
        cfg=_CFG.replace("= 2", '= "two"').replace("INVARIANT", "PROPERTY"),
    ),
    _wrong(
        "a field that should be of a set, and is of none",
        'M.tla:5:9: LS603 Init: a set of records needs sets, but was given "two"',
        ("Init == count = 0", "Init == count \\in [val : Most, ack : {0, 1}]"),
        cfg=_CFG.replace("= 2", '= "two"'),
    ),
    _wrong(
        "an Init that leaves out a variable",
        "M.tla:5:1: LS604 Init does not say what queue is",
        (" /\\ queue = <<>>", ""),
    ),
    _wrong(
        "a type error in an action",
        'M.tla:8:8: LS603 Add(n = 1): + needs an integer, but was given "one"',
        ("count + n", 'count + (IF count = 0 THEN n ELSE "one")'),
        steps=2,
    ),
    _wrong(
        "a type error in an invariant",
        "M.tla:15:21: LS603 Low: Head of the empty sequence",
        ("count < 9", "count < 9 /\\ Head(queue) = 0"),
        steps=1,
    ),
    _wrong(
        "a function applied outside its domain",
        "M.tla:11:8: LS603 Push: the function <<>> is applied to 1, which is not in its domain",
        ("Len(queue) < Most", "queue[count + 1] < Most"),
        steps=1,
    ),
    _wrong(
        "a misspelled operator",
        "M.tla:12:17: LS601 Unknown operator: `Apend'; did you mean Append?",
        ("Append(queue", "Apend(queue"),
    ),
    _wrong(
        "a misspelled variable",
        "M.tla:7:8: LS601 Unknown operator: `cuont'; did you mean count?",
        ("    /\\ count < Most", "    /\\ cuont < Most"),
    ),
    _wrong(
        "a definition for a constant that the module does not have",
        "M.cfg:1:18: LS602 the configuration names Two, which M does not have",
        cfg=_CFG.replace("Most = 2", "Most <- Two"),
    ),
    _wrong(
        "a constant without a value",
        "M.tla:3:10: LS602 the constant Most has no value in the cfg",
        cfg=_CFG.removeprefix("CONSTANT Most = 2\n"),
    ),
    _wrong(
        "a misspelled constant in the cfg",
        "M.tla:3:10: LS602 the constant Most has no value in the cfg, which gives one to Mots at 1:10",
        cfg=_CFG.replace("Most", "Mots"),
    ),
    _wrong(
        "a constant without a value that no action needs",
        "M.tla:3:16: LS602 the constant Nodes has no value in the cfg",
        ("CONSTANT Most", "CONSTANT Most, Nodes"),
    ),
    _wrong(
        "a misspelled entry of the cfg",
        "M.cfg:4:1: LS602 unknown statement 'INVARIENT'; did you mean INVARIANT or INVARIANTS?",
        cfg=_CFG.replace("INVARIANT", "INVARIENT").replace(
            "CONSTANT Most = 2\nINIT Init\nNEXT Next\n", "INIT Init\nCONSTANT Most = 2\nNEXT Next\n"
        ),
    ),
    _wrong(
        "a misspelled entry after constants",
        "M.cfg:2:6: LS602 expected a sign, found 'Init'; did you mean INIT?",
        cfg=_CFG.replace("INIT", "INTI"),
    ),
    _wrong(
        "a misspelled entry after invariants",
        "M.cfg:5:1: LS602 INVARIANT PROPERTI is not defined in M; did you mean PROPERTIES or PROPERTY?",
        cfg=_CFG + "PROPERTI Low\n",
    ),
    _wrong(
        "a constant of the wrong kind",
        'M.tla:11:8: LS603 Push: < needs an integer, but was given "two"',
        cfg=_CFG.replace("= 2", '= "two"'),
        steps=1,
    ),
    _wrong(
        "an invariant of another name",
        "M.cfg:4:11: LS602 INVARIANT Lwo is not defined in M; did you mean Low?",
        cfg=_CFG.replace("Low", "Lwo"),
    ),
    _wrong(
        "operands in the wrong order, without a place by TLC",
        "M.tla:12:8: LS603 Push: Append needs a sequence, but was given 1",
        ("Append(queue, count)", "IF count = 0 THEN Append(queue, count) ELSE Append(count, queue)"),
        steps=2,
    ),
    _wrong(
        "a CONSTRAINT that is a number",
        "M.tla:15:8: LS603 the CONSTRAINT: a formula needs TRUE or FALSE, but was given 1",
        ("Low == count < 9", "Low == count + 1"),
        cfg=_CFG.replace("INVARIANT", "CONSTRAINT"),
        steps=1,
    ),
    _wrong(
        "a type error in a temporal property",
        'M.tla:15:12: LS603 Ends: 0 and "end" cannot be compared',
        ("Low == count < 9", 'Ends == <>(count = "end")'),
        ("Next == Push", "Next == UNCHANGED <<count, queue>> \\/ Push"),
        cfg=_CFG.replace("INVARIANT Low", "PROPERTY Ends"),
        steps=1,
    ),
    _wrong(
        "a Next that takes an argument",
        "M.cfg:3:6: LS602 NEXT Add takes 1 argument, and a configuration gives none",
        cfg=_CFG.replace("NEXT Next", "NEXT Add"),
    ),
    _wrong(
        "an invariant of the next state",
        "M.tla:15:1: LS602 the INVARIANT Low speaks of the next state, but it should speak of one state only",
        ("count < 9", "count' < 9"),
    ),
    _wrong(
        "a SYMMETRY that is none",
        "M.tla:15:1: LS602 the SYMMETRY Low should be a set of permutations of model values, and is {1}",
        ("Low == count < 9", "Low == {1}"),
        cfg=_CFG.replace("INVARIANT", "SYMMETRY"),
    ),
    _wrong(
        "a definition that stands for another, and is replaced itself",
        "M.cfg:1:27: LS602 Next stands for Push, but the configuration replaces Next, too",
        cfg=_CFG.replace("= 2", "= 2 Push <- Next Next <- Push"),
    ),
    _wrong(
        "a variable for a constant",
        "M.cfg:1:18: LS602 the configuration names count, which is a variable",
        cfg=_CFG.replace("= 2", "<- count"),
    ),
    _wrong("a second INIT", "M.cfg:5:1: LS602 a second INIT", cfg=_CFG + "INIT Init\n"),
    _wrong(
        "a choice from what is no set",
        "M.tla:11:17: LS603 Push: a bound needs a set, but was given 1",
        ("    /\\ Len(queue) < Most\n", "    /\\ \\E k \\in count: k > 0\n"),
        ("Init == count = 0", "Init == count = 1"),
        steps=1,
    ),
    _wrong(
        "an action that chooses from what is no set",
        "M.tla:14:26: LS603 Add: a bound needs a set, but was given 0",
        ("\\E n \\in {1, 2} : Add(n)", "\\E n \\in count : Add(n)"),
        steps=1,
    ),
    _wrong(
        "an action that chooses a next value from what is no set",
        "M.tla:8:17: LS603 Add(n = 1): a bound needs a set, but was given 1",
        ("/\\ count' = count + n", "/\\ \\E k \\in n : count' = k"),
        steps=1,
    ),
    _wrong(
        "a choice from a set without end",
        "M.tla:8:17: LS603 Add(n = 1): Nat is infinite and cannot be listed",
        ("/\\ count' = count + n", "/\\ \\E k \\in Nat : count' = k"),
        steps=1,
    ),
    _wrong(
        "an action that is one for every number",
        "M.tla:10:18: LS603 Push: Nat is infinite and cannot be listed",
        ("Push ==\n    /\\ Len(queue) < Most\n", "Push == \\E k \\in Nat :\n    /\\ k < Most\n"),
        steps=1,
    ),
    _wrong(
        "a variable of the next state that is read too early",
        "M.tla:12:8: LS603 Push: count' is read before it is said what count' is: put `count' = ...` before it",
        ("Append(queue, count)", "Append(queue, count')"),
        steps=1,
    ),
    _wrong(
        "one that is read too early in a later state",
        "M.tla:8:8: LS603 Add(n = 1): queue' is read before it is said what queue' is: put `queue' = ...` before it",
        ("count + n", "IF count = 0 THEN n ELSE Len(queue')"),
        steps=2,
    ),
    _wrong(
        "an Init that reads a variable too early",
        "M.tla:5:9: LS603 Init: queue is read before it is said what queue is: put `queue = ...` before it",
        ("Init == count = 0", "Init == count = Len(queue)"),
    ),
    Mistake(
        "an algorithm that is not translated",
        ALGORITHM,
        "SPECIFICATION Spec\n",
        "M.tla:3: LS605 the PlusCal algorithm is not translated (pcal.trans M.tla)",
    ),
)
