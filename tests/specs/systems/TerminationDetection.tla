------------------------- MODULE TerminationDetection -------------------------
(* Dijkstra, Feijen, van Gasteren: a token goes round a ring to find out       *)
(* whether all nodes are passive. A node that sends blackens itself, and a      *)
(* black node blackens the token; only a white round tells of the end.          *)
EXTENDS Integers

CONSTANT N

ASSUME N \in Nat \ {0, 1}

VARIABLES active, colour, token

vars == <<active, colour, token>>

Node   == 0..N - 1
Colour == {"white", "black"}

Init == /\ active \in [Node -> BOOLEAN]
        /\ colour = [n \in Node |-> "white"]
        /\ token = [at |-> 0, colour |-> "black"]

\* The leader begins another round when the last one told nothing.
Begin ==
    /\ token.at = 0
    /\ token.colour = "black" \/ colour[0] = "black"
    /\ token' = [at |-> N - 1, colour |-> "white"]
    /\ colour' = [colour EXCEPT ![0] = "white"]
    /\ UNCHANGED active

PassOn(n) ==
    /\ token.at = n /\ ~active[n]
    /\ token' = [token EXCEPT !.at = n - 1, !.colour = IF colour[n] = "black" THEN "black" ELSE @]
    /\ colour' = [colour EXCEPT ![n] = "white"]
    /\ UNCHANGED active

Send(n, to) ==
    /\ active[n]
    /\ active' = [active EXCEPT ![to] = TRUE]
    /\ colour' = [colour EXCEPT ![n] = IF to > n THEN "black" ELSE @]
    /\ UNCHANGED token

Rest(n) ==
    /\ active[n]
    /\ active' = [active EXCEPT ![n] = FALSE]
    /\ UNCHANGED <<colour, token>>

Next == \/ Begin
        \/ \E n \in Node \ {0} : PassOn(n)
        \/ \E n \in Node : Rest(n) \/ \E to \in Node \ {n} : Send(n, to)

Spec == Init /\ [][Next]_vars

TypeOK == /\ active \in [Node -> BOOLEAN]
          /\ colour \in [Node -> Colour]
          /\ token \in [at: Node, colour: Colour]

Ended    == \A n \in Node : ~active[n]
Detected == /\ token = [at |-> 0, colour |-> "white"]
            /\ colour[0] = "white" /\ ~active[0]
Sound    == Detected => Ended

\* Dijkstra's invariant: behind the token all is quiet, or somebody is black, or the token is.
Inductive == \/ \A n \in Node : token.at < n => ~active[n]
             \/ \E n \in 0..token.at : colour[n] = "black"
             \/ token.colour = "black"

\* Too early: the token alone does not tell.
Rash == token = [at |-> 0, colour |-> "white"] => Ended
===============================================================================
