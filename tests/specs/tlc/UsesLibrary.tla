--------------------------- MODULE UsesLibrary ---------------------------
\* EXTENDS a module which lies in another folder.
EXTENDS Shared

VARIABLE count

Init == count = 0

Step == count' = Advance(count)

Next == Step

Spec == Init /\ [][Next]_count

BelowLimit == count < Limit
===========================================================================
