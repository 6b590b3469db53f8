---------------------- MODULE InitCannotBeEvaluated ----------------------
\* A sequence is read outside its domain: by Init, or by an invariant of the initial state.
EXTENDS Naturals

VARIABLE count

Init == count = <<1>>[2]

InitFine == count = 0

Next == count' = count

Spec == Init /\ [][Next]_count

SpecFine == InitFine /\ [][Next]_count

Reads == <<1>>[count + 2] = 1
===========================================================================
