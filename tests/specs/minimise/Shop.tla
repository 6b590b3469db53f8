-------------------------------- MODULE Shop --------------------------------
(* Customers draw numbered tickets, which clerks serve while every door is *)
(* shut; an order of several things is served at once.                     *)
EXTENDS Naturals, Sequences, FiniteSets

VARIABLES next, waiting, served, open

vars == <<next, waiting, served, open>>

People == {"a", "b", "c"}
Orders == {<<"tea">>, <<"cake">>, <<"tea", "cake">>, <<"cake", "cake">>, <<"tea", "cake", "cake">>}

Init == next = 1 /\ waiting = {} /\ served = 0 /\ open = [p \in People |-> FALSE]

Draw(p) ==
    /\ waiting' = waiting \cup {[by |-> p, number |-> next]}
    /\ next' = next + 1
    /\ UNCHANGED <<served, open>>

Serve(p, ticket) ==
    /\ \A q \in People : ~open[q]
    /\ waiting' = waiting \ {ticket}
    /\ served' = IF ticket.by = "b" THEN served + 1 ELSE served
    /\ UNCHANGED <<next, open>>

Order(p, things) ==
    /\ served' = served + Cardinality({k \in 1..Len(things) : things[k] = "cake"})
    /\ UNCHANGED <<next, waiting, open>>

Turn(p) == open' = [open EXCEPT ![p] = ~@] /\ UNCHANGED <<next, waiting, served>>

Next == \E p \in People :
    \/ Draw(p)
    \/ \E ticket \in waiting : Serve(p, ticket)
    \/ \E things \in Orders : Order(p, things)
    \/ Turn(p)

Spec == Init /\ [][Next]_vars

Observe(p) == [next |-> next, served |-> served, open |-> open[p]]

FewServed == served < 2
=============================================================================
