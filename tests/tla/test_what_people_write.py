"""Constructs that specs of other people have: each of these small specs has TLC's counts, depth and verdict."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.report.counterexample_steps import counterexample_record, steps_text
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import CompileError
from lockstep.tla.values.itf_values import from_itf
from lockstep.tla.values.kinds import Fcn
from lockstep.tlc import TlcOptions, run_tlc
from tests.support.sampling import sampled
from tests.support.tla.tla_compare import differences, graph_by_search, graph_by_tlc


@dataclass(frozen=True)
class Project:
    """A spec: its root module's body, its configuration, the bodies of further modules, and what is violated."""

    body: str
    cfg: str
    others: tuple[tuple[str, str], ...] = ()
    violated: str = ""

    def write(self, folder: Path) -> tuple[Path, Path]:
        for name, body in (("Root", self.body), *self.others):
            (folder / f"{name}.tla").write_text(f"---- MODULE {name} ----\n{body}\n====\n", encoding="utf-8")
        (folder / "Root.cfg").write_text(self.cfg, encoding="utf-8")
        return folder / "Root.tla", folder / "Root.cfg"


FACTS = """EXTENDS Naturals
CONSTANT K
ASSUME Big == K > 1
THEOREM Sum == K + 1 > 2
THEOREM Grows == ASSUME NEW n \\in Nat PROVE n + K >= n
Both == Big /\\ Sum
"""
COUNTING = """EXTENDS Naturals
CONSTANT K, F(_)
VARIABLE y
RECURSIVE Fac(_)
Fac(n) == LET m == n - K
              RECURSIVE Count(_)
              Count(i) == IF i = 0 THEN 0 ELSE Count(i - K) + y
          IN  IF n = 0 THEN 1 ELSE n * Fac(m) + Count(0)
Up(v) == v' = F(v)
Same(v) == v' = v
Changes(v) == v' # v
Step == y < 3 /\\ Up(y)
Good == y <= Fac(3)
"""

PARTS = """EXTENDS Naturals
CONSTANT K
VARIABLE y
Bounds(a, b) == /\\ a >= 0
                /\\ \\A i \\in 1..b : i + K > a
Small == /\\ y < 5
         /\\ \\E i \\in 1..3, j \\in 1..2 : /\\ i + y > K
                                        /\\ j > 0
Less(a) == /\\ a > 0
           /\\ y' = a - K
First == Small!1
Witness(n) == Small!2!(n, 1)!1
Range == Small!2!<<
Within(n) == Bounds(n, 2)!2!(2)
"""
ORDERS = """EXTENDS Naturals
CONSTANT Limit
Bound == 2 + Limit
Within(n) == n < Bound + Limit
"""
COUNTER = """EXTENDS Orders
CONSTANT Most
VARIABLE x
Next == x' = (x + 1) % (Most + Bound)
Low == Within(x)
"""
REPLACING = """EXTENDS Orders
VARIABLE x
More == Limit + 4
I == INSTANCE Counter WITH Most <- 3
J(k) == INSTANCE Counter WITH Most <- k
L == INSTANCE Counter WITH Most <- 3, Limit <- 2
Init == x = 0
Next == I!Next
OfRoot == Within(x)
OfInstance == I!Low
OfInstances == J(2)!Low
OfOthers == L!Low
Named == I!Bound < 4 \\/ x < 2
"""

