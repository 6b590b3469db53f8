----------------------------- MODULE MessageBag -----------------------------
(* Messages in a bag, some lost, some delivered twice: bags as functions,  *)
(* wrappers over state-level sets, disjunctions and exists as guards, so   *)
(* that TLC generates the same successor several times.                    *)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS Node, Max

VARIABLES bag, seen, sent

vars == <<bag, seen, sent>>

Copies(b) == LET RECURSIVE Sum(_)
                 Sum(S) == IF S = {} THEN 0
                           ELSE LET m == CHOOSE m \in S : \A k \in S : m.id <= k.id IN b[m] + Sum(S \ {m})
             IN  Sum(DOMAIN b)

Add(b, m)  == IF m \in DOMAIN b THEN [b EXCEPT ![m] = @ + 1] ELSE b @@ (m :> 1)
Drop(b, m) == IF b[m] > 1 THEN [b EXCEPT ![m] = @ - 1] ELSE [k \in DOMAIN b \ {m} |-> b[k]]

Init == /\ bag = <<>>
        /\ seen = [n \in Node |-> {}]
        /\ sent = 0

Inbox(n) == {m \in DOMAIN bag : m.to = n}

Send(n, k) ==
    /\ sent < Max
    /\ sent' = sent + 1
    /\ bag' = Add(bag, [id |-> sent, to |-> k])
    /\ UNCHANGED seen

ReceiveOf(n, m) ==
    /\ bag' = Drop(bag, m)
    /\ seen' = [seen EXCEPT ![n] = @ \cup {m.id}]
    /\ UNCHANGED sent
Receive(n) == \E m \in Inbox(n) : ReceiveOf(n, m)

Lose(n) == \E m \in Inbox(n) : bag' = Drop(bag, m) /\ UNCHANGED <<seen, sent>>

Duplicate(n) ==
    \E m \in Inbox(n) :
      /\ Copies(bag) < Max
      /\ bag' = Add(bag, m)
      /\ UNCHANGED <<seen, sent>>

\* A guard that holds in several ways, and an assignment that is repeated.
Forget(n) ==
    /\ \/ Cardinality(seen[n]) > 1
       \/ \E k \in seen[n] : k > 0
       \/ \E k \in Node \ {n}, j \in seen[n] : j \in seen[k]
    /\ \/ seen' = [seen EXCEPT ![n] = {}]
       \/ seen' = [k \in Node |-> IF k = n THEN {} ELSE seen[k]]
    /\ \A k \in Node : k # n => \E j \in {0, 1} : j < 2
    /\ UNCHANGED <<bag, sent>>

Next == \/ \E n, k \in Node : Send(n, k)
        \/ \E n \in Node : Receive(n) \/ Lose(n)
        \/ \E n \in Node : Duplicate(n)
        \/ \E n \in Node : Forget(n)

TypeOK == /\ \A m \in DOMAIN bag : bag[m] \in 1..Max
          /\ seen \in [Node -> SUBSET (0..Max)]
=============================================================================
