---------------------------- MODULE Deadlock ----------------------------
\* Counts to two and then has no successor.
EXTENDS Naturals

VARIABLE count

Init == count = 0

Increment == count < 2 /\ count' = count + 1

Next == Increment

Spec == Init /\ [][Next]_count
===========================================================================
