------------------------------ MODULE Hungry ------------------------------
\* Each state is a set of sets: a small heap is full at once.
EXTENDS Naturals, FiniteSets

VARIABLE family

Init == family = {}

Grow == family' = {s \cup {Cardinality(family)} : s \in SUBSET (1..22)}

Next == Grow

Spec == Init /\ [][Next]_family
===========================================================================
