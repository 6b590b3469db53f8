------------------------- MODULE EvaluationFails -------------------------
\* A sequence is read outside its domain at the third step.
EXTENDS Naturals, Sequences

VARIABLES count, seen

Table == <<10, 20>>

Init == count = 0 /\ seen = 10

Read == count' = count + 1 /\ seen' = Table[count + 1]

Next == Read

Spec == Init /\ [][Next]_<<count, seen>>
===========================================================================
