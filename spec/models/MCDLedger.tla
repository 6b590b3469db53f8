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

Never(n)         == FALSE

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
