---------------------------- MODULE LockService ----------------------------
(***************************************************************************)
(* A lock service: clients queue for one lock, the first in the queue owns *)
(* it.  Every new owner gets a fencing token higher than all before.       *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS Client, NoClient

VARIABLES queue, \* the clients that asked, the owner first
          token  \* the last fencing token

vars == <<queue, token>>

Queued(c) == \E k \in 1..Len(queue) : queue[k] = c

\* The queue becomes q; whoever is first now and was not before gets a token.
Become(q) ==
    /\ queue' = q
    /\ token' = IF q # << >> /\ (queue = << >> \/ Head(queue) # Head(q)) THEN token + 1 ELSE token

Init == queue = << >> /\ token = 0

Lock(c)   == ~Queued(c) /\ Become(Append(queue, c))
Unlock(c) == queue # << >> /\ Head(queue) = c /\ Become(Tail(queue))
Leave(c)  == Queued(c) /\ Become(SelectSeq(queue, LAMBDA other : other # c))

Next == \E c \in Client : Lock(c) \/ Unlock(c) \/ Leave(c)
Spec == Init /\ [][Next]_vars

Observe == [owner   |-> IF queue = << >> THEN NoClient ELSE Head(queue),
            waiting |-> IF queue = << >> THEN << >> ELSE Tail(queue),
            token   |-> token]

\* INV TypeOK: clients queue once each.
TypeOK == /\ queue \in Seq(Client) /\ token \in Nat
          /\ \A j, k \in 1..Len(queue) : queue[j] = queue[k] => j = k

\* PROP TokenRisesProp: a new owner has a new token.
TokenRisesProp ==
    [][queue' # << >> /\ (queue = << >> \/ Head(queue) # Head(queue')) => token' > token]_vars

FewTokens == token < 4
=============================================================================
