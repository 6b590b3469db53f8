---------------------------- MODULE MCRefinement ----------------------------
(***************************************************************************)
(* The fine grain refines the coarse one: what waits in the queues of an   *)
(* EntryHandler is, to the coarse grain, still under way; a REPEATED_PUSH  *)
(* is nothing; and what a dispatcher has pushed, and who waits at the      *)
(* leader, is not seen.                                                    *)
(*                                                                         *)
(* Bounds matter here.  One COMPARE may clear several APPENDs, where the   *)
(* coarse grain loses one message a step: two messages under way leave     *)
(* room for one.  A crash empties the queues of its node, where the coarse *)
(* grain leaves them under way: there are no crashes.  Channels are bags.  *)
(***************************************************************************)
EXTENDS MCDLedger

\* How often m waits at n.
CopiesAt(n, m) ==
    LET q == received[n]
    IN  Cardinality({k \in 1..Len(q.compareOrTruncateRequests) : q.compareOrTruncateRequests[k] = m})
        + (IF m \in q.writeRequestMap THEN 1 ELSE 0)

WaitingFrom(p, n) ==
    LET q == received[n]
    IN  {m \in q.writeRequestMap
               \cup {q.compareOrTruncateRequests[k] : k \in 1..Len(q.compareOrTruncateRequests)} :
            m.src = p}

CoarseChannel(p, n) ==
    LET c    == network[p][n]
        seen == {m \in DOMAIN c : m.kind = "response" => m.code # "REPEATED_PUSH"}
    IN  [m \in seen \cup WaitingFrom(p, n) |-> (IF m \in seen THEN c[m] ELSE 0) + CopiesAt(n, m)]

CoarseNode(n) ==
    [node[n] EXCEPT !.futures = {},
                    !.dispatchers = [p \in Peers(n) |-> [node[n].dispatchers[p] EXCEPT !.pendings = {}]]]

CoarseFeatures == Features \ {"RequestQueues", "PendingMap", "Clients"}

\* TLC computes a constant definition once and for all, with the constants of the root, unless its own
\* module is instanced; DLedger alone would not do, since it only EXTENDS Choices.
CoarseChoices == INSTANCE Choices WITH Features <- CoarseFeatures

Coarse == INSTANCE DLedger WITH
    node          <- [n \in Node |-> CoarseNode(n)],
    network       <- [p \in Node |-> [n \in Peers(p) |-> CoarseChannel(p, n)]],
    received      <- [n \in Node |-> EmptyQueues],
    acknowledged  <- {},
    Features      <- CoarseFeatures

\* PROP RefinesCoarse: every step is one of the coarse grain, or none.
RefinesCoarse == Coarse!Spec

=============================================================================
