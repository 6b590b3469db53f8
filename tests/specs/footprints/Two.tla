---- MODULE Two ----
\* INSTANCE, operators given by the cfg, indexes within indexes, and properties of steps.
EXTENDS Integers, Sequences, FiniteSets
CONSTANTS Node, NoNode, Big, Ov(_)
VARIABLES node, net, s, m, cur, pos, lim, lo, f, D, T, K, q
vars == <<node, net, s, m, cur, pos, lim, lo, f, D, T, K, q>>
Init == /\ node = [n \in Node |-> [log |-> <<>>, commit |-> 0, term |-> 0]]
        /\ net = {} /\ s = <<1,1,1>> /\ m = <<<<1,1,1>>,<<1,1,1>>,<<1,1,1>>>> /\ cur \in Node /\ pos = 1 /\ lim = 5 /\ lo = 1
        /\ f = [n \in Node |-> 1] /\ D = {} /\ T = {} /\ K = NoNode /\ q = 0
Next == UNCHANGED vars
Log == node[cur].log
E(i) == Log[i]
At(e, i) == e[i]
Le(x) == x <= lim
LeM(x) == x.k <= lim
Apply(Op(_), x) == Op(x)
RECURSIVE Sum(_, _)
Sum(q1, i) == IF i = 0 THEN 0 ELSE q1[i] + Sum(q1, i - 1)
MaxOf(S) == CHOOSE x \in S : \A y \in S : y <= x
Self == node[cur]
Rec == [log : Seq(0..3), commit : 0..2, term : 0..3]
RecP(x) == [log : Seq(0..3), commit : 0..x, term : 0..3]


