----------------------------- MODULE MCDLedger ------------------------------
(***************************************************************************)
(* Bounded models of DLedger.  A bound is a guard of the core module that  *)
(* a cfg overrides with one of these; the core itself is unbounded.        *)
(***************************************************************************)
EXTENDS DLedger, TLC

CONSTANTS MaxTerm, MaxLog, MaxMessages, MaxCrashes

MCMayElect(n)    == \A q \in Node : node[q].currTerm < MaxTerm
MCMayAppend(n)   == Len(node[n].log) < MaxLog
MCMayCrash(n)    == Cardinality({q \in Node : node[q].role = "DOWN"}) < MaxCrashes

\* Copies of messages under way, all channels together; counted up to MaxMessages.
Copies(c) == IF Fifo THEN Len(c)
             ELSE Cardinality({<<m, k>> \in (DOMAIN c) \X (1..MaxMessages) : k <= c[m]})
UnderWay  == Cardinality({<<p, q, k>> \in Node \X Node \X (1..MaxMessages) :
                             p # q /\ k <= Copies(network[p][q])})

MCMaySend(n, p)   == UnderWay < MaxMessages
MCMayDuplicate(n) == UnderWay < MaxMessages

\* Loss kept small: only what its receiver cannot take as it is, so that nothing blocks a channel for
\* ever, and a time-out only when there is nothing left to wait for.
MCMayLose(n, m) ==
    IF m.kind = "request"
    THEN \/ node[n].role # "FOLLOWER"
         \/ m.type = "APPEND" /\ ~m.awaited /\ m.index > EndIndex(node[n].log) + 1
    ELSE m.type # "APPEND" /\ node[n].dispatchers[m.src].awaiting # m.type
MCMayTimeOut(n, peer) ==
    LET waiting  == node[n].dispatchers[peer].awaiting
        Asked(c) == {m \in (IF Fifo THEN {c[k] : k \in 1..Len(c)} ELSE DOMAIN c) : m.type = waiting}
    IN  /\ \A m \in Asked(network[n][peer]) : IF m.kind = "request" THEN ~m.awaited ELSE TRUE
        /\ \A m \in Asked(network[peer][n]) : m.kind = "request"

Never(n)         == FALSE
Nothing(n, x)    == FALSE

Symmetry == Permutations(Node)

-----------------------------------------------------------------------------
(* Reachability witnesses: TLC must violate each, or the models are vacuous. *)

NoLeader             == \A n \in Node : node[n].role # "LEADER"
FollowerNeverCommits == \A n \in Node : node[n].role = "FOLLOWER" => node[n].committedIndex = -1
NeverAppends         == \A n \in Node : \A p \in Peers(n) : node[n].dispatchers[p].writeIndex < 1
NeverTellsCommit     == \A n \in Node : \A m \in Inbox(n) : m.type # "COMMIT"
NoLeaderOfTwoTerms   == \A n \in Node : node[n].role = "LEADER" => node[n].currTerm < 2
NothingTruncatedProp ==
    [][\A n \in Node : node[n].role # "DOWN" => Len(node'[n].log) >= Len(node[n].log)]_vars

=============================================================================
