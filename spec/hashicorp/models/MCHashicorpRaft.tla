-------------------------- MODULE MCHashicorpRaft ---------------------------
EXTENDS HashicorpRaft, TLC

CONSTANTS MaxTerm, MaxLog, MaxMessages, MaxDowns

MCMayCampaign(n) == node[n].currentTerm < MaxTerm
MCMayDispatch(n) == LastIndex(node[n]) < MaxLog

UnderWay == Cardinality({<<p, q, k>> \in Node \X Node \X (1..MaxMessages) :
                            p # q /\ k <= Size(network[p][q], MaxMessages)})
MCMaySend(n, peer) == UnderWay < MaxMessages
MCMayDuplicate(n)  == UnderWay < MaxMessages
MCMayDie(n) == \A q \in Node : node[q].role # "Shutdown"

Never(n) == FALSE
NeverTo(n, peer) == FALSE

OneCommand == {<<[type |-> "Command", value |-> v]>> : v \in Value}
MostOnly(state, next) == {Most(state, next)}

Symmetry == Permutations(Node)
=============================================================================
