------------------------------ MODULE Lasso ------------------------------
\* Lead-in 0, then the cycle 1 -> 2 -> 1: the state 3 need never be reached.
EXTENDS Naturals

VARIABLE place

Init == place = 0

Enter == place = 0 /\ place' = 1

Forth == place = 1 /\ place' = 2

Back == place = 2 /\ place' = 1

Leave == place = 2 /\ place' = 3

Stay == place = 3 /\ UNCHANGED place

Next == Enter \/ Forth \/ Back \/ Leave \/ Stay

Spec == Init /\ [][Next]_place /\ WF_place(Next)

SpecUnfair == Init /\ [][Next]_place

Arrives == <>(place = 3)

Returns == []<>(place = 0)

StartsAtOne == place = 1

Begins == <>(place = 1)
===========================================================================
