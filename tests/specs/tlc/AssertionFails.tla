-------------------------- MODULE AssertionFails --------------------------
\* An Assert inside an action fails at the second step.
EXTENDS Naturals, TLC

VARIABLE count

Init == count = 0

Increment ==
  /\ Assert(count < 1, "count is one or more")
  /\ count' = count + 1

Next == Increment

Spec == Init /\ [][Next]_count
===========================================================================