PROJECTS = {
    "parts of definitions, by number, by argument and as a whole": Project(
        """EXTENDS Naturals
CONSTANT K
VARIABLE x
Init == /\\ x = 0
        /\\ K > 0
Up(a) == /\\ a < 6
         /\\ x' = a + K
Down == x > 3 /\\ x' = 0
Either == Up(x) \\/ Down
Inv == /\\ x < 5
       /\\ \\A i \\in 1..3 : i + x > 0
       /\\ \\E i \\in 1..9, j \\in 1..2 : /\\ i > x
                                      /\\ j > 0
Par(a, b) == /\\ a > 0
             /\\ \\A i \\in 1..b : i + x > a
THEOREM Thm == x < 9
ASSUME Asm == K > 0
All == /\\ Inv!2
       /\\ Inv!2!1 = 1..3
       /\\ Inv!2!(2)
       /\\ Inv!3!(9, 2)!2
       /\\ Inv!3!<< = 1..9
       /\\ Par(1, 2)!2!(7)
       /\\ Thm!: /\\ Asm!:
       /\\ \\A q \\in 1..3 : Par(q, 2)!1
Low == Inv!1
Next == Either!1 \\/ (Down!1 /\\ Down!2) \\/ (Up(x)!1 /\\ x = 3 /\\ Up(1)!2)
""",
        "CONSTANT K = 1\nINIT Init\nNEXT Next\nINVARIANTS All Low\n",
        violated="Low",
    ),
    "parts of definitions of an instance, with and without parameters": Project(
        """EXTENDS Naturals
VARIABLE x
I == INSTANCE Parts WITH K <- 1, y <- x
J(k) == INSTANCE Parts WITH K <- k, y <- x
Init == x = 4
Next == \\/ I!Less(x)!1 /\\ I!Less(x)!2
        \\/ x > 2 /\\ J(2)!Less(x)
Inv == /\\ I!First
       /\\ I!Small!1
       /\\ I!Bounds(x, 2)!1
       /\\ I!Range = 1..3
       /\\ J(1)!Witness(2)
       /\\ J(2)!First
       /\\ \\E k \\in 1..2 : J(k)!Within(0)
       /\\ \\A k \\in 1..2 : J(k)!Bounds(0, 2)!2!(2)
Low == J(3)!Witness(3)
""",
        "INIT Init\nNEXT Next\nINVARIANTS Inv Low\n",
        (("Parts", PARTS),),
        "Low",
    ),
    "definitions of a LET within another definition, by label, number and argument": Project(
        """EXTENDS Naturals
VARIABLE x
Sum(Of(_), p) == \\A i \\in {1, 2} : more(i) :: LET Add(a) == Of(a) + i + x
                                                    Twice(a) == Add(a) + Add(p)
                                                    Three == 3
                                                IN  Twice(1) > (less :: Three - p)
Double(n) == 2 * n
Apply(Op(_, _, _, _), a, b, c, d) == Op(a, b, c, d)
Plain(q, p) == {(LET both(v) == (q * i) + v IN i + q) : i \\in {1, 2}}
Written(k) == LET m == k + x
                  F(n) == m + n
              IN  [n \\in 1..2 |-> LET G(H(_)) == H(n) IN G(LAMBDA v : F(v) + m)]
I == INSTANCE Lets WITH K <- 10, y <- x
J(k) == INSTANCE Lets WITH K <- k, y <- x
Init == x = 1
Next == x' = Sum(Double, 9)!more(1)!:!Add(3) - 6 /\\ x < 4
Inv == /\\ Sum(Double, 9)!more(2)!:!Twice(4) = 30 + 2 * x
       /\\ Sum(Double, 1)!(2)!Three = 3
       /\\ Sum(Double, 1)!more(2)!less = 2
       /\\ Apply(Plain!@!both, 2, 3, 4, 5) = 13
       /\\ Written(1)[2] = 2 * (1 + x) + 2
       /\\ I!Near(5)!lab(1)!:!Far(2) = 18 + x
       /\\ \\A k \\in 1..2 : J(k)!Near(5)!lab(1)!:!Far(2) = 8 + k + x
Low == Sum(Double, 9)!more(1)!:!Add(3) < 10
""",
        "INIT Init\nNEXT Next\nINVARIANTS Inv Low\n",
        (
            (
                "Lets",
                """EXTENDS Naturals
CONSTANT K
VARIABLE y
Near(a) == \\A i \\in {1, 2} : lab(i) :: LET Far(q) == q + i + a + K + y IN Far(1) > 0
""",
            ),
        ),
        "Low",
    ),
    "facts of instanced modules, with and without parameters": Project(
        """EXTENDS Naturals
VARIABLE x
One == INSTANCE Facts WITH K <- 2
Of(k) == INSTANCE Facts WITH K <- k
Init == x = 2
Next == x' = 5 - x
Inv == One!Big /\\ One!Sum /\\ Of(2)!Big /\\ Of(3)!Sum /\\ One!Both
       /\\ \\A k \\in {2, 3} : Of(k)!Big /\\ Of(k)!Both
Low == \\A k \\in 1..2 : k = x - 2 => Of(k)!Both
""",
        "INIT Init\nNEXT Next\nINVARIANTS Inv Low\n",
        (("Facts", FACTS),),
        "Low",
    ),
    "a LET with a definition that nothing uses": Project(
        """EXTENDS Naturals
VARIABLE x
Init == x = 0
Pick == LET other == CHOOSE v : v \\notin 0..x
            deep(n) == other
            next == (x + 1) % 3
        IN next
Next == LET odd == {v \\in Nat : v % 2 = 1}
            new == Pick
            any == CHOOSE v : v # new
        IN x' = new
Inv == x < 3
""",
        "INIT Init\nNEXT Next\nINVARIANT Inv\n",
    ),
    "values in the configuration for names that no module declares": Project(
        """EXTENDS Naturals
CONSTANT N
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % N
""",
        "CONSTANTS N = 3 M = 4\n  Name = Name\n  Names = {a, b}\nINIT Init\nNEXT Next\n",
    ),
    "a THEOREM with a proof": Project(
        """EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Even(n) == n % 2 = 0
THEOREM Twice == \\A n \\in Nat : Even(n + n)
<1>a TAKE n \\in Nat
<1>1 \\A z \\in Nat : Even(z) \\/ ~Even(z) OBVIOUS
<1>2 CASE Even(n)
  <2> DEFINE Half == n % 2
  <2> USE <1>2
  <2> HIDE DEF Half
  <2>1 Half = 0 BY DEF Half
  <2>2 PICK k \\in Nat : n = 2 * k BY <2>1
  <2> HAVE TRUE
  <2> QED BY <2>1, <2>2
<1>3 ASSUME NEW m \\in Nat, ~Even(n) PROVE Even(n + n) OMITTED
<1>4 SUFFICES ASSUME Even(n) PROVE Even(n + n) OBVIOUS
<1>5 \\E k \\in Nat : k = n
  <2> WITNESS n \\in Nat
  <2> QED OBVIOUS
<1> QED BY <1>1, <1>2, <1>3, <1>4, <1>5
Inv == x < 3
Low == x < 2
""",
        "INIT Init\nNEXT Next\nINVARIANTS Inv Low\n",
        violated="Low",
    ),
    "nothing but assumptions": Project(
        "EXTENDS Naturals\nCONSTANT N\nASSUME N > 1\nASSUME Two == 1 + 1 = 2\n", "CONSTANT N = 3\n"
    ),
    "a named ASSUME and a named THEOREM as expressions": Project(
        """EXTENDS Naturals
CONSTANT N
VARIABLE x
ASSUME Positive == N > 0
THEOREM More == N + 1 > 0
Facts == INSTANCE Facts WITH K <- N
THEOREM Later == x < 2
THEOREM [](Later)
Init == x = 0
Next == x' = (x + 1) % 3
Inv == Positive /\\ More /\\ Facts!Big /\\ Facts!Sum
Low == Inv => Later
""",
        "CONSTANT N = 3\nINIT Init\nNEXT Next\nINVARIANTS Inv Low\n",
        (("Facts", FACTS),),
        "Low",
    ),
    "RECURSIVE with LET beneath a substitution, and operators that prime their argument": Project(
        """EXTENDS Naturals
VARIABLES x, z
Inc(a) == a + 1
I == INSTANCE Counting WITH K <- 1, y <- x, F <- Inc
J(by) == INSTANCE Counting WITH K <- by, y <- z, F <- Inc
Init == x = 0 /\\ z = 0
Next == \\/ I!Step /\\ J(1)!Same(z)
        \\/ J(1)!Step /\\ I!Same(x)
        \\/ \\E k \\in 1..2 : J(k)!Up(z) /\\ z < 2 /\\ J(k)!Same(x)
        \\/ x = 3 /\\ z = 3 /\\ UNCHANGED <<x, z>>
Inv == I!Good /\\ I!Fac(3) = 6 /\\ J(1)!Good
Prop == [][x' # x \\/ J(1)!Changes(z)]_<<x, z>>
""",
        "INIT Init\nNEXT Next\nINVARIANT Inv\nPROPERTY Prop\n",
        (("Counting", COUNTING),),
    ),
    "a LET that names actions, the first of them first": Project(
        """EXTENDS Naturals
VARIABLES x, y
Init == LET first == x = 0  second == y \\in {0, 1} IN first /\\ second
Next == LET up == x' = (x + 1) % 3
            after == x'
            both == up /\\ y' = after
            rest == UNCHANGED y
        IN both \\/ (rest /\\ up) \\/ LET moved == up IN moved /\\ y' \\in {y, 1}
Inv == ENABLED (LET up == x' = x + 1 IN up /\\ y' = x') /\\ x + y < 4
""",
        "INIT Init\nNEXT Next\nINVARIANT Inv\n",
        violated="Inv",
    ),
    "definitions that name variables, primed variables and both": Project(
        """EXTENDS Naturals
VARIABLES x, y
c == x
d == y
a == x'
both == <<c, d>>
Init == c = 1 /\\ d \\in 0..1
Next == \\/ a = (x + 1) % 4 /\\ UNCHANGED d
        \\/ c' \\in {0, x} /\\ d' = 1 - y
        \\/ LET b == y' IN b = 2 /\\ a \\in 1..2
        \\/ UNCHANGED both
""",
        "INIT Init\nNEXT Next\n",
    ),
    "an operator that only asks whether its argument is enabled": Project(
        """EXTENDS Naturals
VARIABLES x, y
Can(A) == ENABLED A
CanMove(v) == ENABLED (v' = v + 1 /\\ x < 2 /\\ y' = y)
Init == x = 0 /\\ y = 0
Up == x < 3 /\\ x' = x + 1 /\\ y' = y
Next == Up \\/ (~Can(Up) /\\ x' = 0 /\\ y' = 1 - y)
Inv == Can(Next) /\\ (CanMove(x) \\/ x > 1)
Low == CanMove(x)
""",
        "INIT Init\nNEXT Next\nINVARIANTS Inv Low\n",
        violated="Low",
    ),
    "large sets of subsets, one in the other": Project(
        """EXTENDS Integers
VARIABLE b
Init == b = TRUE
Next == b' = /\\ SUBSET (1..23) \\subseteq SUBSET (1..42) /\\ ~(SUBSET (1..42) \\subseteq SUBSET (2..42))
             /\\ SUBSET {1} \\subseteq SUBSET Int
Inv == b
""",
        "INIT Init\nNEXT Next\nINVARIANT Inv\n",
    ),
}