OvDef(x) == x + lim
CL == 0
CLdef == lim
Foo(x) == x
FooR(x) == x + lim - lim + (IF pos = 3 THEN 1 ELSE 0)
J1(z) == INSTANCE P WITH a <- z, b <- D, C <- 4
JJ == INSTANCE P WITH a <- node[cur].term, b <- {0} , C <- 3
J2 == INSTANCE P WITH a <- lim, b <- D, C <- 4
EL == INSTANCE P WITH a <- lim, b <- D, C <- 6
g == [i \in 0..2 |-> i + pos]
Sel(x) == LET w == m[x.i] IN w[pos]
I1 == \A x \in net : m[x.i][pos] <= 2
I2 == \A x \in net : At(m[x.i], pos) <= 2
I3 == \A x \in net : Sel(x) <= 2
I4 == \A x \in D : x \in DOMAIN s => At(node[cur], "log") # <<x>>
I5 == \A x \in D : x \in 1..2 => (x > 2 \/ g[x] <= 4)
I6 == J1(lim)!Inv
I7 == JJ!Inv2
I8 == J2!Inv
I9 == J2!Inv3
I10 == \A n \in Node : J1(f[n])!Inv2
I11 == \A x \in D : Foo(x) <= 5
I12 == \A x \in D : Ov(x) <= 9
I13 == \A x \in D : x <= CL
I14 == \A x \in 1..CL : x <= 5
I15 == \A x \in D : x <= 3 \/ ENABLED (lim' = 7 /\ x <= lim /\ UNCHANGED <<node, net, s, m, cur, pos, lo, f, D, T, K, q>>)
I16 == \A x \in D : x <= 3 \/ ENABLED (lim' = lim - 1 /\ x <= lim' /\ UNCHANGED <<node, net, s, m, cur, pos, lo, f, D, T, K, q>>)
I17 == \A x \in D : x <= 3 \/ ENABLED ((x < lim)' /\ lim' = 4 /\ UNCHANGED <<node, net, s, m, cur, pos, lo, f, D, T, K, q>>)
I19 == \A x \in D : \A y \in net : y.k = x => y.i <= lim - 2
I20 == \A x \in net : [a |-> lim, b |-> x.k].a >= x.k
I21 == \A x \in net : x.k <= [a |-> lim, b |-> x.k].a
I22 == \A x \in net : x.k <= (CHOOSE y \in 0..6 : y = lim)
I23 == \A x \in net : x.k <= Cardinality({y \in 0..6 : y < lim}) + 1
I24 == \A x \in net : x.k <= Cardinality({y \in net : y.k < lim}) + 4
I25 == \A x \in net : x.k <= LET F(z) == z + lim IN F(lo)
I26 == \A x \in net : LET F(z) == z.k + lim IN F(x) <= 10
I27 == \A x \in net : LET F(z) == z.k - 1 IN F(x) < lim
I28 == \A x \in net : LET F(z, w) == z < w IN F(x.k, lim + 1) /\ F(lo, x.k + 5)
I29 == \A x \in net : LET F(z) == \A y \in D : z <= lim IN F(x.k)
I30 == \A x \in net : \A y \in D : LET F(z) == z <= y + lim IN F(x.k)
I31 == \A x \in net : \A y \in {lim} : x.k <= y
I32 == \A x \in net : CASE x.k <= lim -> TRUE [] x.k = lim + 1 -> pos # 2 [] OTHER -> FALSE
I33 == \A x \in net : x.k = lim => x.i = pos
I34 == \A x \in net : lim = x.k => pos = x.i
I35 == \A x \in net : <<x.k, x.i>> # <<lim, pos>>
I36 == \A x \in net : x # [k |-> lim, i |-> pos]
I37 == \A x \in net : x.k \in 0..lim
I38 == \A x \in net : x.k \notin {lim, pos}
I39 == \A n \in Node : \A i \in DOMAIN node[n].log : node[n].log[i] # lim - 3
I40 == \A n \in Node : node[n].term > 1 => \A i \in 1..Len(node[n].log) : node[n].log[i] <= node[cur].commit + 1
I41 == (\A x \in D : x <= lim) /\ q = 0 => \A x \in D : x # pos + 3
I42 == ~ \E x \in D : x > lim
I43 == \A n \in Node \cup {K} : n \in Node => f[n] <= 2
I44 == \A n \in {cur} : \A x \in D : x <= node[n].term + 3
I45 == \A x \in {cur, K} : x = NoNode \/ node[x].term <= 2
I46 == \A x \in {<<lim, pos>>} : x[1] > x[2] - 1
I47 == \A x \in {<<1, 2>>, <<2, 1>>} : m[x[1]][x[2]] <= 2
I48 == \A x \in {m[1], m[2]} : x[1] <= 2
I49 == \A x \in {m[1], m[pos]} : x[pos] <= 2
I50 == \A x \in Node : \A y \in {f[x]} : y <= 2
I51 == \A x \in net : x.k <= lim /\ \A y \in net : (x.k = y.k /\ x.i # y.i) => s[x.i] # s[y.i] \/ s[1] = 1
I52 == \A x \in UNION {D, {lim}} : x <= 5
I53 == \A x \in D \X D : x[1] + x[2] <= lim + 4
I54 == \A x \in D : x + lo - 1 <= lim
I55 == \A x \in D : x - 1 + 2 <= lim
I56 == \A x \in (lo-2)..(-1) : x # -2 \/ pos # 3
I57 == \A x \in -2..lim : \A i \in {x} : i # 6
I58 == \A x \in net: (LET y == x IN LET z == y.i IN s[z]) <= 2
I59 == \A x \in net: At(s, x.i) <= 2 /\ At(m, pos)[x.i] <= 2
I60 == \A x \in net: Apply(LAMBDA y: At(s, y.i), x) <= 2
I61 == \A x \in D : x \in 1..3 => Le(s[x] + 1)
I62 == \A x \in D : x \in 1..3 => Le(x + s[x])
I63 == \A x \in D : x \in 1..3 => s[x] = s[pos] \/ x < pos
I64 == \A x \in [k : D, i : {pos}] : x.k + x.i <= lim + 3
I65 == \A x \in net : x.k > lim => FALSE
I66 == q = 0 => \A x \in 1..Len(node[cur].log) : node[cur].log[x] # pos
I67 == \A x \in 1..Len(s) : node[cur].term + s[x] <= 5
I68 == \A x \in lo..lim : x >= 1 /\ x <= 3 => m[x][x] <= 2
I69 == \A x \in lo..lim : x >= 1 /\ x <= 3 => m[pos][x] <= 2
I70 == \A x \in lo..lim : x >= 1 /\ x <= 3 => m[x][pos] <= 2
I71 == \A x \in lo..lim : x >= 1 /\ x <= 3 => m[1][x] <= 2
I73 == \A x \in lo..lim : x >= 1 /\ x <= 3 => m[x][s[x]] <= 2
I74 == \A x \in net : [m EXCEPT ![1][2] = @ + x.k][1][2] <= lim + 2
I75 == \A x \in net : [node[cur] EXCEPT !.term = @ + x.k].term <= lim + 2
I76 == f \in [Node -> 0..2]
I77 == node[cur].term \in 0..2 /\ D \subseteq 0..5
I78 == [node EXCEPT ![cur].term = 0][cur] \in Rec
I79 == (IF q = 0 THEN node[cur] ELSE node[CHOOSE n \in Node : TRUE]) \in Rec
A1 == [][\A x \in D : UNCHANGED (x <= lim)]_vars
A2 == [][ENABLED(lim' = lim + 1 /\ lim < 5 /\ UNCHANGED <<node, net, s, m, cur, pos, lo, f, D, T, K, q>>) => lim' < 6]_vars
A3 == [][\A x \in D : x \in 1..Len(s) /\ x \in 1..Len(s') => s'[x] >= s[x]]_vars
A4 == [][q = q' => \A x \in D : x <= lim' ]_vars
A5 == [][q # q' => \A x \in D : x <= lim]_vars
A6 == [][(q = 0 => \A x \in D : x <= lim)']_vars
A7 == [][(q = 0)' => \A x \in D : x <= lim']_vars
A8 == [][LET y == lim IN \A x \in D : x <= y']_vars
A9 == [][\A x \in D : LET y == lim IN x <= y']_vars
A10 == [][\A x \in D : LET y == lim' IN x <= y]_vars
A11 == [][\A x \in D : Apply(LAMBDA z : z <= lim', x)]_vars
A12 == [][\A x \in net : At(s, x.i)' <= 2]_vars
A13 == [][\A x \in net : (m[x.i])'[pos] <= 2]_vars
A14 == [][\A x \in net : m'[x.i][pos'] <= 2]_vars
A15 == [][node'[cur] \in Rec]_vars
A16 == [][J2!Step]_vars
A17 == [][\A x \in net : x.k = lim' => x.i = pos]_vars
A18 == [][\A x \in D : x <= lim /\ q' # q]_<<lim, pos>>
A19 == [][\A n \in Node : f'[n] # f[n] => f'[n] <= f[n] + 1 /\ n = cur]_f
A20 == [][\A n \in Node : f'[n] > f[n] => \A x \in D : x <= f'[n] + 3]_vars
A21 == [][\A x \in lo..lim' : x \in DOMAIN s => s[x] # 3]_<<pos, cur>>
A22 == [][\A x \in lo..lim' : x \in DOMAIN s /\ x \in DOMAIN s' => (s[x])' # 3 \/ s[x] = 3]_vars
A23 == [][\A x \in D' : x \in D \/ x <= lim]_vars
A24 == [][\A x \in D : x \in D' \/ x = lo]_vars
B1 == lo = 1 /\ [][lim' # lim + 1]_vars
B2 == [](lim < 6) /\ [][lim' # 3]_vars
====
