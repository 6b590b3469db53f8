----------------------------- MODULE Properties -----------------------------
(***************************************************************************)
(* What must hold.  Invariants speak of a state; a name that ends in Prop  *)
(* is a property of every step.                                            *)
(*                                                                         *)
(* Those of Raft's paper have its names.  They speak of what leaders have  *)
(* committed, which `committed` remembers, not of what nodes regard as     *)
(* committed: a node that is down, or cut back, may have forgotten it.     *)
(***************************************************************************)
EXTENDS Messages

-----------------------------------------------------------------------------
(* Invariants.                                                             *)

\* INV TypeOK: every variable has its type.
TypeOK ==
    /\ \A n \in Node : node[n] \in NodeState(n)
    /\ \A n \in Node : \A p \in Peers(n) : \A m \in MessagesIn(network[n][p]) :
         /\ m \in RequestMessage \cup BatchMessage \cup CommitMessage
                  \cup ResponseMessage \cup BatchResponseMessage \cup ElectionMessage
         /\ m.src = n /\ m.dst = p
    /\ \A n \in Node : \A p \in Peers(n) : AreCounted(network[n][p])
    /\ \A e \in elected : e \in [term: Nat, leader: Node]
    /\ \A n \in Node : received[n] \in Queues
    /\ \A c \in committed : c \in [term: Nat, index: Nat, entry: LogEntry \cup {Hole}]
    /\ \A a \in acknowledged : a \in [index: Nat, entry: LogEntry]

\* INV IndexOrder: lastQuorumIndex <= committedIndex <= ledgerEndIndex.
\* Source: the order that the articles on DLedger state.
IndexOrder ==
    \A n \in Node : /\ node[n].lastQuorumIndex <= node[n].committedIndex
                    /\ node[n].committedIndex <= EndIndex(node[n].log)

\* INV ElectionSafety: at most one leader in a term.
\* Source: Raft, Figure 3.
ElectionSafety ==
    /\ \A n, m \in Node : (/\ node[n].role = "LEADER" /\ node[m].role = "LEADER"
                           /\ node[n].currTerm = node[m].currTerm) => n = m
    /\ \A e, f \in elected : e.term = f.term => e.leader = f.leader

\* INV LogMatching: logs that hold the same entry at an index hold the same entry before it.
\* Source: Raft, Figure 3.  Entries are compared whole, value and term.  To step down by one index is enough,
\* since the entry before is then such an entry itself.  A hole is no entry.
LogMatching ==
    \A n, m \in Node : \A i \in 1..Min({EndIndex(node[n].log), EndIndex(node[m].log)}) :
       n # m /\ HasEntry(node[n].log, i) /\ EntryAt(n, i) = EntryAt(m, i)
         => HasEntry(node[n].log, i - 1) /\ EntryAt(n, i - 1) = EntryAt(m, i - 1)

\* INV NoHoles: every index of a log can be read.
\* Source: DLedgerStore.get, which promises an entry for every index from begin to end.
NoHoles ==
    \A n \in Node : \A i \in 0..EndIndex(node[n].log) : HasEntry(node[n].log, i)

\* item has an index and an entry, as the elements of `committed` and `acknowledged` have.
Holds(log, item) == HasEntry(log, item.index) /\ Entry(log, item.index) = item.entry

\* INV LeaderCompleteness: a leader holds every entry that was committed up to its term.
\* Source: Raft, Figure 3.
LeaderCompleteness ==
    \A n \in Node : node[n].role = "LEADER" =>
       \A c \in committed : c.term <= node[n].currTerm => Holds(node[n].log, c)

\* INV StateMachineSafety: what a node regards as committed is what a leader committed there, ever.
\* Source: Raft, Figure 3.  Of two leaders that commit different entries at one index, the second
\* has its own at that index and regards it as committed.
StateMachineSafety ==
    \A n \in Node : \A c \in committed :
       c.index <= CommittedEnd(node[n]) => EntryAt(n, c.index) = c.entry

\* INV AcknowledgedIsDurable: an entry that a client was answered for is stored by a quorum.
\* Source: Raft 8: a leader answers once the entry is committed.
AcknowledgedIsDurable ==
    \A a \in acknowledged : IsQuorum({n \in Node : Holds(node[n].log, a)}, Node)

\* INV AppliedIsCommitted: a state machine applies what its node knows to be committed.
\* Source: Raft, Figure 2: lastApplied follows commitIndex.
AppliedIsCommitted ==
    \A n \in Node : node[n].lastAppliedIndex <= node[n].committedIndex

-----------------------------------------------------------------------------
(* Properties of steps.                                                    *)

\* PROP CommittedEntriesStayProp: no step removes a committed entry from a log that holds it.
CommittedEntriesStayProp ==
    [][\A n \in Node : \A c \in committed : Holds(node[n].log, c) => Holds(node'[n].log, c)]_vars

\* n runs before the step and after it.
KeepsRunning(n) == node[n].role # "DOWN" /\ node'[n].role # "DOWN"

\* n is in one term before the step and after it.
StaysInTerm(n) == node'[n].currTerm = node[n].currTerm

\* PROP CommittedMonotonicProp: a node that runs never takes back what it knows to be committed.
CommittedMonotonicProp ==
    [][\A n \in Node : KeepsRunning(n) => node'[n].committedIndex >= node[n].committedIndex]_vars

\* PROP WatermarkMonotonicWithinTermProp: within a term watermarks only grow.
WatermarkMonotonicWithinTermProp ==
    [][\A n, p \in Node : KeepsRunning(n) /\ StaysInTerm(n)
                             => node'[n].peerWaterMarks[p] >= node[n].peerWaterMarks[p]]_vars

\* PROP LeaderAppendOnlyProp: a leader neither removes nor overwrites an entry of its log.
LeaderAppendOnlyProp ==
    [][\A n \in Node : node[n].role = "LEADER" /\ node'[n].role = "LEADER" /\ node'[n].log # node[n].log
                          => /\ Len(node'[n].log) > Len(node[n].log)
                             /\ SubSeq(node'[n].log, 1, Len(node[n].log)) = node[n].log]_vars

\* PROP VoteOncePerTermProp: a node that voted in a term gives no other vote in it, crash or not.
VoteOncePerTermProp ==
    [][\A n \in Node : StaysInTerm(n) /\ node[n].currVoteFor # NoNode
                          => node'[n].currVoteFor = node[n].currVoteFor]_vars

\* PROP RecoveryKeepsLogProp: a node comes back with the log it went down with.
RecoveryKeepsLogProp ==
    [][\A n \in Node : (node[n].role = "DOWN" /\ node'[n].role # "DOWN")
                          => node'[n].log = node[n].log]_vars

=============================================================================
