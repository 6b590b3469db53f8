---------------------------- MODULE MCRefinement ----------------------------
(***************************************************************************)
(* The fine steps refine the coarse ones.  The reader learns how a state   *)
(* with queues, pending pushes and futures looks without them:             *)
(*                                                                         *)
(*   what waits in the queues of an EntryHandler is still under way;       *)
(*   a REPEATED_PUSH is not there;                                         *)
(*   what a dispatcher has pushed, and who waits at the leader, is hidden. *)
(*                                                                         *)
(* Bounds matter here.  One COMPARE may clear several APPENDs, where the   *)
(* coarse spec loses one message a step: two messages under way leave room *)
(* for one.  A crash empties the queues of its node, where the coarse spec *)
(* leaves the requests under way: there are no crashes.  Channels are      *)
(* bags.                                                                   *)
(***************************************************************************)
EXTENDS MCDLedger

ASSUME ~Fifo

\* The number of times that m waits at n.
CopiesAt(n, m) ==
    LET queue == received[n].compareOrTruncateRequests
    IN  Cardinality({k \in 1..Len(queue) : queue[k] = m})
        + (IF m \in received[n].writeRequestMap THEN 1 ELSE 0)

\* The messages from p that wait at n.
WaitingFrom(p, n) ==
    LET queue == received[n].compareOrTruncateRequests
    IN  {m \in received[n].writeRequestMap \cup {queue[k] : k \in 1..Len(queue)} : m.src = p}

CoarseChannel(p, n) ==
    LET channel == network[p][n]
        seen    == {m \in DOMAIN channel : m.kind = "response" => m.code # "REPEATED_PUSH"}
    IN  [m \in seen \cup WaitingFrom(p, n) |->
            (IF m \in seen THEN channel[m] ELSE 0) + CopiesAt(n, m)]

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

\* PROP RefinesCoarse: every step is one of the coarse spec, or changes nothing there.
RefinesCoarse == Coarse!Spec

=============================================================================
