------------------------------- MODULE Figure2 -------------------------------
(***************************************************************************)
(* Figure 2 of the Raft paper, in the words of hashicorp/raft.  A leader   *)
(* keeps two indexes for each peer:                                        *)
(*                                                                         *)
(*   nextIndex     where the next AppendEntries to the peer begins         *)
(*   matchIndexes  up to where the peer is known to store the leader's log *)
(*                                                                         *)
(* AppendEntries names the index and term of the entry before its entries. *)
(* A peer that does not hold that one refuses, and nextIndex falls; else   *)
(* it stores the entries, and both indexes rise.  Commitment: the leader   *)
(* commits the highest index that the matchIndexes of a majority have      *)
(* reached, if it is startIndex, the first index of its term, or a later   *)
(* one.  So a leader begins with a no-op: older entries commit with it.    *)
(*                                                                         *)
(* Indexes begin with 1; 0 is none.  Entry 1 is the configuration that     *)
(* every node is started with, in term 1.  Messages may be lost, doubled   *)
(* and re-ordered.  A node that restarts keeps currentTerm, votedFor, log. *)
(***************************************************************************)
EXTENDS Quorum
CONSTANTS Node, Value, NoNode  \* NoNode: no vote, or no value

VARIABLES node,      \* [n \in Node -> the state of n]
          messages,  \* the set of messages under way
          committed  \* SUBSET [term, index, entry]: what leaders committed, each with its first term

Peers(n)           == Node \ {n}
Leads(n)           == node[n].role = "Leader"
LastIndex(state)   == Len(state.log)
TermAt(state, i)   == IF 1 <= i /\ i <= LastIndex(state) THEN state.log[i].term ELSE 0
Holds(state, i, e) == 1 <= i /\ i <= LastIndex(state) /\ state.log[i] = e

EntryOf(term, type, value) == [term |-> term, type |-> type, value |-> value]
NoIndexes                  == [p \in Node |-> 0]

Init == /\ node = [n \in Node |-> [currentTerm |-> 1, votedFor |-> NoNode,
                                   log |-> <<EntryOf(1, "Configuration", NoNode)>>, commitIndex |-> 0,
                                   role |-> "Follower", granted |-> {}, startIndex |-> 0,
                                   nextIndex |-> NoIndexes, matchIndexes |-> NoIndexes]]
        /\ messages = {} /\ committed = {}

\* A step of n, which becomes `after` and sends the messages in `new`.  Any message may be lost.
UnderWay(sent) == SUBSET sent
Step(n, after, new) ==
    node' = [node EXCEPT ![n] = after] /\ messages' \in UnderWay(messages \cup new) /\ UNCHANGED committed

(* TERMS *******************************************************************)
Follower(state) == [state EXCEPT !.role = "Follower", !.granted = {}, !.startIndex = 0,
                                 !.nextIndex = NoIndexes, !.matchIndexes = NoIndexes]
FollowerIn(state, term) ==
    IF term = state.currentTerm THEN Follower(state)
    ELSE [Follower(state) EXCEPT !.currentTerm = term, !.votedFor = NoNode]

\* A node hears of a later term; a leader hears from no majority, or a candidate does not win; a node dies.
HigherTerm(n) == \E q \in Node : \E term \in node[n].currentTerm + 1 .. node[q].currentTerm :
    Step(n, FollowerIn(node[n], term), {})
StepDown(n) == node[n].role # "Follower" /\ Step(n, Follower(node[n]), {})
Restart(n)  == Step(n, [Follower(node[n]) EXCEPT !.commitIndex = 0], {})

(* VOTES *******************************************************************)
\* A node hears from no leader, and asks for votes in the next term.
ElectSelf(n) ==
    LET after == [FollowerIn(node[n], node[n].currentTerm + 1) EXCEPT
                     !.role = "Candidate", !.votedFor = n, !.granted = {n}]
    IN  /\ ~Leads(n)
        /\ Step(n, after, {[kind |-> "request", type |-> "RequestVote", src |-> n, dst |-> p,
                            term |-> after.currentTerm, lastLogIndex |-> LastIndex(after),
                            lastLogTerm |-> TermAt(after, LastIndex(after))] : p \in Peers(n)})

\* The log of the voter ends in a later term than the candidate's, or in the same term and is longer.
HasBetterLog(voter, m) ==
    LET lastTerm == TermAt(voter, LastIndex(voter))
    IN  lastTerm > m.lastLogTerm \/ (lastTerm = m.lastLogTerm /\ LastIndex(voter) > m.lastLogIndex)

\* One vote in a term, and none for a log that may lack what is committed.
RequestVote(n, m) ==
    LET voter == FollowerIn(node[n], m.term)
    IN  /\ m.type = "RequestVote" /\ m.term >= node[n].currentTerm
        /\ voter.votedFor \in {NoNode, m.src} /\ ~HasBetterLog(voter, m)
        /\ Step(n, [voter EXCEPT !.votedFor = m.src],
                {[kind |-> "response", type |-> "RequestVote", src |-> n, dst |-> m.src, term |-> m.term]})

\* The candidate n counts a vote, and leads with that of a majority.
HandleRequestVoteResponse(n, m) ==
    LET votes == node[n].granted \cup {m.src}
        next  == LastIndex(node[n]) + 1
        leads == [Follower(node[n]) EXCEPT !.role = "Leader", !.startIndex = next,
                                           !.nextIndex = [p \in Node |-> next]]
    IN  /\ m.type = "RequestVote" /\ node[n].role = "Candidate" /\ m.term = node[n].currentTerm
        /\ Step(n, IF IsQuorum(votes, Node) THEN leads ELSE [node[n] EXCEPT !.granted = votes], {})

(* THE LEADER n, AND ITS PEER p ********************************************)
\* The first entry of a leader is a no-op, the others are what clients ask for.
DispatchLogs(n) ==
    LET state == node[n] IN
    \E entry \in IF LastIndex(state) < state.startIndex
                 THEN {EntryOf(state.currentTerm, "Noop", NoNode)}
                 ELSE {EntryOf(state.currentTerm, "Command", value) : value \in Value} :
    Leads(n) /\ Step(n, [state EXCEPT !.log = Append(@, entry),
                                      !.matchIndexes[n] = LastIndex(state) + 1], {})

\* The entries from nextIndex on, as many as the leader likes; without any it is a heartbeat.
ReplicateTo(n, p) ==
    LET state == node[n]
        prev  == state.nextIndex[p] - 1
    IN  \E last \in prev .. LastIndex(state) :
        Leads(n) /\ Step(n, state, {[kind |-> "request", type |-> "AppendEntries", src |-> n, dst |-> p,
                                     term |-> state.currentTerm, prevLogEntry |-> prev,
                                     prevLogTerm |-> TermAt(state, prev),
                                     entries |-> SubSeq(state.log, prev + 1, last),
                                     leaderCommitIndex |-> state.commitIndex]})

\* nextIndex falls by one, or to the end of the peer's log.
BackedOff(state, m) == [state EXCEPT !.nextIndex[m.src] = Max({1, Min({@ - 1, m.lastLog + 1})})]
Matched(state, m)   == [state EXCEPT !.nextIndex[m.src] = m.index + 1,
                                     !.matchIndexes[m.src] = Max({@, m.index})]

\* The answer to a heartbeat says that the peer follows, and nothing of its log.
HandleAppendEntriesResponse(n, m) ==
    /\ m.type = "AppendEntries" /\ Leads(n) /\ m.term = node[n].currentTerm
    /\ \/ ~m.success /\ Step(n, BackedOff(node[n], m), {})
       \/ m.success /\ m.index # 0 /\ Step(n, Matched(node[n], m), {})

\* Commitment: the matchIndexes in order, and of these the one in the middle.
ProcessLogs(n) ==
    LET state  == node[n]
        quorum == QuorumIndexBySorting(state.matchIndexes)
        index  == IF quorum >= state.startIndex THEN quorum ELSE 0
        new    == state.commitIndex + 1 .. index
        Put(i) == [term |-> state.currentTerm, index |-> i, entry |-> state.log[i]]
        Old(i) == \E c \in committed : c.index = i /\ c.entry = state.log[i]
    IN  /\ Leads(n)
        /\ node' = [node EXCEPT ![n].commitIndex = Max({@, index})]
        /\ committed' = committed \cup {Put(i) : i \in {k \in new : ~Old(k)}}
        /\ UNCHANGED messages

(* THE FOLLOWER n, AND THE REQUEST m ***************************************)
EndOf(m) == m.prevLogEntry + Len(m.entries)
Answer(n, m, after, success) ==
    Step(n, after, {[kind |-> "response", type |-> "AppendEntries", src |-> n, dst |-> m.src, term |-> m.term,
                     success |-> success, lastLog |-> LastIndex(node[n]),
                     index |-> IF m.entries = << >> THEN 0 ELSE EndOf(m)]})

\* Entries that the log holds are skipped.  From the first that it does not hold, it ends as the request does.
Stored(log, m, new) ==
    IF new = {} THEN log
    ELSE SubSeq(log, 1, Min(new) - 1) \o SubSeq(m.entries, Min(new) - m.prevLogEntry, Len(m.entries))

\* commitIndex ends where the request does: what the log holds behind that, the leader may not hold.
AppendEntries(n, m) ==
    LET state == FollowerIn(node[n], m.term)
        holds == TermAt(state, m.prevLogEntry) = m.prevLogTerm
        new   == {i \in m.prevLogEntry + 1 .. EndOf(m) :
                     TermAt(state, i) # m.entries[i - m.prevLogEntry].term}
        after == [state EXCEPT !.log = Stored(@, m, new),
                               !.commitIndex = Max({@, Min({m.leaderCommitIndex, EndOf(m)})})]
    IN  /\ m.type = "AppendEntries" /\ m.term >= node[n].currentTerm
        /\ Answer(n, m, IF holds THEN after ELSE state, holds)

(* THE SPEC, AND ITS PROPERTIES ********************************************)
Next ==
    \/ messages' \in UnderWay(messages) /\ UNCHANGED <<node, committed>>
    \/ \E n \in Node :
       \/ HigherTerm(n) \/ StepDown(n) \/ Restart(n) \/ ElectSelf(n)
       \/ DispatchLogs(n) \/ ProcessLogs(n) \/ \E p \in Peers(n) : ReplicateTo(n, p)
       \/ \E m \in {x \in messages : x.dst = n} :
          \/ m.kind = "request" /\ (RequestVote(n, m) \/ AppendEntries(n, m))
          \/ m.kind = "response" /\ (HandleRequestVoteResponse(n, m) \/ HandleAppendEntriesResponse(n, m))

Spec == Init /\ [][Next]_<<node, messages, committed>>

IndexOrder == \A n \in Node : /\ node[n].commitIndex <= LastIndex(node[n])
                              /\ \A p \in Node : node[n].matchIndexes[p] <= LastIndex(node[n])
ElectionSafety == \A n, m \in Node :
    Leads(n) /\ Leads(m) /\ node[n].currentTerm = node[m].currentTerm => n = m
LogMatching == \A n, m \in Node : \A i \in 2..LastIndex(node[n]) :
    TermAt(node[m], i) = TermAt(node[n], i) => \A k \in 1..i : node[m].log[k] = node[n].log[k]
LeaderCompleteness == \A n \in Node : \A c \in committed :
    Leads(n) /\ c.term <= node[n].currentTerm => Holds(node[n], c.index, c.entry)
=============================================================================
