-------------------------- MODULE MCHashicorpRaft ---------------------------
(***************************************************************************)
(* Bounded models of hashicorp/raft.  The reader learns how a model of a   *)
(* few servers, terms, entries and messages is made of the spec, which has *)
(* no bounds, and from which states the models begin.                      *)
(*                                                                         *)
(* A cfg replaces the bounds of Choices (MayCampaign, MaySend, ...) by     *)
(* those below, and gives the constants.  Bounds are guards, not           *)
(* constraints: a step beyond a bound is never taken.                      *)
(***************************************************************************)
EXTENDS HashicorpRaft, TLC

CONSTANTS MaxTerm, MaxLog, MaxMessages

MCMayCampaign(n) == node[n].currentTerm < MaxTerm
MCMayDispatch(n) == LastIndex(node[n]) < MaxLog

\* No more than MaxMessages messages are under way, all copies counted.
UnderWay == Cardinality({<<p, q, k>> \in Node \X Node \X (1..MaxMessages) :
                            p # q /\ k <= Size(network[p][q], MaxMessages)})
MCMaySend(n, peer) == UnderWay < MaxMessages
MCMayDuplicate(n)  == UnderWay < MaxMessages

\* One server is down at a time.
MCMayDie(n)  == \A q \in Node : node[q].role # "Shutdown"
MCMayFail(n) == MCMayDie(n)

\* One snapshot of each index.
MCMayTakeSnapshot(n) == node[n].fsm.index > node[n].lastSnapshot.index

\* A server campaigns when nothing is under way and no other does.
MCQuietCampaign(n) ==
    UnderWay = 0 /\ MCMayCampaign(n) /\ \A p \in Peers(n) : node[p].role # "Candidate"

\* Nobody campaigns by itself after the first election.
MCFirstTermOnly(n) == UnderWay = 0 /\ node[n].currentTerm < 2

\* A leader hands over as long as there is a term to hand over to.
MCMayTransfer(n) == node[n].currentTerm < MaxTerm

\* A call times out only where nothing is left to wait for.
MCMayTimeOut(n, peer) ==
    /\ \A m \in MessagesIn(network[n][peer]) : m.kind = "request" => ~m.awaited
    /\ \A m \in MessagesIn(network[peer][n]) : m.kind = "request"

Never(n)         == FALSE
NeverTo(n, peer) == FALSE

\* Clients append one command at a time.
OneCommand == {<<[type |-> "Command", value |-> v]>> : v \in Value}

\* A routine sends as much as it may.
MostOnly(state, next) == {Most(state, next)}

Symmetry == Permutations(Node)

\* INV CommittedIsStored: while the configuration is the first one, a majority stores what is committed.
CommittedIsStored ==
    \A c \in committed : IsQuorum({n \in Voters : Holds(node[n], c)}, Voters)

=============================================================================
