---- MODULE Four ----
\* Elements with a key, names in another order, functions whose domain changes. See tests/tla/test_footprints.py.
EXTENDS Integers, Sequences, FiniteSets
CONSTANTS Node
VARIABLES h, net, D, lim, pos, q, rec, ap
vars == <<h, net, D, lim, pos, q, rec, ap>>
Init == /\ h = << >> /\ net = {} /\ D = {} /\ lim = 5 /\ pos = 1 /\ q = 0
        /\ rec = [n \in Node |-> [log |-> <<0>>, commit |-> 0, term |-> 0]]
        /\ ap = [n \in Node |-> [fsm |-> [items |-> <<[k |-> 1, i |-> 1]>>, w |-> 0]]]
Next == UNCHANGED vars
Has(i) == i \in DOMAIN h
Items(n) == {ap[n].fsm.items[i] : i \in 1..Len(ap[n].fsm.items)}
Known(x) == \E m \in net : m.k = x.k /\ m.i = x.i
Without(r) == [f \in DOMAIN r \ {"log"} |-> r[f]]
Is(i) == h[i] = 3 /\ ~\E m \in net : m.k = i

I1 == \A x \in D : \A m \in net : m.k = x => m.i <= 2
I2 == \A x \in D : (\E m \in net : m.k = x) => \E m \in net : m.k = x /\ m.i <= 2
I3 == \A m \in net : \A o \in net : m.k = o.k => m.i = o.i
I4 == \A m \in net : \A o \in net : o.k = m.i => \E p \in net : p.k = o.k /\ p.i >= m.i
I5 == \A i \in DOMAIN h : h[i] = 3 => \A j \in DOMAIN h : h[j] = 3 => i = j
I6 == \A i \in DOMAIN h : Has(i - 1) => h[i - 1] <= h[i]
I7 == \A i, j \in DOMAIN h : i < j /\ h[i] = h[j] => ~\E m \in net : m.k = i /\ m.i = 1
I8 == \A x \in D : x \notin DOMAIN h \/ h[x] <= 2
I9 == \A n \in Node : \A i \in 2..Len(ap[n].fsm.items) : ap[n].fsm.items[i - 1].k <= ap[n].fsm.items[i].k
I10 == \A n, o \in Node : \A a \in Items(n) : \A b \in Items(o) : b.k = a.k => b.i = a.i
I11 == \A n \in Node : \A a \in Items(n) : \A m \in net : m.k = a.k /\ m.i # a.i => ~Known(a)
I12 == \A n \in Node : Without(rec[n]) \in [commit : 0..2, term : 0..3]
I13 == q = 0 => \A x \in D : Cardinality({m \in net : m.k = x + 1 /\ m.i > 1}) <= 1
I14 == \A x \in D : \A m \in net : m.k = x + q => m.i <= 2
I15 == \A x \in D : \A y \in D : x <= y /\ Has(x) /\ Has(y) => h[x] <= h[y] + 1
I16 == \A x \in D : \A m \in {o \in net : o.i > pos} : m.k = x => m.i # lim
I17 == \A x \in D : x < 3 \/ \A y \in DOMAIN h : y <= x \/ h[y] < 3
I18 == \A i \in DOMAIN h : Is(i) => \A j \in DOMAIN h : Is(j) => i = j
I19 == \A x \in D : x < lim => \A m \in net : m.k < lim => \A y \in D : y = m.i => x + y # m.k
I20 == \A x \in D : \A m \in net : m.i = 1 /\ m.k = x => h = << >> \/ q < 2
I21 == \A m \in net : \A x \in 1..m.i : x # lim
I22 == \A n \in Node : \A m \in net : m.k <= Len(ap[n].fsm.items) /\ m.k > 0 => ap[n].fsm.items[m.k].i <= m.i
I23 == \A n \in Node : Without(rec[n]) \in [commit : 0..2, log : Seq(0..3), term : 0..3] \/ q < 3
I24 == \A i \in DOMAIN h \ (0..pos) : h[i] <= 2
I25 == \A m \in net : \E o \in net : o.i = m.i /\ (o.k > lim => m.k > lim)
A1 == [][\A i \in DOMAIN h : i > lim' => i \in DOMAIN h' /\ h'[i] = h[i]]_vars
A2 == [][\A x \in D : (\E m \in net : m.k = x) => \E m \in net' : m.k = x /\ m.i <= 3]_vars
A3 == [][\A x \in D' : \A m \in net' : m.k = x => m.i <= lim]_vars
A4 == [][\A m \in net : Known(m)' => m.k <= lim']_vars
====
