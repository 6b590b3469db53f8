----------------------------- MODULE MCDLedger ------------------------------
(***************************************************************************)
(* Bounded models of DLedger.  A bound is a guard of the core module that  *)
(* a cfg overrides with one of these; the core itself is unbounded.        *)
(***************************************************************************)
EXTENDS DLedger, TLC

CONSTANTS MaxTerm, MaxLog, MaxMessages, MaxCrashes

MCMayElect(n)    == \A q \in Node : node[q].currTerm < MaxTerm
MCMayAppend(n)   == Len(node[n].log) < MaxLog
MCMaySend(n, p)  ==  \* messages of any kind under way, all channels together
    Cardinality({<<src, dst, m>> \in Node \X Node \X (1..MaxMessages) :
                   src # dst /\ m <= Cardinality(DOMAIN network[src][dst])}) < MaxMessages
MCMayCrash(n)    == Cardinality({q \in Node : node[q].role = "DOWN"}) < MaxCrashes

\* One copy more than was sent, and room for it.
MCMayDuplicate(n) ==
    \A p, q \in Node : p # q => \A m \in DOMAIN network[p][q] :
        Fifo \/ network[p][q][m] < 2

Never(n)         == FALSE

Symmetry == Permutations(Node)

-----------------------------------------------------------------------------
(* Reachability witnesses: TLC must violate each.                          *)

NoLeader      == \A n \in Node : node[n].role # "LEADER"
NothingCommitted == \A n \in Node : node[n].committedIndex = -1
FollowerNeverCommits == \A n \in Node : node[n].role = "FOLLOWER" => node[n].committedIndex = -1
NeverAppending == \A n \in Node : \A p \in Peers(n) : node[n].dispatchers[p].type # "APPEND"
NothingTruncatedProp ==
    [][\A n \in Node : node[n].role # "DOWN" => Len(node'[n].log) >= Len(node[n].log)]_vars
=============================================================================
