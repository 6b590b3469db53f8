------------------------ MODULE EndlessRecursion ------------------------
\* The invariant calls itself for ever.
EXTENDS Naturals

VARIABLE count

RECURSIVE Climb(_)
Climb(n) == 1 + Climb(n + 1)

Init == count = 0

Next == count' = 1 - count

Spec == Init /\ [][Next]_count

Bounded == Climb(count) > 0
===========================================================================
