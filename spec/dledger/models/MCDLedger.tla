----------------------------- MODULE MCDLedger ------------------------------
(***************************************************************************)
(* Bounded models of DLedger.  The reader learns how a model of a few      *)
(* nodes, terms, entries and messages is made of the spec, which has no    *)
(* bounds, and how TLC shows that such a model is not empty.               *)
(*                                                                         *)
(* A cfg replaces the bounds of Choices (MayElect, MaySend, ...) by those  *)
(* below, and gives the constants.  Bounds are guards, not constraints: a  *)
(* step beyond a bound is never taken, so every state that TLC finds is    *)
(* one of the model.                                                       *)
(***************************************************************************)
EXTENDS DLedger, TLC

CONSTANTS MaxTerm, MaxLog, MaxMessages

\* ElectLeader goes beyond the terms of all its voters, other steps beyond the node's own.
MCMayElect(n)  == \A q \in (IF StepwiseElections THEN {n} ELSE Node) : node[q].currTerm < MaxTerm
MCMayAppend(n) == Len(node[n].log) < MaxLog
MCMayFlush(n)  == node[n].disk # Forced(node[n]).disk
MCMayDie(n)    == \A q \in Node : node[q].role # "DOWN"

\* No more than MaxMessages messages, copies included, are under way, in all channels and queues together.
\* (Each is counted up to MaxMessages: that is enough, and a set for TLC to count.)
AtReceiver(queues) == Len(queues.compareOrTruncateRequests) + Cardinality(queues.writeRequestMap)
UnderWay == Cardinality({<<p, q, k>> \in Node \X Node \X (1..MaxMessages) :
                            p # q /\ k <= Size(network[p][q], MaxMessages)})
            + Cardinality({<<p, k>> \in Node \X (1..MaxMessages) : k <= AtReceiver(received[p])})

MCMaySend(n, peer) == UnderWay < MaxMessages
MCMayDuplicate(n)  == UnderWay < MaxMessages

\* Loss kept small: only requests that their receiver cannot take, so that nothing holds up a channel for
\* ever, and answers that nobody awaits.
MCMayLose(n, m) ==
    IF m.kind = "request"
    THEN \/ node[n].role # "FOLLOWER"
         \/ m.type = "APPEND" /\ ~m.awaited /\ m.index > EndIndex(node[n].log) + 1
    ELSE m.type # "APPEND" /\ node[n].dispatchers[m.src].awaiting # m.type

\* A time-out only where nothing is left to wait for.
MCMayTimeOut(n, peer) ==
    LET awaiting   == node[n].dispatchers[peer].awaiting
        Asked(p,q) == {m \in MessagesIn(network[p][q]) : m.type = awaiting}
    IN  /\ \A m \in Asked(n, peer) : m.kind = "request" => ~m.awaited
        /\ \A m \in Asked(peer, n) : m.kind = "request"

Never(n)         == FALSE
NeverTo(n, peer) == FALSE
Zero             == 0

Symmetry == Permutations(Node)

-----------------------------------------------------------------------------
(* Models that begin later: a leader of term 1, elected by `voters`, and   *)
(* one follower hold `count` entries, which are committed up to `last`;    *)
(* the others hold the first `few`.                                        *)

Stored(leader, follower, voters, count, few, last) ==
    LET entry     == [term |-> 1, value |-> CHOOSE value \in Value : TRUE]
        log       == [k \in 1..count |-> entry]
        holders   == {leader, follower}
        marks     == [p \in Node |-> IF p \in holders THEN count - 1 ELSE -1]
        LogOf(n)  == IF n \in holders THEN log ELSE SubSeq(log, 1, few)
        Begins(n) == [InitNode(n) EXCEPT !.currTerm = 1, !.leaderId = leader,
                                         !.currVoteFor = IF n \in voters THEN leader ELSE NoNode,
                                         !.role = IF n = leader THEN "LEADER" ELSE "FOLLOWER",
                                         !.log = LogOf(n), !.disk = LogOf(n),
                                         !.ledgerEndTerm = EndTerm(LogOf(n))]
    IN  /\ node = [n \in Node |->
                     IF n # leader THEN Begins(n)
                     ELSE [Begins(n) EXCEPT !.votes = voters, !.peerWaterMarks = marks,
                                            !.committedIndex = last, !.lastQuorumIndex = last]]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ acknowledged = {}
        /\ elected = {[term |-> 1, leader |-> leader]}
        /\ committed = {[term |-> 1, index |-> i, entry |-> entry] : i \in 0..last}

\* Two of three are a quorum.
StoredByQuorum(count, few) ==
    \E leader \in Node : \E follower \in Peers(leader) :
        Stored(leader, follower, {leader, follower}, count, few, count - 1)

\* Two of five are none.  The learner has elected the leader, and has nothing.
Learner == CHOOSE n \in Node : TRUE
StoredByTwoOfFive ==
    \E leader \in Peers(Learner) : \E follower \in Peers(Learner) \ {leader} :
        Stored(leader, follower, {leader, follower, Learner}, 2, 0, -1)

\* Leaders bring nobody in line but the learner.
MCMaySendToLearner(n, peer) == peer = Learner /\ MCMaySend(n, peer)

SymmetryOfOthers == Permutations(Peers(Learner))

\* A group of five, where y leads term 3, elected by all but z.  Of entries of term 1 y has two and x, which
\* follows it, three; z, which led term 2, has two others.  The rest have nothing, and nothing is committed.
TwoFollowLaterLeader ==
    \E x \in Node : \E y \in Peers(x) : \E z \in Peers(x) \ {y} :
    LET entry(t) == [term |-> t, value |-> CHOOSE value \in Value : TRUE]
        LogOf(n) == CASE n = x -> <<entry(1), entry(1), entry(1)>>
                      [] n = y -> <<entry(1), entry(1)>>
                      [] n = z -> <<entry(2), entry(2)>>
                      [] OTHER -> << >>
    IN  /\ node = [n \in Node |->
                     [InitNode(n) EXCEPT !.currTerm = IF n = z THEN 2 ELSE 3,
                                         !.leaderId = IF n = z THEN NoNode ELSE y,
                                         !.currVoteFor = IF n = z THEN z ELSE y,
                                         !.votes = IF n = y THEN Node \ {z} ELSE {},
                                         !.role = IF n = y THEN "LEADER"
                                                  ELSE IF n = z THEN "CANDIDATE" ELSE "FOLLOWER",
                                         !.log = LogOf(n), !.disk = LogOf(n),
                                         !.ledgerEndTerm = EndTerm(LogOf(n))]]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ acknowledged = {} /\ committed = {}
        /\ elected = {[term |-> 3, leader |-> y]}

\* Only nodes that have entries bring one another in line.
MCMaySendToHolder(n, peer) == node[n].log # << >> /\ node[peer].log # << >> /\ MCMaySend(n, peer)
\* Only nodes that have entries stand for election.
MCMayElectHolder(n) == node[n].log # << >> /\ MCMayElect(n)

\* A group of five with three leaders.  x, of term 1, and w hold two entries of that term, and x is about
\* to push the second to the learner, which has the first, as all have.  z, of term 2, has another second
\* entry.  w leads term 3, and the learner and the fifth node follow it.  Nothing is committed.
LearnerHasThreeLeaders ==
    \E x \in Peers(Learner) : \E w \in Peers(Learner) \ {x} : \E z \in Peers(Learner) \ {x, w} :
    LET entry(t) == [term |-> t, value |-> CHOOSE value \in Value : TRUE]
        LogOf(n) == CASE n \in {x, w} -> <<entry(1), entry(1)>>
                      [] n = z -> <<entry(1), entry(2)>>
                      [] OTHER -> <<entry(1)>>
        TermOf(n) == CASE n = x -> 1 [] n = z -> 2 [] OTHER -> 3
        Begins(n) == [InitNode(n) EXCEPT !.currTerm = TermOf(n), !.log = LogOf(n), !.disk = LogOf(n),
                                         !.role = IF n \in {w, x, z} THEN "LEADER" ELSE "FOLLOWER",
                                         !.leaderId = IF n \in {w, x, z} THEN n ELSE w,
                                         !.currVoteFor = IF n \in {x, z} THEN n ELSE w,
                                         !.votes = CASE n = x -> {x, w, Learner}
                                                     [] n \in {w, z} -> Node \ ({w, x, z} \ {n})
                                                     [] OTHER -> {},
                                         !.ledgerEndTerm = EndTerm(LogOf(n))]
        appending == [InitDispatcher EXCEPT !.type = "APPEND", !.term = 1, !.writeIndex = 1]
        marks     == [p \in Node |-> IF p \in {x, w} THEN 1 ELSE IF p = Learner THEN 0 ELSE -1]
    IN  /\ node = [[n \in Node |-> Begins(n)] EXCEPT ![x].dispatchers[Learner] = appending,
                                                     ![x].peerWaterMarks = marks]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ acknowledged = {} /\ committed = {}
        /\ elected = {[term |-> TermOf(n), leader |-> n] : n \in {w, x, z}}

CommittedByQuorum    == StoredByQuorum(1, 0)
TwoCommittedByQuorum == StoredByQuorum(2, 0)
OneOfTwoBehind       == StoredByQuorum(2, 1)

-----------------------------------------------------------------------------
(* The clients that a pass answered in release 0.1.  Its loop goes down to *)
(* index 0, and a gap counts only if the quorum index has moved and the    *)
(* gap is not where it was.                                                *)

ToAnswerIn01(state, term, to) ==
    LET mine      == {f.index : f \in FuturesOf(state, term)}
        run       == {i \in mine : i <= to /\ \A k \in i..to : k \in mine}
        gap       == to - Cardinality(run)
        needCheck == /\ gap # -1 /\ gap # state.lastQuorumIndex
                     /\ state.lastQuorumIndex # -1 /\ state.lastQuorumIndex # to
    IN  run \cup (IF needCheck THEN {i \in mine : i < to} ELSE {})

\* The index that a pass may answer up to: the quorum index does not fall within a leadership.
Passes(n) == {[state |-> node[n], to |-> to] : to \in node[n].lastQuorumIndex..EndIndex(node[n].log)}

\* INV OldRuleAnswersNoMore: whom 0.1 answers in a pass 0.2.7 answers, too; whom it leaves out it finds when
\* it next looks for all below the quorum index, once a second.
OldRuleAnswersNoMore ==
    \A n \in Node : \A pass \in Passes(n) :
    LET now == ToAnswer(pass.state, pass.state.currTerm, pass.to)
        old == ToAnswerIn01(pass.state, pass.state.currTerm, pass.to)
    IN  old \subseteq now /\ \A i \in now \ old : i < pass.to

-----------------------------------------------------------------------------
(* A property for models in which COMMIT is obeyed whatever its term.      *)

\* A COMMIT changes the committed index of n.
Commits(n, m) == /\ IsRequest(m, "COMMIT")
                 /\ network' = Received(network, m)
                 /\ node'[n].committedIndex # node[n].committedIndex

\* PROP LowerTermCommitsNothingProp: a COMMIT of a lower term than the follower's own does nothing.
LowerTermCommitsNothingProp ==
    [][\A n \in Node : \A m \in Inbox(n) : Commits(n, m) => m.term >= node[n].currTerm]_vars

=============================================================================
