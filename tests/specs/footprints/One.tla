---- MODULE One ----
\* Forms that a property of states may take; none of it is about a protocol. See tests/tla/test_footprints.py.
EXTENDS Integers, Sequences, FiniteSets
CONSTANTS Node, NoNode, Big
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

I1 == \A i \in 1..3 : m[i][pos] <= 2
I2 == \A i \in 1..Len(s) : \A n \in {cur} : i <= Len(node[cur].log) => node[cur].log[i] <= 2
I2b == \A i \in 1..2 : Len(node[cur].log) < 2 \/ node[cur].log[i] <= 2
I2c == \A n \in Node : \A i \in 1..2 : i \in DOMAIN Log => E(i) <= 2
I2d == \A i \in 1..3 : At(m[i], pos) <= 2
I2e == \A i \in 1..3 : m[pos][i] <= 2
I2f == \A x \in net : m[pos][x.i] <= 2
I4 == node[cur] \in Rec
I4b == Self \in Rec
I4c == \A n \in Node : node[n] \in RecP(2)
I7 == \A <<a>> \in T : a # Big
I7b == \A a \in T : a # <<Big>>
I9 == \A x \in D : x <= lim
I10 == \A x \in net : x.k + 1 <= lim
I11 == \A x \in net : Le(x.k)
I12 == \A x \in net : LET y == x.k IN y <= lim + lo
I13 == \A x \in net : LET L == lim IN x.k <= L
I14 == \A x \in net : LET z == lim + 1 IN LET w == z IN x.k - 1 < w
I15 == \A x \in net : Apply(LAMBDA y : y.k <= lim, x)
I16 == \A x \in net : Apply(Le, x.k)
I17 == \A x \in net : x.k # lim
I18 == \A x \in net : ~(x.k = pos)
I19 == q = 0 => \A x \in D : x <= lim
I20 == \A x \in D : \A y \in D : (x # y) => (x + y # lim)
I21 == \A x \in D : x <= MaxOf(D \cup {lim})
I22 == \A x \in D : x \in 1..Len(s) => s[x] <= 2
I23 == \A x \in D : (x+1) \in 1..Len(s) => s[x+1] <= 2
I24 == \A x \in D : x \in 1..Len(s) => Sum(s, x) <= 6
I25 == \A i \in lo..lim : i \in 1..Len(s) => s[i] # 3
I26 == \A i \in lo..Len(s) : i > 0 => s[i] # 3
I27 == \A i \in -1..Len(s)-lo : i+lo \in 1..Len(s) => s[i+lo] # 3
I28 == \A n \in Node : \A i \in 1..Len(node[n].log) : node[n].log[i] <= node[n].term
I29 == \A n \in Node : \A i \in 1..Len(node[n].log)-1 : node[n].log[i] <= node[n].log[i+1]
I30 == \A n, o \in Node : node[n].term = node[o].term => node[n].commit <= node[o].commit + 1
I31 == \A n \in Node : \A o \in Node \ {n} : f[n] + f[o] <= 5
I32 == \A n \in Node : \A i \in 1..node[n].commit : i <= Len(node[n].log) /\ \A o \in Node : i <= Len(node[o].log) => node[o].log[i] = node[n].log[i]
I33 == \A n \in Node : [node[n] EXCEPT !.term = @ + lim].term <= 7
I34 == \A x \in net : [s EXCEPT ![1] = @ + x.k][1] <= 5
I35 == ENABLED (q' = q + 1 /\ lim < 5 /\ UNCHANGED <<node, net, s, m, cur, pos, lim, lo, f, D, T, K>>) \/ lo = 1
I37 == \A x \in {y \in D : y > lo} : x <= lim
I38 == \A x \in {d + lo : d \in D} : x <= lim
I39 == \A x \in DOMAIN s : s[x] <= 2
I40 == \A x \in SUBSET D : Cardinality(x) <= lim - 1
I41 == \A n \in Node : \A x \in net : x.k > node[n].term => x.i <= node[n].commit + 1
I42 == \A n \in Node : n = cur => \A i \in 1..Len(node[n].log) : node[n].log[i] <= pos
I43 == \A x \in D : IF x < lim THEN x <= 4 ELSE x # pos
I44 == \A x \in D : {y \in 1..x : y = pos} = {} \/ x <= lim
I45 == \A x \in D : \E i \in 1..3 : s[i] = 3 => x > lim
I46 == \A x \in D : Len(SelectSeq(s, LAMBDA e : e > x)) <= lo
I47 == \A x \in net : K = NoNode \/ x.k <= f[K]
I48 == \A x \in net : x.k = K \/ x.k <= lim
I49 == \A x \in D : x <= node[cur].term + 2
I50 == \A x \in D : LET F[i \in 0..3] == IF i = 0 THEN 0 ELSE s[i] + F[i-1] IN F[3] + x <= 8
I51 == \A x \in D : x <= (IF q = 0 THEN lim ELSE pos + 2)
I52 == \A x \in D : 3 - x <= lim
I53 == \A x \in D : x + x <= lim + 2
I54 == \A x \in D : pos <= x + 1 /\ x - 2 <= lim
I55 == \A i \in 1..3 : \A j \in 1..3 : m[i][j] <= 2 \/ pos = 1
I56 == \A i \in 1..3 : \A j \in 1..3 : m[j][i] <= lim
I57 == \A i \in 1..3 : m[i] # m[pos] \/ i = pos \/ lim > 1
I58 == \A i \in 1..3 : m[m[i][1]][1] <= 2
I59 == \A x \in net : s[s[x.i]] <= 2
I60 == \A n \in Node : node[n].log \in Seq(0..lim)
I61 == \A p \in [Node -> {0,1}] : \A n \in Node : p[n] + f[n] <= 3
I62 == \A x \in net : x.i \in 1..Len(s) /\ s[x.i] = x.k => x.k <= lim
A1 == [][\A x \in D : (x <= lim)']_vars
A1b == [][\A x \in D : Le(x)']_vars
A1c == [][\A x \in D' : x <= lim' /\ x <= lim + 1]_vars
A2 == [][\A n \in Node : node[n].term <= node'[n].term]_vars
A3 == [][\A n \in Node : \A i \in 1..node[n].commit : node'[n].log[i] = node[n].log[i]]_vars
A4 == [][\A i \in 1..Len(s) : i <= Len(s') => s'[i] >= s[i]]_vars
A5 == [][\A x \in D : x <= lim /\ q' # q]_<<lim, pos>>
A6 == [][\A i \in 1..3 : (m[i][pos])' <= 2]_vars
A7 == [][\A x \in net' \ net : x.k <= lim']_net
A8 == [][lim' > lim]_lim
A9 == [][(\A x \in D : LeM([k |-> x]))']_vars
A10 == [][UNCHANGED lim \/ \A x \in D : x <= lim]_vars
A11 == [][\A x \in net : LeM(x)' ]_vars
A12 == [][q # q' => \A x \in net : UNCHANGED (x.k <= lim) ]_vars
A13 == [][\A i \in lo..lim' : i \in DOMAIN s' => s'[i] # 3]_vars
B1 == []Le(2) /\ [][lim' # lim + 1]_vars
====