@pytest.mark.parametrize("name", sampled(PROJECTS, list(PROJECTS)[:1]))
def test_a_small_spec_has_the_counts_and_the_verdict_of_tlc(name: str, tmp_path: Path) -> None:
    project = PROJECTS[name]
    module, cfg = project.write(tmp_path)
    found = explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"))
    result = run_tlc(module, cfg, TlcOptions(deadlock_check=True, is_short=True))
    violated = (found.violation and found.violation.label, result.violation and result.violation.label)
    assert violated == ((project.violated,) * 2 if project.violated else (None, None)), result.reason
    assert (found.distinct, found.generated, found.depth) == (result.distinct, result.generated, result.depth)


REPLACED = [
    (given, invariant)
    for given in ("<- More", "<- [Orders]More", "<- [Counter]More", "= 7", "= [Counter]7")
    for invariant in ("OfRoot", "OfInstance", "OfInstances", "OfOthers", "Named")
]


@pytest.mark.parametrize(("given", "invariant"), sampled(REPLACED, REPLACED[12:13]))
def test_a_definition_that_the_configuration_replaces_is_replaced_within_instances(
    given: str, invariant: str, tmp_path: Path
) -> None:
    cfg_text = f"CONSTANT Limit = 1\nCONSTANT Bound {given}\nINIT Init\nNEXT Next\nINVARIANT {invariant}\n"
    module, cfg = Project(REPLACING, cfg_text, (("Orders", ORDERS), ("Counter", COUNTER))).write(tmp_path)
    found = explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"))
    result = run_tlc(module, cfg, TlcOptions(deadlock_check=True, is_short=True))
    violated = (found.violation and found.violation.label, result.violation and result.violation.label)
    assert violated[0] == violated[1], result.reason
    assert (found.distinct, found.generated, found.depth) == (result.distinct, result.generated, result.depth)


