---- MODULE P ----
EXTENDS Integers, Sequences, FiniteSets
CONSTANT C
VARIABLE a, b
Inv == \A x \in b : x <= a
Inv2 == a < 4
Inv3 == \A x \in b : x <= C
Step == \A x \in b : x <= a'
EnStep == a' = a + 1 /\ a < 3
====
