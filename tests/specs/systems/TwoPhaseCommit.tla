--------------------------- MODULE TwoPhaseCommit ---------------------------
(* A coordinator asks participants whether they can commit. It decides once  *)
(* all have answered that they can, or at any time that it gives up. Messages *)
(* stay in the network for ever: a participant may read one late or twice.    *)
EXTENDS Integers, FiniteSets

CONSTANTS Participant

VARIABLES phase, decision, votes, network

vars == <<phase, decision, votes, network>>

Decision == {"commit", "abort"}
Message  == [kind: {"prepared"}, from: Participant] \cup [kind: Decision]

\* What the coordinator wants to have heard before it commits; a cfg may replace it.
Enough == votes = Participant

Init == /\ phase = [p \in Participant |-> "working"]
        /\ decision = "open"
        /\ votes = {}
        /\ network = {}

Prepare(p) ==
    /\ phase[p] = "working"
    /\ phase' = [phase EXCEPT ![p] = "prepared"]
    /\ network' = network \cup {[kind |-> "prepared", from |-> p]}
    /\ UNCHANGED <<decision, votes>>

\* A participant that has promised nothing may still say no.
Refuse(p) ==
    /\ phase[p] = "working"
    /\ phase' = [phase EXCEPT ![p] = "aborted"]
    /\ UNCHANGED <<decision, votes, network>>

Hear ==
    \E m \in network :
      /\ m.kind = "prepared"
      /\ decision = "open"
      /\ m.from \notin votes
      /\ votes' = votes \cup {m.from}
      /\ UNCHANGED <<phase, decision, network>>

Decide(d) ==
    /\ decision = "open"
    /\ d = "commit" => Enough
    /\ decision' = d
    /\ network' = network \cup {[kind |-> d]}
    /\ UNCHANGED <<phase, votes>>

Obey(p) ==
    /\ phase[p] \notin {"committed", "aborted"}
    /\ \E d \in Decision :
         /\ [kind |-> d] \in network
         /\ phase' = [phase EXCEPT ![p] = CASE d = "commit" -> "committed" [] d = "abort" -> "aborted"]
    /\ UNCHANGED <<decision, votes, network>>

Next == \/ \E p \in Participant : Prepare(p) \/ Refuse(p) \/ Obey(p)
        \/ Hear
        \/ \E d \in Decision : Decide(d)

Spec == Init /\ [][Next]_vars

TypeOK == /\ phase \in [Participant -> {"working", "prepared", "committed", "aborted"}]
          /\ decision \in Decision \cup {"open"}
          /\ votes \in SUBSET Participant
          /\ network \subseteq Message

Agreement == ~ \E p, q \in Participant : phase[p] = "committed" /\ phase[q] = "aborted"

\* Who has ended in a phase stays in it.
EndedStayProp == [][\A p \in Participant : phase[p] \in {"committed", "aborted"} => phase'[p] = phase[p]]_vars

MostAreEnough == 2 * Cardinality(votes) > Cardinality(Participant)
=============================================================================