BENEATH = """EXTENDS Naturals
VARIABLES x, h
A == x < 2 /\\ x' = x + 1
B(k) == x > 0 /\\ x' = x - k
C == x = 2 /\\ x' = 0
Init == x = 0 /\\ h = 0
Both == (A \\/ B(1)) /\\ h' = 1
Either == A \\/ C
Next == \\/ /\\ A \\/ \\E k \\in 1..2 : k <= x /\\ B(k)
           /\\ h' = 0
        \\/ Both
        \\/ C /\\ h' = 1
        \\/ Either!1 /\\ h' = 2
        \\/ \\E k \\in {1} : /\\ k = 1
                          /\\ Either
                          /\\ h' = 3
"""
PLUSCAL = """EXTENDS Naturals
VARIABLES pc, n
vars == <<pc, n>>
ProcSet == 1..2
Init == pc = [self \\in ProcSet |-> "start"] /\\ n = 0
start(self) == /\\ pc[self] = "start"
               /\\ n' = n + 1
               /\\ pc' = [pc EXCEPT ![self] = "loop"]
loop(self) == /\\ pc[self] = "loop"
              /\\ IF n < 3 THEN n' = n + 1 /\\ pc' = pc
                          ELSE n' = n /\\ pc' = [pc EXCEPT ![self] = "Done"]
p(self) == start(self) \\/ loop(self)
Terminating == /\\ \\A self \\in ProcSet : pc[self] = "Done"
               /\\ UNCHANGED vars
Next == (\\E self \\in ProcSet : p(self)) \\/ Terminating
"""


