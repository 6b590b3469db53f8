----------------------------- MODULE MCDLedger ------------------------------
(***************************************************************************)
(* Bounded models of DLedger.  A bound is a guard of the core module that  *)
(* a cfg overrides with one of these; the core itself is unbounded.        *)
(***************************************************************************)
EXTENDS DLedger, TLC

CONSTANTS MaxTerm, MaxLog, MaxMessages

\* ElectLeader goes beyond the terms of all its voters; a node that raises its term alone, beyond its own.
MCMayElect(n)    == \A q \in (IF StepwiseElections THEN {n} ELSE Node) : node[q].currTerm < MaxTerm
MCMayAppend(n)   == Len(node[n].log) < MaxLog
MCMayFlush(n)    == node[n].disk # Forced(node[n]).disk
MCMayDie(n)      == \A q \in Node : node[q].role # "DOWN"

\* Copies of messages under way, all channels together; counted up to MaxMessages.
Copies(c) == IF Fifo THEN Len(c)
             ELSE Cardinality({<<m, k>> \in (DOMAIN c) \X (1..MaxMessages) : k <= c[m]})
AtReceiver(q) == Len(q.compareOrTruncateRequests) + Cardinality(q.writeRequestMap)
UnderWay  == Cardinality({<<p, q, k>> \in Node \X Node \X (1..MaxMessages) :
                             p # q /\ k <= Copies(network[p][q])})
             + Cardinality({<<p, k>> \in Node \X (1..MaxMessages) : k <= AtReceiver(received[p])})

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
        Asked(c) == {m \in Messages(c) : m.type = waiting}
    IN  /\ \A m \in Asked(network[n][peer]) : IF m.kind = "request" THEN ~m.awaited ELSE TRUE
        /\ \A m \in Asked(network[peer][n]) : m.kind = "request"

Never(n)         == FALSE
Zero             == 0
NeverTo(n, peer) == FALSE

Symmetry == Permutations(Node)

\* A leader of term 1 and one follower hold so many entries, which are committed; the others hold but
\* the first few of them.
StoredByQuorum(count, few) ==
    \E leader \in Node : \E follower \in Peers(leader) :
    LET entry     == [term |-> 1, value |-> CHOOSE value \in Value : TRUE]
        log       == [k \in 1..count |-> entry]
        end       == count - 1
        holders   == {leader, follower}
        mark      == [p \in Node |-> IF p \in holders THEN end ELSE -1]
        holds(n)  == IF n \in holders THEN log ELSE SubSeq(log, 1, few)
        stored(n) == [InitNode(n) EXCEPT !.currTerm = 1, !.leaderId = leader,
                                         !.currVoteFor = IF n \in holders THEN leader ELSE NoNode,
                                         !.role = IF n = leader THEN "LEADER" ELSE "FOLLOWER",
                                         !.log = holds(n), !.disk = holds(n),
                                         !.ledgerEndTerm = EndTerm(holds(n))]
    IN  /\ node = [n \in Node |-> IF n # leader THEN stored(n)
                                 ELSE [stored(n) EXCEPT !.votes = holders, !.peerWaterMarks = mark,
                                                        !.committedIndex = end, !.lastQuorumIndex = end]]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ acknowledged = {}
        /\ elected = {[term |-> 1, leader |-> leader]}
        /\ committed = {[term |-> 1, index |-> i, entry |-> entry] : i \in 0..end}

\* Where `votes_log`, `ledger_end_term` and `stale_compare_index` begin.
CommittedByQuorum    == StoredByQuorum(1, 0)
TwoCommittedByQuorum == StoredByQuorum(2, 0)
OneOfTwoBehind       == StoredByQuorum(2, 1)

-----------------------------------------------------------------------------
(* The clients that a pass answered in release-0.1.  Its loop goes down to *)
(* index 0, and a gap counts only if the quorum index has moved and the    *)
(* gap is not where it was.                                                *)

ToAnswerIn01(s, term, to) ==
    LET mine      == {f.index : f \in FuturesOf(s, term)}
        run       == {i \in mine : i <= to /\ \A k \in i..to : k \in mine}
        gap       == to - Cardinality(run)
        needCheck == /\ gap # -1 /\ gap # s.lastQuorumIndex
                     /\ s.lastQuorumIndex # -1 /\ s.lastQuorumIndex # to
    IN  run \cup (IF needCheck THEN {i \in mine : i < to} ELSE {})

\* What a pass may come to: the quorum index does not fall within a leadership.
Passes(n) == {[s |-> node[n], to |-> to] : to \in node[n].lastQuorumIndex..EndIndex(node[n].log)}

\* INV OldRuleAnswersNoMore: whom 0.1 answers in a pass 0.2.7 answers, too; whom it leaves out it finds when
\* it next looks for all below the quorum index, once a second.
OldRuleAnswersNoMore ==
    \A n \in Node : \A pass \in Passes(n) :
    LET now == ToAnswer(pass.s, pass.s.currTerm, pass.to)
        old == ToAnswerIn01(pass.s, pass.s.currTerm, pass.to)
    IN  old \subseteq now /\ \A i \in now \ old : i < pass.to
\* The two are not one rule.
OldRuleAnswersAlike ==
    \A n \in Node : \A pass \in Passes(n) :
        ToAnswer(pass.s, pass.s.currTerm, pass.to) = ToAnswerIn01(pass.s, pass.s.currTerm, pass.to)

-----------------------------------------------------------------------------
(* Reachability witnesses: TLC must violate each, or the models are vacuous. *)

NoLeader             == \A n \in Node : node[n].role # "LEADER"
FollowerNeverCommits == \A n \in Node : node[n].role = "FOLLOWER" => node[n].committedIndex = -1
NeverAppends         == \A n \in Node : \A p \in Peers(n) : node[n].dispatchers[p].writeIndex < 1
NeverTellsCommit     == \A n \in Node : \A m \in Inbox(n) : m.type # "COMMIT"
NoLeaderOfTwoTerms   == \A n \in Node : node[n].role = "LEADER" => node[n].currTerm < 2
NoStaleRepeat        == \A n \in Node : \A m \in Inbox(n) :
                           IsRequest(m, "APPEND") /\ node[n].role = "FOLLOWER"
                              => m.index > EndIndex(node[n].log)
NothingTruncatedProp ==
    [][\A n \in Node : node[n].role # "DOWN" => Len(node'[n].log) >= Len(node[n].log)]_vars
\* A node comes back and knows from its checkpoint what is committed.
NoCheckPointReadProp ==
    [][\A n \in Node : node[n].role = "DOWN" /\ node'[n].role # "DOWN" => node'[n].committedIndex = -1]_vars

\* A dispatcher gives up waiting, and its request or answer is nowhere any more.
NoTimeOutProp ==
    [][\A n \in Node : \A p \in Peers(n) :
         node[n].dispatchers[p].awaiting = "COMPARE" /\ node'[n].dispatchers[p].awaiting = "NOTHING"
            => network'[p][n] # network[p][n]]_vars

\* A COMMIT of another term than the follower's own raises its committed index.
Commits(n, m) == /\ IsRequest(m, "COMMIT")
                 /\ network' = Received(network, m)
                 /\ node'[n].committedIndex # node[n].committedIndex
NoStaleCommitProp ==
    [][\A n \in Node : \A m \in Inbox(n) : Commits(n, m) => m.term = node[n].currTerm]_vars

-----------------------------------------------------------------------------
(* What the dispatcher, the handler and the clients come to, one by one.    *)

Answered(type, code) == \E p \in Node : \E q \in Peers(p) : \E m \in Messages(network[p][q]) :
                           IsResponse(m, type) /\ m.code = code
NoInconsistentTerm     == ~Answered("COMPARE", "INCONSISTENT_TERM")
NoInconsistentCompare  == ~Answered("COMPARE", "INCONSISTENT_STATE")
NoInconsistentTruncate == ~Answered("TRUNCATE", "INCONSISTENT_STATE")
NoInconsistentAppend   == ~Answered("APPEND", "INCONSISTENT_STATE")
NoRepeatedPush         == ~Answered("APPEND", "REPEATED_PUSH")
NoRefusedCompare       == ~Answered("COMPARE", "NOT_FOLLOWER")
NoRefusedTruncate      == ~Answered("TRUNCATE", "NOT_FOLLOWER")

NoClientTimesOut == \A n \in Node : \A f \in node[n].futures : ~f.done
NoPendingFull    == \A n \in Node : ~IsPendingFull(node[n])
NoClientTold     == acknowledged = {}
\* A leader of a new term finds that clients wait for entries of an old one.
NoTermChangedProp ==
    [][\A n \in Node : \A f \in node[n].futures :
         f.entry.term = node[n].currTerm \/ node'[n].role # "LEADER" \/ f \in node'[n].futures]_vars
\* What was pushed in one APPEND is stored, and the answer tells of all of it.
NoBatchStored    == ~\E p \in Node : \E q \in Peers(p) : \E m \in Messages(network[p][q]) :
                        IsResponse(m, "APPEND") /\ m.code = "SUCCESS" /\ m.count > 1
\* A batch begins before the end of the follower's log and ends behind it.
NoBatchAcrossEnd == \A n \in Node : \A m \in Inbox(n) :
                       IsRequest(m, "APPEND") /\ node[n].role = "FOLLOWER"
                          => m.index > EndIndex(node[n].log) \/ LastIndex(m) <= EndIndex(node[n].log)
\* A client is answered, and none waited for the entry before: it is one of the same batch.
NoBatchAnswered  == \A a \in acknowledged : a.index > 0 => \E b \in acknowledged : b.index = a.index - 1
NothingApplied   == \A n \in Node : node[n].lastAppliedIndex = -1

NoChange(from, to) == \A n \in Node : \A p \in Peers(n) :
                         ~(node[n].dispatchers[p].type = from /\ node'[n].dispatchers[p].type = to)
NoCompareToTruncateProp == [][NoChange("COMPARE", "TRUNCATE")]_vars
NoCompareToAppendProp   == [][NoChange("COMPARE", "APPEND")]_vars
NoTruncateToAppendProp  == [][NoChange("TRUNCATE", "APPEND")]_vars
NoTruncateToCompareProp == [][NoChange("TRUNCATE", "COMPARE")]_vars
\* A node that runs on; a crash begins anew, too.
NoAppendToCompareProp   ==
    [][\A n \in Node : \A p \in Peers(n) :
         ~(/\ Runs(n)
           /\ node[n].dispatchers[p].type = "APPEND" /\ node'[n].dispatchers[p].type = "COMPARE")]_vars

-----------------------------------------------------------------------------
(* A property for models in which COMMIT is obeyed whatever its term.      *)

\* PROP LowerTermCommitsNothingProp: a COMMIT of a lower term than the follower's own does nothing.
LowerTermCommitsNothingProp ==
    [][\A n \in Node : \A m \in Inbox(n) : Commits(n, m) => m.term >= node[n].currTerm]_vars

=============================================================================
