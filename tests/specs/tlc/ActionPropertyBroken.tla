----------------------- MODULE ActionPropertyBroken -----------------------
\* A counter that goes back, against a property of steps which says it never does.
EXTENDS Naturals

VARIABLE count

Init == count = 0

Up == count < 2 /\ count' = count + 1

Down == count = 2 /\ count' = 1

Next == Up \/ Down

Spec == Init /\ [][Next]_count

NeverDownProp == [][count' >= count]_count
===========================================================================
