-------------------------- MODULE SemanticError --------------------------
EXTENDS Naturals

VARIABLE count

Init == count = 0

Next == count' = counter + 1
===========================================================================