@pytest.mark.parametrize(
    ("body", "actions"),
    [
        pytest.param(BENEATH, {"Next", "Both"}, marks=pytest.mark.nightly),
        pytest.param(
            BENEATH + "Again == Either!1 /\\ h' = h\nParts == Either!1\n",
            {"Next", "Both"},
            marks=pytest.mark.nightly,
        ),
        (PLUSCAL, {"start", "loop", "Terminating"}),
    ],
    ids=["beneath a conjunction", "with parts that nothing uses", "PlusCal's labels"],
)
def test_the_edges_bear_the_names_that_tlc_gives_them(body: str, actions: set[str], tmp_path: Path) -> None:
    module, cfg = Project(body, "INIT Init\nNEXT Next\n").write(tmp_path)
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    ours, theirs = graph_by_search(spec), graph_by_tlc(module, cfg, spec)
    assert differences(ours, theirs) == []
    assert {action for _, action, _ in theirs.edges} == actions


def test_a_part_of_an_action_is_no_action_of_its_own(tmp_path: Path) -> None:
    body = "EXTENDS Naturals\nVARIABLE x\nA == x' = x + 1\nB == x' = 0\nOld == (x < 2 /\\ A) \\/ B\nInit == x = 0\n"
    module, cfg = Project(body + "Next == Old!1 \\/ Old!2\n", "INIT Init\nNEXT Next\n").write(tmp_path)
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    assert differences(graph_by_search(spec), graph_by_tlc(module, cfg, spec)) == []


# ---- What TLC 2.15 does not know ----


MODULO = """EXTENDS Naturals, TLC
CONSTANT N
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % N
Shown == [twice |-> 2 * x]
Few == N < 3
Statistics == TLCGet("distinct") = N
TooMany == TLCGet("distinct") > N
OfAState == x = 0
"""


