------------------------------ MODULE Twins ------------------------------
\* Two choices of one action give the same successor: two edges with one label.
EXTENDS Naturals

VARIABLE count

Init == count = 0

Step(n) == count = 0 /\ count' = 1

Next == \E n \in {1, 2} : Step(n)

Spec == Init /\ [][Next]_count
===========================================================================
