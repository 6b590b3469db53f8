-------------------------------- MODULE Ways --------------------------------
(* Two initial states, a step that leaves open where it leads, an argument from a set without an end, a formula that *)
(* has no value in some states, and both kinds of constraints.                                                       *)
EXTENDS Naturals

VARIABLES at, fuel

Init == at \in {0, 10} /\ fuel = 3

Move == fuel > 0 /\ at' \in {at + 1, at + 2} /\ fuel' = fuel - 1
Refuel(n) == n > fuel /\ fuel' = n /\ UNCHANGED at
Divide == at' = 10 \div (fuel - 2) /\ UNCHANGED fuel

Next == Move \/ (\E n \in Nat : Refuel(n)) \/ Divide

NearBy == at < 12
LittleFuel == fuel' < 6
NeverEmpty == fuel > 0
=============================================================================
