------------------------------ MODULE Holds ------------------------------
\* Two clocks that tick to a bound and start again: every property holds.
EXTENDS Naturals

CONSTANT Bound

VARIABLES left, right

vars == <<left, right>>

TypeOK == left \in 0..Bound /\ right \in 0..Bound

Init == left = 0 /\ right = 0

TickLeft == left < Bound /\ left' = left + 1 /\ UNCHANGED right

TickRight == right < Bound /\ right' = right + 1 /\ UNCHANGED left

Restart == left = Bound /\ right = Bound /\ left' = 0 /\ right' = 0

Next == TickLeft \/ TickRight \/ Restart

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

GrowsOrRestartsProp == [][left' >= left \/ left' = 0]_vars

ComesBack == []<>(left = 0)
===========================================================================
