"""Expression by expression, the compiled specification says what TLC says, and fails where TLC fails."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.equality import eq
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.kinds import TlaError
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc.java import find_tla2tools

pytestmark = pytest.mark.filterwarnings("ignore::lockstep.tla.values.function_operators.ExceptWarning")

HEADER = """---- MODULE Expressions ----
EXTENDS Integers, Sequences, FiniteSets, TLC, Bags
CONSTANTS m1, m2, M
Twice(F(_), q) == F(F(q))
Second(p, q) == q
Pick(test, p, q) == IF test THEN p ELSE q
Inc(q) == q + 1
Apply(Op(_, _), p, q) == Op(p, q)
RECURSIVE Fact(_)
Fact(n) == IF n = 0 THEN 1 ELSE n * Fact(n - 1)
RECURSIVE SumOf(_)
SumOf(S) == IF S = {} THEN 0 ELSE LET k == CHOOSE k \\in S : \\A j \\in S : k <= j IN k + SumOf(S \\ {k})
fib[n \\in Nat] == IF n < 2 THEN n ELSE fib[n - 1] + fib[n - 2]
grid[i \\in 1..2, j \\in 1..3] == i * 10 + j
infix ++ other == <<infix, other>>
r == [a |-> 1, b |-> [c |-> <<1, 2, 3>>, d |-> {1}]]
Nested == INSTANCE ExpressionsInner WITH K <- 5
"""
CFG = "CONSTANTS m1 = m1 m2 = m2 M = {m1, m2}\n"
INNER = """---- MODULE ExpressionsInner ----
EXTENDS Naturals
CONSTANT K
Add(n) == n + K
Half == Add(1) \\div 2
===="""

EXPRESSIONS = r"""
1 + 2 * 3 - 4
-7 \div 2
7 \div 2
7 % 3
-7 % 3
2 ^ 10
-(3)
5 \in 1..5
0 \in 1..5
1..0
3 \in Nat
-3 \in Nat
-3 \in Int
"abc" \in STRING
TRUE \in BOOLEAN
TRUE /\ FALSE
TRUE \/ (1 \div 0 = 1)
FALSE /\ (1 \div 0 = 1)
FALSE => (1 \div 0 = 1)
TRUE <=> FALSE
~TRUE
TRUE # FALSE
IF 1 < 2 THEN "yes" ELSE "no"
CASE 1 > 2 -> "a" [] 2 > 1 -> "b" [] OTHER -> "c"
CASE 1 > 2 -> "a" [] OTHER -> "c"
{1, 2} \cup {2, 3}
{1, 2} \cap {2, 3}
{1, 2} \ {2, 3}
{1, 2} \subseteq {1, 2, 3}
{1, 4} \subseteq {1, 2, 3}
SUBSET {1, 2}
SUBSET {}
UNION {{1}, {2, 3}, {}}
{x \in 1..10 : x % 3 = 0}
{x * x : x \in -3..3}
{<<x, y>> : x \in {1, 2}, y \in {"a", "b"}}
{x + y : x, y \in 1..3}
{<<x, y>> \in (1..3) \X (1..3) : x < y}
{1, 2} \X {"a"} \X {TRUE}
{{}, {1}, {1, 2}}
1 \notin {2}
{m1, m2} = M
m1 = m2
m1 = 1
m1 \in {1, 2}
{m1, 1}
"a" \in {m1, "a"}
<<>>
<<1, "a", TRUE>>
<<1, 2>>[2]
<<x, m1>> = <<x, m1>>
Len(<<1, 2, 3>>)
Append(<<1>>, 2)
Head(<<1, 2>>)
Tail(<<1, 2>>)
<<1>> \o <<2, 3>>
SubSeq(<<1, 2, 3, 4>>, 2, 3)
SubSeq(<<1, 2, 3, 4>>, 3, 2)
SelectSeq(<<1, 2, 3, 4>>, LAMBDA e : e % 2 = 0)
<<1, 2>> \in Seq({1, 2})
<<1, 3>> \in Seq({1, 2})
<<>> \in Seq({})
DOMAIN <<5, 6>>
DOMAIN [a |-> 1, b |-> 2]
[i \in 1..3 |-> i * i]
[i \in 0..2 |-> i * i]
[i \in {} |-> i]
[i \in {2, 1} |-> i] = <<1, 2>>
[i \in {"a", "b"} |-> i] = [a |-> "a", b |-> "b"]
[i \in M |-> i = m1]
[i \in 1..2, j \in {3} |-> i + j]
[i, j \in 1..2 |-> i - j]
[<<i, j>> \in (1..2) \X (1..2) |-> i + j]
[i, j \in 1..2 |-> i - j][2, 1]
grid[2, 3]
DOMAIN grid = (1..2) \X (1..3)
[a |-> 1, b |-> "x"]
[a |-> 1].a
r.b.c[2]
r.b
[r EXCEPT !.a = 2]
Twice(LAMBDA x : [r EXCEPT !.nowhere = x] = r, 1 \div 0)
[r EXCEPT !.a = @ + 10]
[r EXCEPT !.b.c[2] = @ * 7, !.a = 0]
[r EXCEPT !["b"].d = @ \cup {9}, !.b.d = @ \cup {8}]
[<<1, 2, 3>> EXCEPT ![2] = 9]
[<<1, 2, 3>> EXCEPT ![1] = @ + @, ![3] = 0]
[i \in {0, 5} |-> i] = [[i \in {0, 5} |-> 0] EXCEPT ![5] = 5]
[grid EXCEPT ![1, 2] = 0][1, 2]
[r EXCEPT !.b = [@ EXCEPT !.c = Append(@, 4)]]
[r EXCEPT !.b.c = [i \in DOMAIN @ |-> @[i] + 1]]
[[r EXCEPT !.a = 2] EXCEPT !.a = @ + 1].a
LET z == 4 IN [r EXCEPT !.a = LET w == @ + z IN w * w]
[{1, 2} -> {"a", "b"}]
[{} -> {1}]
[1..2 -> BOOLEAN]
<<1, 2>> \in [1..2 -> Nat]
<<1, 2>> \in [1..3 -> Nat]
[a : {1, 2}, b : {"x"}]
[a |-> 1, b |-> "x"] \in [a : Nat, b : STRING]
[a |-> -1, b |-> "x"] \in [a : Nat, b : STRING]
[a |-> 1] \in [a : Nat, b : STRING]
{1, 2} \in SUBSET Nat
{1, -2} \in SUBSET Nat
-1 \in Nat \cup {-1}
-2 \in Nat \cup {-1}
3 \in Int \ {3}
5 \in {n \in Nat : n > 4}
\A x \in 1..3 : x > 0
\E x \in 1..3 : x > 3
\A x \in {} : FALSE
\E x, y \in 1..3, z \in {5} : x + y = z
\A <<x, y>> \in {<<1, 2>>, <<3, 4>>} : x < y
\E x \in 1..3 : \A y \in 1..3 : x >= y
CHOOSE x \in 1..5 : x * x = 16
CHOOSE <<x, y>> \in (1..3) \X (1..3) : x - y = 2
LET S == {3, 7, -2} IN CHOOSE x \in S : \A y \in S : y <= x
LET S == {3, 7, -2} IN CHOOSE x \in S : \A y \in S : x >= y
LET S == {3, 7, -2} IN CHOOSE x \in S : \A y \in S : x <= y
LET S == {3, 7, -2} IN CHOOSE x \in S : \A y \in S : y >= x
LET S == 4..9 IN <<CHOOSE x \in S : \A y \in S : y <= x, CHOOSE x \in S : \A y \in S : y >= x>>
LET S == {k * k : k \in -3..2} IN CHOOSE x \in S : \A y \in S : y <= x
LET S == 1..3 T == 2..5 IN CHOOSE x \in S : \A y \in {2, 1} : y <= x
LET S == {2, 4} IN CHOOSE x \in S : \A y \in S : x <= x
LET x == 3 IN x * x
LET F(x) == x + 1 IN F(F(1))
LET x == 1 y == x + 1 z == y + x IN <<x, y, z>>
LET bad == 1 \div 0 IN 5
LET RECURSIVE G(_) G(n) == IF n = 0 THEN <<>> ELSE Append(G(n - 1), n) IN G(4)
LET h[n \in 0..5] == IF n = 0 THEN 1 ELSE 2 * h[n - 1] IN h[5]
LET h[n \in 0..3] == IF n = 0 THEN 1 ELSE 2 * h[n - 1] IN h
{LET s == x * 2 IN s + 1 : x \in 1..3}
{x \in 1..6 : LET s == x % 4 IN s = 1 \/ (LET t == x % 3 IN t = 0)}
[x \in 1..3 |-> LET s == x * 2 F(q) == q + s IN F(F(x))]
\A x \in 1..3 : LET s == x IN \E y \in 1..3 : LET t == y IN s = t
IF LET a == 1 IN a = 1 THEN LET b == 2 IN b ELSE LET c == 1 \div 0 IN c
CASE LET a == 1 IN a = 2 -> 1 [] LET a == 2 IN a = 2 -> LET b == 7 IN b
TRUE /\ (LET a == TRUE IN a) /\ ~(LET b == FALSE IN b)
FALSE /\ (LET a == 1 \div 0 IN a = 1)
Twice(Inc, 5)
Twice(LAMBDA q : q * q, 3)
Twice(LAMBDA q : LET s == q + 1 IN s * s, 1)
LET k == 4 IN Twice(LAMBDA q : q + k, 1)
LET L(q) == q \o <<1>> IN Twice(L, <<>>)
Apply(+, 3, 4)
Apply(\cup, {3}, {4})
Apply(LAMBDA p, q : <<q, p>>, 3, 4)
Apply(++, 1, 2)
Second(1 \div 0, 5)
Pick(TRUE, 1, 1 \div 0)
Pick(FALSE, Pick(TRUE, 1 \div 0, 2), 3)
1 ++ 2
Fact(10)
SumOf({3, 5, 7})
fib[15]
Nested!Add(2)
Nested!Half
Cardinality({1, 2, 2})
Cardinality(SUBSET (1..4))
IsFiniteSet({1})
m1 :> 1 @@ m2 :> 2
(1 :> "a" @@ 2 :> "b") = <<"a", "b">>
("a" :> 1) = [a |-> 1]
<<1, 2>> @@ (2 :> 5 @@ 3 :> 6)
Permutations({1, 2})
Permutations(M)
SortSeq(<<3, 1, 2>>, <)
ToString(<<1, "a", {TRUE}>>)
{[a |-> 1], [a |-> 2, b |-> 3], <<>>}
{[type |-> "req", body |-> 1], [type |-> "resp", body |-> TRUE]}
<<1, TRUE>> = <<2, "x">>
[type |-> "req", body |-> 1] = [type |-> "resp", body |-> TRUE]
"a\"b\\c"
"tab\tnewline\n"
{"b", "a", "c"}
BagToSet(SetToBag({1, 2}) (+) SetToBag({2}))
CopiesIn(2, SetToBag({1, 2}) (+) SetToBag({2}))
SetToBag({1, 2}) (-) SetToBag({2})
BagCardinality(SetToBag({1, 2}) (+) SetToBag({2}))
EmptyBag
Print("shown", 7)
Assert(1 = 1, "fine")
x => y
\A f \in [1..2 -> 1..2] : f[1] \in 1..2
{f[1] : f \in [1..2 -> {5, 6}]}
{q.a : q \in [a : {1, 2}, b : {3}]}
{f \in [M -> 0..1] : f[m1] = 1}
UNION {{<<i, j>> : j \in 1..i} : i \in 1..3}
<<<<1>>, [a |-> {}]>>
[n \in M |-> [k \in M |-> <<>>]]
(CHOOSE f \in [M -> 1..2] : f[m1] > f[m2])[m1]
"""
EXPRESSIONS_LIST = [
    line.replace("x => y", "(1 = 1) => (2 = 2)").replace("<<x, m1>>", "<<m2, m1>>")
    for line in EXPRESSIONS.strip().splitlines()
]

#: Expressions that have no value, for which TLC and the compiled specification report an error.
FAILING = r"""
1 = TRUE
1 = "a"
"a" = TRUE
{1} = {TRUE}
<<1>> = <<TRUE>>
{1, TRUE}
{1, "a"}
{<<1>>, <<TRUE>>}
{1} \cup {TRUE}
{x \in {1, 2} : x}
1 \in {TRUE}
TRUE \in {1, 2}
"a" \in {1, 2}
1 \in 2
"a" \in Nat
<<1, 2>>[0]
<<1, 2>>[3]
<<1, 2>>[-1]
<<1>>[TRUE]
[a |-> 1].b
[i \in {5} |-> i][6]
[i \in {0, 1} |-> i][TRUE]
fib[-1]
Head(<<>>)
Tail(<<>>)
SubSeq(<<1>>, 1, 2)
CHOOSE x \in 1..3 : x > 3
LET S == {} IN CHOOSE x \in S : \A y \in S : y <= x
LET S == 3..1 IN CHOOSE x \in S : \A y \in S : y >= x
LET S == {"a", "b"} IN CHOOSE x \in S : \A y \in S : y <= x
LET S == 5 IN CHOOSE x \in S : \A y \in S : y <= x
CASE 1 > 2 -> 1
1 \div 0
5 % 0
1 + TRUE
1 + "a"
1 < "a"
IF 1 THEN 2 ELSE 3
1 /\ TRUE
TRUE /\ 1
~1
1 => TRUE
\A x \in {1} : x
\A x \in 1 : TRUE
UNION {1}
SUBSET 1
Len(5)
Append(5, 1)
<<1>> \o 5
DOMAIN 5
5[1]
[5 EXCEPT ![1] = 1]
Cardinality(5)
Cardinality(Nat)
{x : x \in Nat}
Assert(1 = 2, "wrong")
Second(1, 1 \div 0)
LET bad == 1 \div 0 IN bad
{1} \subseteq 1
{<<1, 2>>} = {[a |-> TRUE], 1}
"""
FAILING_LIST = FAILING.strip().splitlines()


def write_module(folder: Path, expressions: list[str], *, printing: bool) -> Path:
    lines = [HEADER]
    for index, expression in enumerate(expressions):
        lines.append(f"E{index} == {expression}")
        if printing:
            lines.append(f'ASSUME PrintT(<<"E{index}", E{index}>>)')
    path = folder / "Expressions.tla"
    path.write_text("\n".join([*lines, "===="]))
    (folder / "ExpressionsInner.tla").write_text(INNER)
    (folder / "Expressions.cfg").write_text(CFG)
    return path


def run_tlc(path: Path) -> str:
    command = ["java", "-XX:+UseSerialGC", f"-Djava.io.tmpdir={path.parent}", "-cp", str(find_tla2tools())]
    command += ["tlc2.TLC", "-deadlock", path.name]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    path = write_module(tmp_path_factory.mktemp("compiled"), EXPRESSIONS_LIST, printing=False)
    return load_spec(path, path.with_suffix(".cfg"), cache_dir=path.parent / "cache")


@pytest.fixture(scope="module")
def answers_of_tlc(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    output = run_tlc(write_module(tmp_path_factory.mktemp("tlc"), EXPRESSIONS_LIST, printing=True))
    found = {}
    # A printed value may run over several lines.
    for match in re.finditer(r'^<<\s*"(E\d+)",\s*(.*?)\s*>>$(?=\n(?:<<|"shown"|[A-Z]|Fin))', output, re.M | re.S):
        found[match[1]] = match[2]
    return found


@pytest.mark.parametrize("index", range(len(EXPRESSIONS_LIST)), ids=EXPRESSIONS_LIST)
def test_an_expression_has_the_value_that_tlc_prints(
    index: int, compiled: Spec, answers_of_tlc: dict[str, str]
) -> None:
    printed = answers_of_tlc[f"E{index}"]
    ours = compiled.evaluate(f"E{index}")
    theirs = parse_value(printed, ["m1", "m2"]) if not printed.startswith("SUBSET") else None
    if isinstance(theirs, str):
        theirs = theirs.encode().decode()
    assert eq(ours, theirs), (ours, printed)


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    path = write_module(tmp_path_factory.mktemp("failing"), FAILING_LIST, printing=False)
    return load_spec(path, path.with_suffix(".cfg"), cache_dir=path.parent / "cache")


@pytest.mark.parametrize("index", range(len(FAILING_LIST)), ids=FAILING_LIST)
def test_an_expression_without_a_value_raises_instead_of_answering(index: int, failing: Spec) -> None:
    with pytest.raises(TlaError):
        frozen(failing.evaluate(f"E{index}"))  # as TLC does when it prints the value
