-------------------- MODULE InvariantCannotBeEvaluated --------------------
\* The invariant selects a field of a number in the second state.
EXTENDS Naturals

VARIABLE count

Init == count = 0

Increment == count' = (count + 1) % 3

Next == Increment

Spec == Init /\ [][Next]_count

Selects == count = 0 \/ count.field
===========================================================================
