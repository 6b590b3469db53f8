---------------------------- MODULE Parallel ----------------------------
\* Two actions join the same two states, and one value needs every escape.
EXTENDS Naturals

VARIABLES place, note

vars == <<place, note>>

Init == place \in {0, 1} /\ note = "start"

Walk == place = 0 /\ place' = 1 /\ note' = "a \"b\" \\ c /\\ d = e"

Ride == place = 0 /\ place' = 1 /\ note' = "a \"b\" \\ c /\\ d = e"

Return == place = 1 /\ place' = 0 /\ note' = "start"

Rest == UNCHANGED vars

Next == Walk \/ Ride \/ Return \/ Rest

Spec == Init /\ [][Next]_vars
===========================================================================
