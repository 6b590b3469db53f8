----------------------------- MODULE Endless -----------------------------
\* More states than any test will wait for.
EXTENDS Naturals, Sequences

VARIABLES tape, other

vars == <<tape, other>>

Init == tape = << >> /\ other = << >>

Write == Len(tape) < 40 /\ \E symbol \in 0..9 : tape' = Append(tape, symbol) /\ UNCHANGED other

WriteOther == Len(other) < 40 /\ \E symbol \in 0..9 : other' = Append(other, symbol) /\ UNCHANGED tape

Next == Write \/ WriteOther

Spec == Init /\ [][Next]_vars

Bounded == Len(tape) <= 40
===========================================================================
