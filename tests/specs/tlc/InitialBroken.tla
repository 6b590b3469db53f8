-------------------------- MODULE InitialBroken --------------------------
\* The invariant is false in the initial state already.
EXTENDS Naturals

VARIABLE count

Init == count = 0

Next == count' = (count + 1) % 3

Spec == Init /\ [][Next]_count

NeverZero == count # 0
===========================================================================
