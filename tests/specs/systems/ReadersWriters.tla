--------------------------- MODULE ReadersWriters ---------------------------
(* Readers share a book, a writer wants it alone. Requests wait in a queue;   *)
(* its head is admitted as soon as it does no harm, so nobody is overtaken.   *)
EXTENDS Sequences, FiniteSets, Naturals

CONSTANT Actor

VARIABLES reading, writing, queue

vars == <<reading, writing, queue>>

Request == [kind: {"read", "write"}, by: Actor]
Waiting == {queue[i].by : i \in DOMAIN queue}
Busy    == reading \cup writing \cup Waiting

Init == reading = {} /\ writing = {} /\ queue = <<>>

Ask(a, kind) ==
    /\ a \notin Busy
    /\ queue' = Append(queue, [kind |-> kind, by |-> a])
    /\ UNCHANGED <<reading, writing>>

Admit ==
    /\ queue # <<>>
    /\ writing = {}
    /\ LET first == Head(queue)
       IN  CASE first.kind = "read"  -> reading' = reading \cup {first.by} /\ UNCHANGED writing
             [] first.kind = "write" -> reading = {} /\ writing' = {first.by} /\ UNCHANGED reading
    /\ queue' = Tail(queue)

Done(a) ==
    /\ a \in reading \cup writing
    /\ reading' = reading \ {a}
    /\ writing' = writing \ {a}
    /\ UNCHANGED queue

\* Whoever loses patience leaves the queue, wherever they stand in it.
GiveUp(a) ==
    /\ a \in Waiting
    /\ queue' = SelectSeq(queue, LAMBDA request : request.by # a)
    /\ UNCHANGED <<reading, writing>>

Next == \/ Admit
        \/ \E a \in Actor : \/ \E kind \in {"read", "write"} : Ask(a, kind)
                            \/ Done(a)
                            \/ GiveUp(a)

Spec == Init /\ [][Next]_vars

TypeOK == /\ reading \subseteq Actor
          /\ writing \in SUBSET Actor
          /\ queue \in Seq(Request)

Safety      == Cardinality(writing) <= 1 /\ (writing = {} \/ reading = {})
AskedOnce   == \A i, j \in DOMAIN queue : queue[i].by = queue[j].by => i = j
NoLongQueue == Len(queue) < Cardinality(Actor)

\* The one served is the head of the queue.
InTurn     == \A a \in (reading' \cup writing') \ (reading \cup writing) : Head(queue).by = a
InTurnProp == [][InTurn]_vars
=============================================================================
