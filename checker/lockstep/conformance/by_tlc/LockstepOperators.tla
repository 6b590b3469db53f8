------------------------- MODULE LockstepOperators --------------------------
(***************************************************************************)
(* What the modules make use of that `lockstep check --engine tlc` writes. *)
(* They take it by a named INSTANCE, so no name here can clash with one of *)
(* the spec.                                                               *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

Before(i, j) == i < j
Negative(i)  == -i

\* The function of these pairs: they need not be of one type.
Function(pairs) ==
    [key \in {pairs[k][1] : k \in DOMAIN pairs} |->
        pairs[CHOOSE k \in DOMAIN pairs : pairs[k][1] = key][2]]

\* Is f, a function, a sequence?  Its domain is compared as text: TLC compares no name with a number.
IsSequence(f) ==
    LET D == DOMAIN f IN
    ToString({x : x \in D}) = ToString({k : k \in 1..Cardinality(D)})

\* Is v to be compared key by key, as part of a function, and not whole?
HasKeys(v, modelValues) == IF \E m \in modelValues : v = m THEN FALSE ELSE ~IsSequence(v)

\* The same for an object whose keys are integers: of a sequence they are the indices.
IsFunction(v, modelValues) == IF \E m \in modelValues : v = m THEN FALSE ELSE TRUE

\* What a key stands for that writes an integer: this integer, if it is in the domain of f.  The domain is
\* compared as text, as above.
Key(f, key, number, text) == IF \E x \in DOMAIN f : ToString(x) = text THEN number ELSE key

Has(f, key) == key \in DOMAIN f

\* TRUE where v has a value, all of it.
Evaluated(v) == ToString(v) # ""

-----------------------------------------------------------------------------
(* Messages.  A channel is a sequence, or a bag: [message -> copies].      *)

Bag(channel) ==
    IF IsSequence(channel)
    THEN [m \in {channel[k] : k \in DOMAIN channel} |->
            Cardinality({k \in DOMAIN channel : channel[k] = m})]
    ELSE channel

Bags(channels) == [p \in DOMAIN channels |-> Bag(channels[p])]

RECURSIVE CopiesTo(_, _, _)
CopiesTo(S, bags, m) ==
    IF S = {} THEN 0
    ELSE LET p == CHOOSE q \in S : TRUE
         IN  (IF m \in DOMAIN bags[p] THEN bags[p][m] ELSE 0) + CopiesTo(S \ {p}, bags, m)

Copies(bags, m) == CopiesTo(DOMAIN bags, bags, m)

\* Of each message of outboxAfter, how many copies are new.
Added(outboxBefore, before, outboxAfter, after) ==
    LET bagsBefore == Bags(before)
        bagsAfter  == Bags(after)
        Was(m)     == IF m \in outboxBefore THEN Copies(bagsBefore, m) ELSE 0
        New(m)     == Copies(bagsAfter, m) - Was(m)
    IN  [m \in outboxAfter |-> IF New(m) > 0 THEN New(m) ELSE 0]

NoneBut(added, listed) == \A m \in DOMAIN added : m \notin listed => added[m] = 0

=============================================================================
