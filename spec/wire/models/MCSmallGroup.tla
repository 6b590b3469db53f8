---------------------------- MODULE MCSmallGroup ----------------------------
(***************************************************************************)
(* Bounded models of SmallGroup: what crosses its wire breaks no rule, and *)
(* each rule speaks of something that happens.                             *)
(***************************************************************************)
EXTENDS SmallGroup

CONSTANTS MaxTerm, MaxLog, MaxMessages

FromTheStart == Begin(All)
AnyTime      == Begin({})

\* The tap begins where `a` leads term 2, and an entry is committed that `c` has not stored.
AfterACommit ==
    \E a, b, c \in Node :
    LET l         == <<[term |-> 2, value |-> "v"]>>
        blank     == [term |-> 2, votedFor |-> a, role |-> "Follower", granted |-> {}, log |-> <<>>,
                      commit |-> 0, match |-> [p \in Node |-> 0]]
        leader    == [blank EXCEPT !.role = "Leader", !.log = l, !.commit = 1, !.match[b] = 1]
        follower  == [blank EXCEPT !.log = l]
    IN  /\ Cardinality({a, b, c}) = 3
        /\ Init
        /\ watched = All
        /\ node = [n \in Node |-> IF n = a THEN leader ELSE IF n = b THEN follower ELSE blank]
        /\ requests = {} /\ answers = {}

MCMayStand(n)  == node[n].term < MaxTerm
MCMayAppend(n) == Len(node[n].log) < MaxLog
MCMaySend      == Cardinality(requests) + Cardinality(answers) < MaxMessages

Symmetry == Permutations(Node)

\* Witnesses: each name says that something never happens, and TLC must violate it.  Where it did not, the
\* rule beside it would hold because nothing that it speaks of happens.

NoSecondLeader == Cardinality(leaders) <= 1                                      \* OneLeader
NoSecondVote   == \A a, b \in votes : a.voter = b.voter => a = b                 \* OneVote
NoElectionSeen == \A l \in leaders : Campaigns(l.leader, l.term) = {}            \* ElectedByQuorum
NoOlderRequest == answer.least <= answer.asked                                   \* AnswerInTerm
NoOlderEntry   == \A i \in DOMAIN request.sent :                                 \* EntriesInOrder
    request.sent[i].value # "" => request.sent[i].term = request.term
NoCommitSeen   == {c \in campaigns : c.term = request.term} # {}                 \* CommitIsAcked
    => request.commit < 1

Sent(m) == m \in requests' \ requests /\ m.kind = "entries" /\ m.behind # <<>>
NothingSentAgain     == [][\A m \in requests' : Sent(m) /\ m.term = log.term     \* LeaderAppends
    => ~Has(log, m.from + 1)]_requests
NoCommittedSentAgain == [][\A m \in requests' : Sent(m) /\ m.term > log.term     \* CommittedStays
    => ~Has(chosen, m.from + 1)]_requests
NoCommitRises        == [][\A s \in DOMAIN streams \cap DOMAIN streams' :         \* CommitRises
    streams'[s].term = streams[s].term => streams'[s].commit <= streams[s].commit]_streams
NothingReadOn        == [][~whole => UNCHANGED request]_<<whole, request>>       \* all, behind Misses
=============================================================================
