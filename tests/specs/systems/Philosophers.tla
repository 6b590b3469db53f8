---------------------------- MODULE Philosophers ----------------------------
(* Philosophers round a table, a fork between any two. Each picks up one fork *)
(* after the other; which one first is an operator that a cfg may change.     *)
EXTENDS Integers

CONSTANT Seats

VARIABLES forks, hungry

vars == <<forks, hungry>>

Seat     == 0..Seats - 1
Nobody   == -1
Left(p)  == p
Right(p) == (p + 1) % Seats
Holds(p) == {f \in {Left(p), Right(p)} : forks[f] = p}

\* All but one are left-handed, so that no circle of waiting can close.
First(p) == IF p = 0 THEN Right(p) ELSE Left(p)
Greedy(p) == Left(p)
Second(p) == CHOOSE f \in {Left(p), Right(p)} : f # First(p)

Init == /\ forks = [f \in Seat |-> Nobody]
        /\ hungry = {}

Hunger(p) ==
    /\ p \notin hungry
    /\ hungry' = hungry \cup {p}
    /\ UNCHANGED forks

PickUp(p) ==
    /\ p \in hungry
    /\ LET wanted == IF Holds(p) = {} THEN First(p) ELSE Second(p) IN
         /\ forks[wanted] = Nobody
         /\ forks' = [forks EXCEPT ![wanted] = p]
    /\ UNCHANGED hungry

PutDown(p) ==
    /\ Holds(p) = {Left(p), Right(p)}
    /\ forks' = [f \in Seat |-> IF f \in Holds(p) THEN Nobody ELSE forks[f]]
    /\ hungry' = hungry \ {p}

Next == \E p \in Seat : Hunger(p) \/ PickUp(p) \/ PutDown(p)

Spec == Init /\ [][Next]_vars

TypeOK == /\ forks \in [Seat -> Seat \cup {Nobody}]
          /\ hungry \subseteq Seat

Eating(p)         == p \in hungry /\ Holds(p) = {Left(p), Right(p)}
NeighboursDoNot   == \A p \in Seat : ~(Eating(p) /\ Eating(Right(p)))
OwnForks          == \A f \in Seat : forks[f] # Nobody => f \in {Left(forks[f]), Right(forks[f])}
SomebodyCanAlways == \E p \in Seat : ENABLED (Hunger(p) \/ PickUp(p) \/ PutDown(p))
=============================================================================
