--------------------------- MODULE LongValues ---------------------------
\* Values that TLC prints over several lines.
EXTENDS Naturals, Sequences, TLC

CONSTANTS alpha, beta, gamma

VARIABLES table, count

Node == {alpha, beta, gamma}

Init ==
  /\ count = 0
  /\ table = [n \in Node |-> [log |-> << >>, currentTerm |-> 0, committedIndex |-> 0, text |-> "a /\\ b = c"]]

Write(n) ==
  /\ count < 3
  /\ count' = count + 1
  /\ table' = [table EXCEPT ![n].log = Append(@, [term |-> count, value |-> "v"])]

Next == \E n \in Node : Write(n)

Spec == Init /\ [][Next]_<<table, count>>

Short == \A n \in Node : Len(table[n].log) < 3
===========================================================================
