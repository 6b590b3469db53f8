----------------------------- MODULE Properties -----------------------------
(***************************************************************************)
(* The properties that must hold.  Invariants speak of a state; a name     *)
(* that ends in Prop is a property of every step.                          *)
(*                                                                         *)
(* Those of Raft's paper have its names.  They speak of what leaders have  *)
(* committed, which `committed` remembers, and of what FSMs have applied,  *)
(* not of what a server takes for committed: it forgets that in a crash.   *)
(***************************************************************************)
EXTENDS Messages

-----------------------------------------------------------------------------
(* Invariants.                                                             *)

\* The newest first, and no more than the store keeps.
AreRetained(snapshots) ==
    /\ Len(snapshots) <= RetainSnapshots
    /\ \A k \in 2..Len(snapshots) : ~Newer(snapshots[k], snapshots[k - 1])

\* INV TypeOK: every variable has its type.
TypeOK ==
    /\ \A n \in Node : WithoutLog(node[n]) \in NodeState
    /\ \A n \in Node : AreRetained(node[n].snapshots)
    /\ \A n \in Node : IsFiniteSet(DOMAIN node[n].log)
    /\ \A n \in Node : \A i \in DOMAIN node[n].log : i \in Nat \ {0} /\ node[n].log[i] \in Entry
    /\ \A n \in Node : \A p \in Peers(n) : \A m \in MessagesIn(network[n][p]) :
         IsMessage(m) /\ m.src = n /\ m.dst = p
    /\ \A n \in Node : \A p \in Peers(n) : AreCounted(network[n][p])
    /\ \A e \in elected : e \in [term: Nat, leader: Node]
    /\ \A c \in committed : c \in [term: Nat, index: Nat, entry: Entry]
    /\ \A v \in verified : v \in [term: Nat, leader: Node, superseded: BOOLEAN]

\* INV ElectionSafety: at most one leader in a term.
\* Source: Raft, Figure 3.
ElectionSafety ==
    \A e, f \in elected : e.term = f.term => e.leader = f.leader

\* The indexes behind the last snapshot of a server at which its log has an entry.
BehindSnapshot(state) == DOMAIN state.log \ (0..state.lastSnapshot.index)
IsBehind(state, i)    == HasEntry(state, i) /\ i > state.lastSnapshot.index
BehindBoth(n, m)      == BehindSnapshot(node[n]) \cap BehindSnapshot(node[m])

SameTerm(n, m, i)  == node[n].log[i].term = node[m].log[i].term
SameEntry(n, m, i) == node[n].log[i] = node[m].log[i]

\* Some index between the least and the greatest is missing.
AreBroken(indexes) == indexes # {} /\ Cardinality(indexes) <= Max(indexes) - Min(indexes)

\* INV LogMatching: two logs with an entry of the same index and term have the same entries up to there, as
\* far as they have them.
\* Source: Raft, Figure 3.  What a snapshot covers is not asked for: there a log may have gaps.  To step down
\* by one index is enough, since the entry before is then such an entry itself; but for a gap behind both
\* snapshots, which only flaws leave.
LogMatching ==
    \A n \in Node : \A m \in Peers(n) :
       /\ \A i \in BehindBoth(n, m) :
             SameTerm(n, m, i)
               => /\ SameEntry(n, m, i)
                  /\ IsBehind(node[n], i - 1) /\ IsBehind(node[m], i - 1) => SameEntry(n, m, i - 1)
       /\ AreBroken(BehindBoth(n, m))
             => LET equal == {i \in BehindBoth(n, m) : SameTerm(n, m, i)}
                IN  \A i \in BehindBoth(n, m) : equal # {} /\ i <= Max(equal) => SameEntry(n, m, i)

\* The last index that a snapshot of the server covers.
LastCovered(state) == Max({0} \cup {state.snapshots[k].index : k \in DOMAIN state.snapshots})

\* The server has the entry, or a snapshot in its place.
Holds(state, c) ==
    \/ HasEntry(state, c.index) /\ state.log[c.index] = c.entry
    \/ c.index <= LastCovered(state)

\* INV LeaderCompleteness: a leader holds every entry that was committed in an earlier term, or in its own.
\* Source: Raft, Figure 3.
LeaderCompleteness ==
    \A n \in Node : node[n].role = "Leader" =>
       \A c \in committed : c.term <= node[n].currentTerm => Holds(node[n], c)

\* The entries that the FSM of a server has applied, each with its index.
AppliedBy(n) == {node[n].fsm.applied[i] : i \in 1..Len(node[n].fsm.applied)}

\* A leader has committed the entry at its index.
WasCommitted(item) == \E c \in committed : c.index = item.index /\ c.entry = item.entry

\* INV StateMachineSafety: no two servers apply different entries at one index, nor does one server.  A server
\* forgets in a crash what it had applied; that leaders had committed it is remembered: where one applies what
\* was committed, nothing else was.
\* Source: Raft, Figure 3.
StateMachineSafety ==
    /\ \A n, m \in Node : \A a \in AppliedBy(n) : \A b \in AppliedBy(m) :
          b.index = a.index => b.entry = a.entry
    /\ \A n \in Node : \A a \in AppliedBy(n) : \A c \in committed :
          c.index = a.index /\ c.entry # a.entry => ~WasCommitted(a)

\* INV AppliedIsCommitted: an FSM applies what a leader has committed, in the order of the log.
AppliedIsCommitted ==
    \A n \in Node :
       /\ \A a \in AppliedBy(n) : WasCommitted(a)
       /\ \A i \in 2..Len(node[n].fsm.applied) :
             node[n].fsm.applied[i - 1].index < node[n].fsm.applied[i].index

\* INV SeedIndexOrder: the order of indexes that a published description states.  It does not hold.
\* A server that has just started has commitIndex 0, even with a snapshot.
SeedIndexOrder ==
    \A n \in Node : node[n].role # "Shutdown" =>
       /\ node[n].lastSnapshot.index <= node[n].lastApplied
       /\ node[n].lastApplied <= node[n].commitIndex
       /\ node[n].commitIndex <= node[n].lastLog.index

\* INV IndexOrder: the order that does hold.
IndexOrder ==
    \A n \in Node : node[n].role # "Shutdown" =>
       /\ node[n].lastSnapshot.index <= node[n].lastApplied
       /\ node[n].lastApplied <= LastIndex(node[n])
       /\ node[n].commitIndex <= LastIndex(node[n])

\* INV LastLogIsEnd: lastLog is the end of the log, behind the snapshot.
LastLogIsEnd ==
    \A n \in Node :
       LET ends == {node[n].lastLog.index, EndOf(node[n].log).index}
       IN  node[n].role # "Shutdown" /\ Max(ends) > node[n].lastSnapshot.index
             => node[n].lastLog = EndOf(node[n].log)

\* INV LogAgreesWithSnapshot: a log that has an entry at the index of its server's last snapshot has the
\* snapshot's term there.  Else the server refuses what comes next, and is sent the same snapshot for ever.
LogAgreesWithSnapshot ==
    \A n \in Node : LET place == node[n].lastSnapshot IN
       node[n].role # "Shutdown" =>
          /\ HasEntry(node[n], place.index) => node[n].log[place.index].term = place.term
          /\ node[n].lastLog.index = place.index => node[n].lastLog = place

\* INV OneChangeAtATime: a leader's log has one configuration at most that is not committed.
IsOpenChange(n, i) ==
    /\ i > 1 /\ node[n].log[i].type = "Configuration"
    /\ ~\E c \in committed : c.index = i /\ c.entry = node[n].log[i]
OneChangeAtATime ==
    \A n \in Node : node[n].role = "Leader" =>
       \A i \in BehindSnapshot(node[n]) : IsOpenChange(n, i) =>
          \A j \in BehindSnapshot(node[n]) : IsOpenChange(n, j) => i = j

\* INV VerifiedLeads: VerifyLeader confirms a leader only if no newer one had been elected when the client
\* asked.
VerifiedLeads ==
    \A v \in verified : ~v.superseded

\* INV TransferIsOwn: a leader refuses entries for a transfer of this leadership, not of an earlier one.
TransferIsOwn ==
    \A n \in Node : node[n].role = "Leader" /\ node[n].transfer.inProgress
                      => node[n].transfer.term = node[n].currentTerm

-----------------------------------------------------------------------------
(* Properties of steps.                                                    *)

\* n runs before the step and after it.
StaysUp(n) == node[n].role # "Shutdown" /\ node'[n].role # "Shutdown"

\* PROP VoteOncePerTermProp: a server that has recorded a vote records no other in that term, crash or not.
VoteOncePerTermProp ==
    [][\A n \in Node : node'[n].lastVoteTerm = node[n].lastVoteTerm /\ node[n].lastVoteCand # NoNode
                          => node'[n].lastVoteCand = node[n].lastVoteCand]_vars

\* PROP TermsRiseProp: the term of a server never falls, crash or not.
TermsRiseProp ==
    [][\A n \in Node : node'[n].currentTerm >= node[n].currentTerm]_vars

\* PROP LeaderAppendOnlyProp: a leader neither removes nor overwrites an entry behind its snapshot.
\* Source: Raft, Figure 3.
LeaderAppendOnlyProp ==
    [][\A n \in Node : node[n].role = "Leader" /\ node'[n].role = "Leader"
          => \A i \in DOMAIN node[n].log : i > node'[n].lastSnapshot.index
                => i \in DOMAIN node'[n].log /\ node'[n].log[i] = node[n].log[i]]_vars

\* PROP CommittedEntriesStayProp: no step removes a committed entry from a server that holds it.
CommittedEntriesStayProp ==
    [][\A n \in Node : \A c \in committed : Holds(node[n], c) => Holds(node'[n], c)]_vars

\* PROP FsmNeverGoesBackProp: while a server runs, its FSM is never set back.
FsmNeverGoesBackProp ==
    [][\A n \in Node : StaysUp(n) => node'[n].fsm.index >= node[n].fsm.index]_vars

\* PROP SnapshotsRiseProp: while a server runs, its last snapshot is never an older one.
SnapshotsRiseProp ==
    [][\A n \in Node : StaysUp(n) => node'[n].lastSnapshot.index >= node[n].lastSnapshot.index]_vars

\* PROP CommitMonotonicProp: while a server runs, its commitIndex never falls.
CommitMonotonicProp ==
    [][\A n \in Node : StaysUp(n) => node'[n].commitIndex >= node[n].commitIndex]_vars

=============================================================================