@pytest.mark.parametrize(("n", "violated"), sampled([(2, None), (3, "Few")], [(3, "Few")]))
def test_a_postcondition_is_evaluated_when_the_search_is_complete(n: int, violated: str | None, tmp_path: Path) -> None:
    cfg_text = f"CONSTANT N = {n}\nINIT Init\nNEXT Next\nALIAS Shown\nPOSTCONDITION Few\n"
    module, cfg = Project(MODULO, cfg_text).write(tmp_path)
    spec = load_spec(module, cfg, cache_dir=tmp_path / "cache")
    found = explore(spec)
    assert (found.distinct, found.complete, found.violation and found.violation.label) == (n, True, violated)
    assert explore(spec, SearchOptions(max_states=1)).violation is None
    result = explore_spec(SpecFiles(module, cfg), Engine.COMPILED)
    assert (result.property, result.counterexample) == (violated, None)
    assert result.verdict is (Verdict.HOLDS if violated is None else Verdict.VIOLATED)


@pytest.mark.parametrize(("name", "violated"), [("Statistics", None), ("TooMany", "TooMany")])
def test_a_postcondition_may_ask_how_many_states_there_are(name: str, violated: str | None, tmp_path: Path) -> None:
    module, cfg = with_postcondition(name, tmp_path)
    found = explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"))
    assert (found.complete, found.violation and found.violation.label, found.unchecked) == (True, violated, ())


def test_a_postcondition_that_speaks_of_a_state_is_named_as_unchecked(tmp_path: Path) -> None:
    module, cfg = with_postcondition("OfAState", tmp_path)
    found = explore(load_spec(module, cfg, cache_dir=tmp_path / "cache"))
    assert (found.complete, found.violation, found.unchecked) == (True, None, ("OfAState",))


def with_postcondition(name: str, folder: Path) -> tuple[Path, Path]:
    return Project(MODULO, f"CONSTANT N = 3\nINIT Init\nNEXT Next\nPOSTCONDITION {name}\n").write(folder)


# ---- Specs without behaviours ----


OF_ASSUMPTIONS = [
    ("ASSUME 1 + 1 = 2\nASSUME Two == {1, 1} = {1}", Verdict.HOLDS, "the 2 ASSUMEs hold"),
    ("ASSUME 1 + 1 = 2", Verdict.HOLDS, "the ASSUME holds"),
    ("ASSUME 1 + 1 = 2\nASSUME 1 > 2", Verdict.VIOLATED, "is false"),
]


@pytest.mark.parametrize(("body", "verdict", "said"), sampled(OF_ASSUMPTIONS, OF_ASSUMPTIONS[2:]))
def test_a_spec_of_assumptions_alone_has_its_assumptions_checked(
    body: str, verdict: Verdict, said: str, tmp_path: Path
) -> None:
    module, cfg = Project(f"EXTENDS Naturals\n{body}", "").write(tmp_path)
    for engine in (Engine.COMPILED, Engine.TLC):
        result = explore_spec(SpecFiles(module, cfg), engine)
        assert result.verdict is verdict, result.reason
        assert said in result.reason


def test_a_spec_with_neither_behaviours_nor_assumptions_does_not_hold(tmp_path: Path) -> None:
    module, cfg = Project("Two == 2", "").write(tmp_path)
    assert explore_spec(SpecFiles(module, cfg), Engine.COMPILED).verdict is Verdict.MALFORMED
    assert explore_spec(SpecFiles(module, cfg), Engine.TLC).verdict is Verdict.INCONCLUSIVE


# ---- Errors that say what they are ----


def test_a_fact_is_never_taken_for_true_without_being_computed(tmp_path: Path) -> None:
    body = """EXTENDS Naturals
VARIABLE x
Of(k) == INSTANCE Facts WITH K <- k
Init == x = 2
Next == x' = x
Inv == Of(2)!Grows"""
    module, cfg = Project(body, "INIT Init\nNEXT Next\nINVARIANT Inv\n", (("Facts", FACTS),)).write(tmp_path)
    with pytest.raises(CompileError, match=r"Facts.tla:6"):
        load_spec(module, cfg, cache_dir=tmp_path / "cache")


