----------------------------- MODULE MCRepairs ------------------------------
(***************************************************************************)
(* DLedger's own repairs of the old dispatcher, and where models of its    *)
(* repairs begin.  The reader learns which of them mend half of a flaw.    *)
(* README.md has the verdicts.                                             *)
(***************************************************************************)
EXTENDS MCDLedger

CONSTANTS Leader, Follower, Third

-----------------------------------------------------------------------------
(* Two repairs of the old dispatcher.  #317, which was not taken: a        *)
(* TRUNCATE takes committedIndex back to the end of the log.  #279: what   *)
(* the state machine of a follower is to apply is what the store has       *)
(* committed; a leader's is still given the quorum index.                  *)

ClampedTruncateStore(before, index, entry) ==
    LET file  == before.log \o before.tail
        cut   == Append(SubSeq(before.log, 1, index), entry)
    IN  Written([before EXCEPT !.log = cut, !.tail = Behind(SubSeq(file, index + 2, Len(file))),
                               !.ledgerEndTerm = EndTermOf(before, entry),
                               !.committedIndex = Min({@, EndIndex(cut)})])

ClampedLearnt(before, m) ==
    LET after == UpdateCommittedIndex(before, m.term, m.commitIndex) IN LetApply(after, after.committedIndex)

-----------------------------------------------------------------------------
(* Where models begin.  The Leader of term 1 and the Follower hold two     *)
(* entries, which are committed; the Third holds the first.                *)

TwoStored(WriteIndex(_)) ==
    LET entry     == [term |-> 1, value |-> CHOOSE value \in Value : TRUE]
        LogOf(n)  == IF n = Third THEN <<entry>> ELSE <<entry, entry>>
        Begins(n) == [InitNode(n) EXCEPT
                         !.currTerm = 1, !.leaderId = Leader, !.currVoteFor = Leader,
                         !.role = IF n = Leader THEN "LEADER" ELSE "FOLLOWER",
                         !.votes = IF n = Leader THEN Node ELSE {},
                         !.log = LogOf(n), !.disk = LogOf(n), !.ledgerEndTerm = 1,
                         !.committedIndex = IF n = Leader THEN 1 ELSE -1,
                         !.peerWaterMarks = [p \in Node |-> IF n # Leader \/ p = Third THEN -1 ELSE 1],
                         !.dispatchers = [p \in Peers(n) |->
                                             [InitDispatcher EXCEPT !.writeIndex = WriteIndex(LogOf(n))]]]
    IN  /\ node = [n \in Node |-> Begins(n)]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ acknowledged = {}
        /\ elected = {[term |-> 1, leader |-> Leader]}
        /\ committed = {[term |-> 1, index |-> i, entry |-> entry] : i \in 0..1}

\* EntryDispatcher.start: writeIndex is the end of the log with which the process began.
BeganWithTheirLogs == TwoStored(Len)
BeganEmpty         == LET Zeroth(log) == 0 IN TwoStored(Zeroth)

\* The Third, which got an entry since its process began, does not lead.
ButTheThird(n) == n # Third /\ MCMayElect(n)

\* The Leader of term 1, with the vote of the Third, has stored a first entry, and the Follower has, too;
\* only the Leader's machine may die, and nobody leads a later term.
OneUncommitted ==
    LET entry     == [term |-> 1, value |-> CHOOSE value \in Value : TRUE]
        LogOf(n)  == IF n = Third THEN << >> ELSE <<entry>>
        Begins(n) == [InitNode(n) EXCEPT
                         !.currTerm = 1, !.leaderId = Leader, !.currVoteFor = Leader,
                         !.role = IF n = Leader THEN "LEADER" ELSE "FOLLOWER",
                         !.votes = IF n = Leader THEN {Leader, Third} ELSE {},
                         !.log = LogOf(n), !.ledgerEndTerm = EndTerm(LogOf(n))]
    IN  /\ node = [n \in Node |-> Begins(n)]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ acknowledged = {} /\ committed = {}
        /\ elected = {[term |-> 1, leader |-> Leader]}

\* Two nodes lead in turn, and talk with the Third alone.
ToTheThird(n, p)        == p = Third /\ MCMaySend(n, p)

TheLeaderMayDie(n)      == n = Leader
OnlyToTheFollower(n, p) == n = Leader /\ p = Follower /\ MCMaySend(n, p)

\* INV MarkedIsStored: what the Leader marks of the Follower are its own entries.
MarkedIsStored ==
    LET state == node[Leader] IN
    state.role = "LEADER" => \A i \in 0..state.peerWaterMarks[Follower] :
       HasEntry(node[Follower].log, i) /\ EntryAt(Follower, i) = EntryAt(Leader, i)

-----------------------------------------------------------------------------
(* Witnesses.                                                              *)

\* WITNESS the Third is brought up.
ThirdIsBehind == Len(node[Third].log) < 2

\* WITNESS an entry of an earlier term is committed, with one of the leader's own.
CommitsItsOwnAlone == \A c \in committed : c.entry.term = c.term

\* WITNESS a follower applies an entry.
FollowersApplyNothing == \A n \in Node : node[n].role = "FOLLOWER" => node[n].lastAppliedIndex = -1

=============================================================================
