------------------------------- MODULE TLCExt -------------------------------
(***************************************************************************)
(* What TLC 1.8 has from Java in its module TLCExt, for a TLC that has no  *)
(* such module.  A definition without a bound is one that TLC alone could  *)
(* give a value; evaluating it is an error.                                *)
(***************************************************************************)
LOCAL INSTANCE TLC

AssertEq(a, b) ==
    IF a = b THEN TRUE
    ELSE PrintT("Assertion failed") /\ PrintT(a) /\ PrintT(b) /\ FALSE

TLCNoOp(val) == val

\* The value of the expression, which is kept for when the closure is the same again.
TLCCache(expression, closure) == expression

\* Evaluates the expression in a simulation alone.
TLCDefer(expression) == TRUE

TLCGetOrDefault(key, defaultVal) == CHOOSE val : TRUE
TLCGetAndSet(key, Op(_, _), val, defaultVal) == CHOOSE old : TRUE
TLCModelValue(str) == CHOOSE val : TRUE
TLCEvalDefinition(definitionName) == CHOOSE val : TRUE
TLCFP(var) == CHOOSE fingerprint : TRUE
AssertError(err, exp) == CHOOSE failed : TRUE
PickSuccessor(exp) == IF exp THEN TRUE ELSE CHOOSE picked : TRUE
Trace == CHOOSE trace : TRUE
CounterExample == CHOOSE graph : TRUE
ToTrace(CE) == CHOOSE trace : TRUE
=============================================================================