# ---- Functions whose keys are integers ----


def test_functions_with_integers_as_keys_are_printed_and_read_again(tmp_path: Path) -> None:
    body = """EXTENDS Integers
VARIABLE f
Init == f = [i \\in {0, 5, -1} |-> {i}]
Next == f' = [f EXCEPT ![5] = f[0], ![-1] = {<<7, [i \\in 3..4 |-> i]>>}]
Inv == f[5] = {5}"""
    module, cfg = Project(body, "INIT Init\nNEXT Next\nINVARIANT Inv\n").write(tmp_path)
    for engine in (Engine.COMPILED, Engine.TLC):
        behaviour = explore_spec(SpecFiles(module, cfg), engine).counterexample
        assert behaviour is not None
        record = json.loads(json.dumps(counterexample_record(behaviour, full=True)))["counterexample"]
        assert from_itf(record[0]["state"]["f"]) == Fcn({-1: frozenset({-1}), 0: frozenset({0}), 5: frozenset({5})})
        assert "f[5]: {5} -> {0}" in steps_text(behaviour)
        (nested,) = from_itf(record[1]["state"]["f"]).d[-1]
        assert nested == (7, Fcn({3: 3, 4: 4}))


# ---- Assert ----

ASSERTING = """EXTENDS Naturals, TLC
VARIABLE x
Init == x = 0
Up == x' = x + 1
Next == %s
Low == %s
"""


@pytest.mark.parametrize("engine", [Engine.COMPILED, Engine.TLC])
def test_a_printed_set_is_evaluated(engine: Engine, tmp_path: Path) -> None:
    """PrintT of a filtered set lists it, and meets the test that cannot be evaluated (tlaplus#179)."""
    project = Project(
        "EXTENDS TLC, Naturals\nVARIABLE v\nOdd == {s \\in SUBSET {1, 2} : \\A x \\in s : x = s}\n"
        "Init == v = 0\nNext == PrintT(<<0, Odd>>) /\\ v' = v",
        "INIT Init\nNEXT Next\n",
    )
    found = explore_spec(SpecFiles(*project.write(tmp_path)), engine)
    assert found.verdict is Verdict.MALFORMED


def test_a_random_operator_is_refused_by_name(tmp_path: Path) -> None:
    body = "EXTENDS Naturals, Randomization\nVARIABLE v\nInit == v \\in RandomSubset(1, {1, 2})\nNext == v' = v"
    module, cfg = Project(body, "INIT Init\nNEXT Next\n").write(tmp_path)
    with pytest.raises(CompileError, match="RandomSubset of the module Randomization is not supported"):
        load_spec(module, cfg, cache_dir=tmp_path / "cache")


@pytest.mark.parametrize(
    ("next_", "low", "label"),
    [
        pytest.param(
            'Assert(x < 2, "two is enough") /\\ Up', "TRUE", "assertion", marks=pytest.mark.nightly, id="in an action"
        ),
        pytest.param("x < 3 /\\ Up", 'Assert(x < 2, "two is enough")', "Low", id="in an invariant"),
    ],
)
def test_a_false_assert_is_a_violation_for_both_engines(next_: str, low: str, label: str, tmp_path: Path) -> None:
    """TLC 2.15 prints no steps to one in an action."""
    module, cfg = Project(ASSERTING % (next_, low), "INIT Init\nNEXT Next\nINVARIANT Low\n").write(tmp_path)
    ours, theirs = (
        explore_spec(SpecFiles(module, cfg), Engine.COMPILED),
        explore_spec(SpecFiles(module, cfg), Engine.TLC),
    )
    for found in (ours, theirs):
        assert (found.verdict, found.property) == (Verdict.VIOLATED, label), found.reason
        assert "two is enough" in found.reason
    assert ours.reason.startswith("assertion")
    for behaviour in filter(None, (ours.counterexample, theirs.counterexample)):
        assert [step.state["x"] for step in behaviour.steps] == [0, 1, 2]
    assert ours.counterexample is not None
