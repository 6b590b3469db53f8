------------------------- MODULE MCDispatcherStarts -------------------------
(***************************************************************************)
(* Models of Dispatcher that begin where many steps would lead, and in     *)
(* which leaders talk with one follower alone.                             *)
(*                                                                         *)
(* TwoCommitted: a TRUNCATE that comes once more, after its leader has     *)
(* pushed an entry of an earlier term behind it, cuts that entry, which    *)
(* may be committed.  Nothing is lost: the majority that stored it in the  *)
(* term of its commit still holds it.                                      *)
(*                                                                         *)
(* ThreeLeaders: a follower holds an entry that its own leader pushed, and *)
(* an earlier leader, which does not know of it, pushes the same entry.    *)
(*                                                                         *)
(* OldLeader: a leader compares with a follower that an earlier leader     *)
(* still pushes to, or cuts.  Were it answered before the follower is in   *)
(* its term, or that one obeyed after that, an entry of the earlier leader *)
(* would come in between, or one of the later be cut.                      *)
(*                                                                         *)
(* LateAnswer: a leader led before, and an answer to a push of that time   *)
(* is under way; the follower's entry there is none of the leader's now.   *)
(*                                                                         *)
(* PriorTerm: a majority stores an entry of an earlier term.  It is not    *)
(* committed by that, since a node with a better log may lead next: Raft's *)
(* Figure 8.                                                               *)
(***************************************************************************)
EXTENDS MCDispatcher

CONSTANTS n1, n2, n3, n4, n5, v

Entry(term) == [term |-> term, value |-> v]
State(n, role, term, log, index) ==
    [role |-> role, currTerm |-> term, log |-> log, committedIndex |-> index, lastQuorumIndex |-> index,
     dispatchers |-> Fresh(n), peerWaterMarks |-> NoMarks]

\* Dispatchers for other peers than this one stay as they are.
TalksWith(peer) == \A n \in Node : \A p \in Peers(n) \ {peer} :
    node'[n].dispatchers[p] \in {node[n].dispatchers[p], Comparing(-1)}

\* n1 has committed two entries with n3 in term 1.  n3 leads term 2, n1 voted for it; n2 holds nothing.
TwoCommitted ==
    LET log == <<Entry(1), Entry(1)>>
    IN  /\ node = (n1 :> State(n1, "FOLLOWER", 2, log, 1) @@ n2 :> State(n2, "FOLLOWER", 0, << >>, -1)
                   @@ n3 :> State(n3, "LEADER", 2, log, -1))
        /\ messages = {}
        /\ committed = {[term |-> 1, index |-> i - 1, entry |-> log[i]] : i \in 1..2}

TwoCommittedNext == MCNext /\ TalksWith(n2)

\* n1 leads term 1, and is to push its second entry to n5; n3 has that entry.  n2 leads term 2, and has
\* another one.  n3 leads term 3, and n4 and n5 follow it.
ThreeLeaders ==
    LET first  == <<Entry(1)>>
        second == <<Entry(1), Entry(1)>>
        leads  == [State(n1, "LEADER", 1, second, -1) EXCEPT
                      !.dispatchers[n5] = Appending(1),
                      !.peerWaterMarks = n1 :> 1 @@ n3 :> 1 @@ n5 :> 0 @@ NoMarks]
    IN  /\ node = (n1 :> leads @@ n2 :> State(n2, "LEADER", 2, <<Entry(1), Entry(2)>>, -1)
                   @@ n3 :> State(n3, "LEADER", 3, second, -1)
                   @@ n4 :> State(n4, "FOLLOWER", 3, first, -1) @@ n5 :> State(n5, "FOLLOWER", 3, first, -1))
        /\ messages = {} /\ committed = {}

ThreeLeadersNext == MCNext /\ TalksWith(n5) /\ node'[n2] = node[n2] /\ node'[n4] = node[n4]

\* n1 leads term 1.  n5 holds its first entry, and is to end its log there, or has been pushed the second one.
\* n2 leads term 2 with n3 and n4, has stored two other entries behind the first with n3, and compares the
\* first with n5.  Nobody appends, and n1 says the same over and over.
OldLeader ==
    \E d \in {Truncating(0), Appending(2)} :
    LET first == <<Entry(1)>>
        third == <<Entry(1), Entry(2), Entry(2)>>
        old   == [State(n1, "LEADER", 1, <<Entry(1), Entry(1)>>, -1) EXCEPT
                     !.dispatchers[n5] = d, !.peerWaterMarks = n1 :> 1 @@ n5 :> 0 @@ NoMarks]
        new   == [State(n2, "LEADER", 2, third, -1) EXCEPT
                     !.dispatchers[n5] = Comparing(0), !.peerWaterMarks = n2 :> 2 @@ n3 :> 2 @@ NoMarks]
    IN  /\ node = (n1 :> old @@ n2 :> new @@ n3 :> State(n3, "FOLLOWER", 2, third, -1)
                   @@ n4 :> State(n4, "FOLLOWER", 2, first, -1) @@ n5 :> State(n5, "FOLLOWER", 1, first, -1))
        /\ messages = {} /\ committed = {}

OldLeaderNext ==
    /\ MCNext /\ TalksWith(n5) /\ node'[n2].log = node[n2].log
    /\ \A n \in {n1, n3, n4} : node'[n] = node[n]

\* n1 led term 1 and leads term 3; n4 holds its log.  n2 holds two entries of term 1, and its answer to the
\* push of the second is under way.  Nobody appends.
LateAnswer ==
    LET first  == <<Entry(2)>>
        second == <<Entry(2), Entry(3)>>
        leads  == [State(n1, "LEADER", 3, second, -1) EXCEPT !.peerWaterMarks = n1 :> 1 @@ n4 :> 1 @@ NoMarks]
    IN  /\ node = (n1 :> leads @@ n2 :> State(n2, "FOLLOWER", 1, <<Entry(1), Entry(1)>>, -1)
                   @@ n3 :> State(n3, "FOLLOWER", 3, first, -1) @@ n4 :> State(n4, "FOLLOWER", 3, second, -1)
                   @@ n5 :> State(n5, "FOLLOWER", 3, first, -1))
        /\ messages = {[kind |-> "response", type |-> "APPEND", src |-> n2, dst |-> n1, term |-> 1,
                        index |-> 1, code |-> "SUCCESS", endIndex |-> 1]}
        /\ committed = {}

LateAnswerNext ==
    /\ MCNext /\ TalksWith(n2) /\ node'[n1].log = node[n1].log
    /\ \A n \in {n3, n4, n5} : node'[n] = node[n]

\* n1 leads term 3, and n2 follows it: both hold an entry of term 1, n1 has one of its own behind it.  n3 has
\* another one, of term 2.  n2 does not lead.
PriorTerm ==
    /\ node = (n1 :> State(n1, "LEADER", 3, <<Entry(1), Entry(3)>>, -1)
               @@ n2 :> State(n2, "FOLLOWER", 3, <<Entry(1)>>, -1)
               @@ n3 :> State(n3, "FOLLOWER", 2, <<Entry(2)>>, -1))
    /\ messages = {} /\ committed = {}

PriorTermNext == MCNext /\ TalksWith(n2) /\ node'[n2].role = "FOLLOWER"

\* PROP CommittedEntriesStayProp: no step removes a committed entry from a log that holds it.  Violated.
CommittedEntriesStayProp ==
    [][\A n \in Node : \A c \in committed :
          Holds(node[n], c.index, c.entry) => Holds(node'[n], c.index, c.entry)]_<<node, messages, committed>>

\* INV NeverCommitsOwnEntry: n3 does not commit an entry of its own.  Violated.
NeverCommitsOwnEntry == node[n3].committedIndex < 2

\* INV NeverPushedTwice: n1 pushes nothing that n5 has from n3.  Violated.
NeverPushedTwice == ~\E m \in messages :
    m.type = "APPEND" /\ m.kind = "request" /\ m.src = n1 /\ Holds(node[n5], m.index, m.entry)

\* INV NothingCommitted: no leader commits.  Violated in OldLeader, and in LateAnswer.
NothingCommitted == committed = {}

\* INV NeverCommitsPriorTerm: no entry is committed in a later term than its own.  Violated in PriorTerm.
NeverCommitsPriorTerm == \A c \in committed : c.entry.term = c.term

=============================================================================
