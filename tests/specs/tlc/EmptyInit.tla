---------------------------- MODULE EmptyInit ----------------------------
\* No state satisfies Init: everything would hold of nothing.
EXTENDS Naturals

VARIABLE count

Init == count = 0 /\ count = 1

Next == count' = count

Spec == Init /\ [][Next]_count

Anything == count = 5
===========================================================================
