--------------------------- MODULE AssumeFails ---------------------------
\* An assumption about a constant is false.
EXTENDS Naturals

CONSTANT Size

ASSUME SizeIsPositive == Size > 0

VARIABLE count

Init == count = 0

Next == count' = 1 - count

Spec == Init /\ [][Next]_count
===========================================================================
