------------------------------ MODULE Counter ------------------------------
(* Instanced by Registers.                                                 *)
EXTENDS Naturals
CONSTANTS Step, Limit, Op(_, _)
VARIABLE value
Below == value < Limit
Raised(n) == Op(value, n * Step)
Raise(n) == Below /\ value' = Raised(n)
Reset == /\ ~Below
         /\ value' = 0
=============================================================================
