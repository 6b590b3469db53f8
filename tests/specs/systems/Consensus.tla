------------------------------ MODULE Consensus ------------------------------
(* What agreement means: at most one value is ever chosen.                    *)
EXTENDS FiniteSets, Naturals

CONSTANT Value
VARIABLE chosen

Init == chosen = {}
Choose(v) == chosen = {} /\ chosen' = {v}
Next == \E v \in Value : Choose(v)
Spec == Init /\ [][Next]_chosen

AtMostOne == Cardinality(chosen) <= 1
==============================================================================
