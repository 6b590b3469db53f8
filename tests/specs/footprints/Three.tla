---- MODULE Three ----
\* Records of several kinds in one set, functions on 0..2, paths longer than a footprint, recursion.
EXTENDS Integers, Sequences, FiniteSets
CONSTANTS Node, NoNode
VARIABLES rs, g, dp, lg, lim, q, tup, set2
vars == <<rs, g, dp, lg, lim, q, tup, set2>>
Init == rs = {} /\ g = [i \in 0..2 |-> 1] /\ dp = [n \in Node |-> [a |-> [b |-> [c |-> <<1,1>>, e |-> 1]]]]
   /\ lg = <<[t |-> 1, v |-> "a"], [t |-> 1, v |-> "a"]>> /\ lim = 4 /\ q = 0 /\ tup = <<1, <<1, 1>>, [z |-> 1]>> /\ set2 = {}
Next == UNCHANGED vars
RECURSIVE Up(_)
Up(i) == IF i > Len(lg) THEN TRUE ELSE lg[i].t <= lim - 2 /\ Up(i + 1)
RECURSIVE UpS(_, _)
UpS(i, sq) == IF i > Len(sq) THEN TRUE ELSE sq[i].t <= lim - 2 /\ UpS(i + 1, sq)
I1 == \A r \in rs : r.kind = "a" => r.k <= lim
I2 == \A r \in rs : "k" \in DOMAIN r => r.k # lim
I3 == \A r \in rs : r.kind = "b" /\ r.i \in 0..2 => g[r.i] <= 2
I4 == \A i \in 0..2 : g[i] <= 2
I5 == \A i \in q..2 : g[i] <= 2
I6 == \A n \in Node : \A i \in 1..2 : dp[n].a.b.c[i] <= 2
I7 == \A n \in Node : \A i \in 1..Len(dp[n].a.b.c) : dp[n].a.b.c[i] <= 2
I8 == \A n \in Node : dp[n].a.b.e <= 2
I9 == \A n \in Node : \A i \in 1..dp[n].a.b.e : i # lim
I10 == \A i \in 1..Len(lg) : lg[i].t <= 2 /\ (i >= Len(lg) \/ lg[i].v = "b" \/ lg[i].t <= lg[i+1].t)
I11 == Up(1)
I12 == UpS(1, lg)
I13 == \A i \in 1..Len(lg) : UpS(i, lg)
I14 == \A r \in rs : r.kind = "a" /\ r.k \in 1..Len(lg) => lg[r.k].v = "a"
I15 == \A r \in rs : r.kind = "a" /\ r.k \in 1..Len(lg) => (lg[r.k] = [t |-> 1, v |-> "a"] \/ lg[r.k].t > 1)
I16 == \A r \in rs : \A x \in set2 : r.kind = "a" => r.k # x
I17 == \A x \in set2 : x.w = NoNode \/ x.w <= lim
I17b == \A x \in set2 : x.w = lim => q = 0
I18 == tup[1] <= 2 /\ tup[2][1] <= 2 /\ tup[3].z <= 2
I20 == \A e \in {lg[i] : i \in 1..Len(lg)} : e.t <= lim - 2
I21 == \A e \in {[ix |-> i, e |-> lg[i]] : i \in 1..Len(lg)} : e.ix > 1 => lg[e.ix - 1].t <= e.e.t
I22 == \A r \in rs : ENABLED (q' = r.i /\ r.i <= lim - 3)
I22b == \A i \in q..lim : ENABLED (q' = i /\ i < 6)
I23 == \A r \in rs : r.kind = "b" /\ r.i \in 1..2 => dp[CHOOSE n \in Node : TRUE].a.b.c[r.i] <= 2
I24 == \A r \in rs : r.kind = "b" => \A n \in Node : r.i \notin 1..2 \/ dp[n].a.b.c[r.i] <= 2
I25 == \A r \in rs : r.kind = "b" => (LET F[i \in Nat] == IF i = 0 THEN g[0] ELSE F[i-1] + lim IN F[r.i]) <= 13
I26 == dp \in [Node -> [a : [b : [c : Seq(1..2), e : 0..2]]]]
I27 == \A n \in Node : dp[n] \in [a : [b : [c : Seq(1..2), e : 0..2]]]
I28 == \A n \in Node : dp[n].a \in [b : [c : Seq(1..2), e : 0..2]] /\ dp[n].a.b \in [c : Seq(1..2), e : 0..2]
I29 == tup[3] \in [z : 0..2]
I30 == \A i \in 1..Len(lg) : lg[i] \in [t : 0..2, v : {"a", "b"}]
I31 == \A r \in rs : r.kind = "a" => r.k <= lg[1].t + 3
I32 == \A r \in rs : r.kind = "a" => r.k - 1 + 3 <= Len(lg) + 4
I33 == \A i \in lim..q : i = 0
I34 == \A i \in 1..Len(lg) : lg[i] # lg[Len(lg)] \/ lg[i].t <= 2
I35 == \A r, x \in rs : r.kind = "a" /\ x.kind = "b" => r.k - x.i # lim
I36 == \A r \in rs, x \in set2 : r.kind = "a" /\ x.w # NoNode => r.k <= x.w + 3
I37 == \A i, j \in 1..Len(lg) : i < j => lg[i].t <= lg[j].t + 1
I38 == \A n \in Node, r \in rs : r.kind = "b" /\ r.i \in 1..2 => dp[n].a.b.c[r.i] <= 2
I39 == q = 0 => \A r, x \in rs : r.kind = "a" /\ x.kind = "b" => r.k <= x.i + lim
I40 == \A i \in q..lim, j \in 1..Len(lg) : i = j => lg[j].t <= 2
A1 == [][\A i \in 1..Len(lg) : i <= Len(lg') => lg'[i].t >= lg[i].t]_lg
A2 == [][\A r \in rs \ rs' : r.kind = "a" => r.k <= lim']_vars
A3 == [][\A i \in q..q' : i < lim]_q
A4 == [][\A i \in (q')..lim : (i # 2 \/ q' = 0)]_<<q>>
A5 == [][rs # rs' => \A r \in rs' : r.kind = "a" => r.k <= lim']_<<lim, rs>>
A6 == [][\A i \in 0..2 : g'[i] <= g[i] + 1]_g
A7 == [][\A r \in rs : r.kind = "b" => g'[r.i] <= g[r.i] + 1]_g
A8 == [][\A r \in rs, x \in rs' : r.kind = "a" /\ x.kind = "b" => r.k <= x.i + 4]_rs
A9 == [][\A x, r \in rs' \ rs : r.kind = "a" /\ x.kind = "b" => r.k <= x.i + lim']_vars
====
