------------------------- MODULE InvariantBroken -------------------------
\* A counter that passes its limit at the third step.
EXTENDS Naturals, Sequences

VARIABLES count, history

vars == <<count, history>>

Init == count = 0 /\ history = << >>

Increment ==
  /\ count < 5
  /\ count' = count + 1
  /\ history' = Append(history, [step |-> count, word |-> "a \"quoted\" \\ word", marks |-> {1, 2}])

Next == Increment

Spec == Init /\ [][Next]_vars

BelowThree == count < 3
===========================================================================
