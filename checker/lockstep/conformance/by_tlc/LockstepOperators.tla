------------------------- MODULE LockstepOperators --------------------------
(***************************************************************************)
(* What the modules make use of that `lockstep check --engine tlc` writes. *)
(* They take it by a named INSTANCE, so no name here can clash with one of *)
(* the spec.                                                               *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

Before(i, j) == i < j
Increased(i) == i + 1
Negative(i)  == -i

\* The function of these pairs: they need not be of one type.
Function(pairs) ==
    [key \in {pairs[k][1] : k \in DOMAIN pairs} |->
        pairs[CHOOSE k \in DOMAIN pairs : pairs[k][1] = key][2]]

\* Is f, a function, a sequence?  Its domain is asked for as text: TLC compares no name with a number.
IsSequence(f) ==
    LET D == DOMAIN f IN
    ToString({x : x \in D}) = ToString({k : k \in 1..Cardinality(D)})

\* Is v to be compared key by key, as part of a function, and not whole?
HasKeys(v, modelValues) == IF \E m \in modelValues : v = m THEN FALSE ELSE ~IsSequence(v)

\* The same for an object whose keys are integers: of a sequence they are the indices.
IsFunction(v, modelValues) == IF \E m \in modelValues : v = m THEN FALSE ELSE TRUE

\* What a key stands for that writes an integer: this integer, if it is in the domain of f.  The domain is asked
\* for as text, as above.
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

NoneBut(added, told) == \A m \in DOMAIN added : m \notin told => added[m] = 0

-----------------------------------------------------------------------------
(* Logs that are searched, each number log by itself.  TLC keeps, while it *)
(* searches: how many lines were explained at most, after which positions; *)
(* what was seen there that no line shows; and which properties had failed *)
(* at the end.  Each is printed when it is new.  All these operators hold. *)

Furthest(log)  == 9000 + 4 * log
Positions(log) == 9001 + 4 * log
Seen(log)      == 9002 + 4 * log
Ends(log)      == 9003 + 4 * log

NothingKept(logs) ==
    \A log \in 1..logs : /\ TLCSet(Furthest(log), 0) /\ TLCSet(Positions(log), {})
                         /\ TLCSet(Seen(log), {})    /\ TLCSet(Ends(log), {})

RECURSIVE TotalFrom(_, _)
TotalFrom(at, k) == IF k > Len(at) THEN 0 ELSE at[k] + TotalFrom(at, k + 1)

\* How far all logs were read.
Total(at) == TotalFrom(at, 1)

KeepPositions(who, log, at) ==
    LET total == Total(at) IN
    IF total > TLCGet(Furthest(log))
    THEN /\ TLCSet(Furthest(log), total) /\ TLCSet(Positions(log), {at}) /\ TLCSet(Seen(log), {})
         /\ PrintT(<<who, "far", log, total, at>>)
    ELSE IF total = TLCGet(Furthest(log)) /\ at \notin TLCGet(Positions(log))
    THEN /\ TLCSet(Positions(log), TLCGet(Positions(log)) \cup {at})
         /\ PrintT(<<who, "far", log, total, at>>)
    ELSE TRUE

\* Keep a value as text: those of one line need not be of one kind.
KeepSeen(who, log, at, claim, value) ==
    LET seen == <<claim, ToString(value)>> IN
    IF Total(at) = TLCGet(Furthest(log)) /\ seen \notin TLCGet(Seen(log))
    THEN /\ TLCSet(Seen(log), TLCGet(Seen(log)) \cup {seen})
         /\ PrintT(<<who, "shows", log, Total(at), claim, value>>)
    ELSE TRUE

KeepEnd(who, log, failed) ==
    IF failed \notin TLCGet(Ends(log))
    THEN TLCSet(Ends(log), TLCGet(Ends(log)) \cup {failed}) /\ PrintT(<<who, "end", log, failed>>)
    ELSE TRUE

\* Is what a line tells in the set of its parameter?  It is a string; where the spec has model values, and this is
\* none of them, TLC prints so and stops.
Allowed(told, S, modelValues, who, param, claim) ==
    IF told \in S THEN TRUE
    ELSE IF S # {} /\ S \subseteq modelValues
    THEN PrintT(<<who, "foreign", param, claim, S>>) /\ Assert(FALSE, "a word is no model value")
    ELSE FALSE

=============================================================================
