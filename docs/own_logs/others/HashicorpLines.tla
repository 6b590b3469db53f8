------------------------- MODULE HashicorpLines -------------------------
\* What servers of hashicorp/raft v1.7.3 write into their logs at level INFO: elections, leaderships, snapshots, compactions.
\*
\* No line says that a server learns a term, asks for votes, or votes. So `term` is the greatest term in its lines, and
\* it may have learned a later one; and who votes is left open: a candidate wins with servers that were able to vote for it.
\* Above each action stands its line, and where that is written. The main loop of a server writes the lines on its role;
\* those of other goroutines come in between.
EXTENDS Naturals, FiniteSets

CONSTANTS
    Server,     \* the voters
    Number,     \* terms and indexes
    FirstTerm,  \* the latest term before the logs begin; BootstrapCluster makes it 1
    PreVote,    \* whether servers ask for pre-votes: config.go, PreVoteDisabled
    Copies      \* whether the network may deliver a request twice; a connection of TCP does not

VARIABLES
    role,       \* what the main loop of each server does
    term,       \* the greatest term that is known of a server
    asked,      \* who may have asked for votes, in which term, and who was able to vote then
    won,        \* who has won which term, and with how many votes
    applied,    \* up to which index its FSM has applied for certain, since the server started
    taking,     \* the index of the snapshot that is being taken, or 0
    restoring,  \* the index of the snapshot that is being restored, or 0
    resetting,  \* whether a log store that must have no gaps is being emptied
    snapshot,   \* the index of its last snapshot
    compacted,  \* up to where its log was compacted last, and the snapshot that allowed it
    cleared     \* from where the end of its log was deleted last, and what it had applied

electing == <<asked, won>>
storing == <<applied, taking, restoring, resetting, snapshot, compacted, cleared>>
vars == <<role, term, electing, storing>>

Nobody == ""
Quorum == Cardinality(Server) \div 2 + 1
Max(a, b) == IF a > b THEN a ELSE b

Unknown ==
    /\ term = [s \in Server |-> 0]
    /\ asked = {}
    /\ applied = [s \in Server |-> 0]
    /\ taking = [s \in Server |-> 0]
    /\ restoring = [s \in Server |-> 0]
    /\ resetting = [s \in Server |-> FALSE]
    /\ snapshot = [s \in Server |-> 0]
    /\ compacted = [s \in Server |-> [to |-> 0, snapshot |-> 0]]
    /\ cleared = [s \in Server |-> [from |-> 1, applied |-> 0]]

Init ==
    /\ role = [s \in Server |-> "Down"]
    /\ won = {}
    /\ Unknown

\* Where logs may begin that do not begin with the servers: while nobody is a candidate, restores a snapshot or takes one.
Middle ==
    /\ role \in [Server -> {"Down", "Follower", "Leader"}]
    /\ won \in {{}} \union {{[term |-> FirstTerm, by |-> s, tally |-> Quorum]} : s \in Server}
    /\ Unknown

Becomes(s, new) == role' = [role EXCEPT ![s] = new]
Running(s) == role[s] # "Down"

\* ---- A server starts; that it stopped has no line ----

Afresh(s) ==
    /\ applied' = [applied EXCEPT ![s] = 0]
    /\ taking' = [taking EXCEPT ![s] = 0]
    /\ resetting' = [resetting EXCEPT ![s] = FALSE]
    /\ UNCHANGED <<term, electing, snapshot, compacted, cleared>>

\* "starting restore from snapshot" (api.go:689), before the next line if there is a snapshot.
StartRestore(s, index) ==
    /\ Becomes(s, "Down")
    /\ restoring' = [restoring EXCEPT ![s] = index]
    /\ Afresh(s)

\* "restored from snapshot" (api.go:704)
Restored(s, index) ==
    /\ role[s] = "Down"
    /\ restoring[s] = index
    /\ restoring' = [restoring EXCEPT ![s] = 0]
    /\ applied' = [applied EXCEPT ![s] = index]
    /\ snapshot' = [snapshot EXCEPT ![s] = index]
    /\ UNCHANGED <<role, term, electing, taking, resetting, compacted, cleared>>

\* "initial configuration" (api.go:609)
Start(s) ==
    /\ Becomes(s, "Starting")
    /\ IF Running(s)
       THEN Afresh(s) /\ restoring' = [restoring EXCEPT ![s] = 0]
       ELSE UNCHANGED <<term, electing, storing>>

\* ---- Elections ----

\* A candidate has asked for votes when its main loop goes on to anything else, and then it is in the term of its election.
Reached(s) == IF role[s] = "Candidate" THEN term[s] + 1 ELSE term[s]

\* A server knows a leader only of its own term: an earliest one that this leader has won.
Knows(s, leader) ==
    LET terms == {w.term : w \in {w \in won : w.by = leader /\ w.term >= Reached(s)}}
    IN IF leader = Nobody
       THEN term' = [term EXCEPT ![s] = Reached(s)]
       ELSE terms # {} /\ term' = [term EXCEPT ![s] = CHOOSE t \in terms : \A u \in terms : t <= u]

\* "entering follower state" (raft.go:161). After an AppendEntries, or a request for a vote, no other line comes before.
EnterFollower(s, leader) ==
    /\ role[s] \notin {"Down", "Follower"}
    /\ Becomes(s, "Follower")
    /\ Knows(s, leader)
    /\ UNCHANGED <<electing, storing>>

\* "heartbeat timeout reached, starting election" (raft.go:243)
HeartbeatTimeout(s, leader) ==
    /\ role[s] = "Follower"
    /\ Becomes(s, "TimedOut")
    /\ Knows(s, leader)
    /\ UNCHANGED <<electing, storing>>

\* The servers that were in no later term when the candidate asks are able to vote, and each is asked once (raft.go:1976).
Asks(s, t) == asked' = asked \union {[term |-> t, by |-> s, electors |-> {v \in Server : term[v] <= t}]}

\* "entering candidate state" (raft.go:287), in the term before the one in the line. Terms never fall (raft.go:2141),
\* and somebody has asked for votes in that one. Without a timeout it is a transfer of leadership, which needs no pre-vote.
EnterCandidate(s, t) ==
    /\ role[s] \in {"TimedOut", "Follower", "Leader"}
    /\ term[s] < t
    /\ t - 1 <= FirstTerm \/ \E a \in asked : a.term = t - 1
    /\ term' = [term EXCEPT ![s] = t - 1]
    /\ IF PreVote /\ role[s] = "TimedOut"
       THEN Becomes(s, "PreCandidate") /\ UNCHANGED asked
       ELSE Becomes(s, "Candidate") /\ Asks(s, t)
    /\ UNCHANGED <<won, storing>>

\* "pre-vote successful, starting election" (raft.go:349)
WinPreVote(s, t, tally, needed) ==
    /\ role[s] = "PreCandidate"
    /\ t = term[s] + 1
    /\ needed = Quorum
    /\ tally >= needed
    /\ Becomes(s, "Candidate")
    /\ Asks(s, t)
    /\ UNCHANGED <<term, won, storing>>

\* "duplicate requestVote for same term" (raft.go:1699): the server is in that term, and has voted for somebody.
VotedAlready(s, t) ==
    /\ Reached(s) <= t
    /\ \E a \in asked : a.term = t
    /\ IF role[s] = "Candidate" THEN Reached(s) = t /\ UNCHANGED term ELSE term' = [term EXCEPT ![s] = t]
    /\ UNCHANGED <<role, electing, storing>>

\* "duplicate requestVote from" (raft.go:1701): the vote was for the candidate that asks. So its request has come before.
AskedAgain(s, c) ==
    /\ Copies
    /\ \E a \in asked : a.by = c /\ a.term >= term[s]
    /\ UNCHANGED vars

\* "Election timeout reached, restarting election" (raft.go:433)
ElectionTimeout(s) ==
    /\ role[s] \in {"PreCandidate", "Candidate"}
    /\ Becomes(s, "TimedOut")
    /\ term' = [term EXCEPT ![s] = Reached(s)]
    /\ UNCHANGED <<electing, storing>>

\* "election won" (raft.go:381)
Win(s, t, tally) ==
    /\ role[s] = "Candidate"
    /\ t = Reached(s)
    /\ \E a \in asked : a.by = s /\ a.term = t /\ Cardinality(a.electors) >= tally
    /\ Becomes(s, "Won")
    /\ term' = [term EXCEPT ![s] = t]
    /\ won' = won \union {[term |-> t, by |-> s, tally |-> tally]}
    /\ UNCHANGED <<asked, storing>>

\* "entering leader state" (raft.go:469)
EnterLeader(s) ==
    /\ role[s] = "Won"
    /\ Becomes(s, "Leader")
    /\ UNCHANGED <<term, electing, storing>>

\* "failed to contact quorum of nodes, stepping down" (raft.go:1076), "new leader elected, stepping down" (raft.go:855),
\* "removed ourself, transitioning to follower" (raft.go:843)
StepDown(s) ==
    /\ role[s] = "Leader"
    /\ Becomes(s, "Leaving")
    /\ UNCHANGED <<term, electing, storing>>

\* ---- Snapshots and the log: goroutines beside each other ----

\* "starting snapshot up to" (snapshot.go:179): the FSM has applied that.
StartSnapshot(s, index) ==
    /\ Running(s)
    /\ taking[s] = 0
    /\ taking' = [taking EXCEPT ![s] = index]
    /\ applied' = [applied EXCEPT ![s] = Max(@, index)]
    /\ UNCHANGED <<role, term, electing, restoring, resetting, snapshot, compacted, cleared>>

\* "snapshot complete up to" (snapshot.go:209)
CompleteSnapshot(s, index) ==
    /\ taking[s] = index
    /\ taking' = [taking EXCEPT ![s] = 0]
    /\ snapshot' = [snapshot EXCEPT ![s] = index]
    /\ UNCHANGED <<role, term, electing, applied, restoring, resetting, compacted, cleared>>

\* "failed to take snapshot" (snapshot.go:83 and 90), also where there was nothing to take
GiveUpSnapshot(s) ==
    /\ taking' = [taking EXCEPT ![s] = 0]
    /\ UNCHANGED <<role, term, electing, applied, restoring, resetting, snapshot, compacted, cleared>>

\* "snapshot restore progress" (progress.go:83): at least once while the FSM restores a snapshot
Restore(s, index) ==
    /\ Running(s) \/ restoring[s] = index
    /\ restoring' = [restoring EXCEPT ![s] = index]
    /\ UNCHANGED <<role, term, electing, applied, taking, resetting, snapshot, compacted, cleared>>

\* "Installed remote snapshot" (raft.go:1950), "restored user snapshot" (raft.go:1196)
Install(s) ==
    /\ Running(s)
    /\ restoring[s] # 0
    /\ applied' = [applied EXCEPT ![s] = restoring[s]]
    /\ snapshot' = [snapshot EXCEPT ![s] = restoring[s]]
    /\ restoring' = [restoring EXCEPT ![s] = 0]
    /\ resetting' = [resetting EXCEPT ![s] = FALSE]
    /\ UNCHANGED <<role, term, electing, taking, compacted, cleared>>

\* "failed to restore snapshot" (raft.go:1925, api.go:699)
GiveUpRestore(s) ==
    /\ restoring' = [restoring EXCEPT ![s] = 0]
    /\ UNCHANGED <<role, term, electing, applied, taking, resetting, snapshot, compacted, cleared>>

\* "removing all old logs from log store" (snapshot.go:272)
ResetLog(s) ==
    /\ restoring[s] # 0
    /\ resetting' = [resetting EXCEPT ![s] = TRUE]
    /\ UNCHANGED <<role, term, electing, applied, taking, restoring, snapshot, compacted, cleared>>

\* "compacting logs" (snapshot.go:241): after a snapshot was taken, or restored.
Compact(s, from, to) ==
    /\ taking[s] # 0 \/ restoring[s] # 0
    /\ from <= to
    /\ LET allowed == IF resetting[s] THEN to ELSE Max(taking[s], restoring[s])
       IN compacted' = [compacted EXCEPT ![s] = [to |-> to, snapshot |-> allowed]]
    /\ UNCHANGED <<role, term, electing, applied, taking, restoring, resetting, snapshot, cleared>>

\* "clearing log suffix" (raft.go:1524): entries of the log differ from the leader's.
ClearSuffix(s, from, to) ==
    /\ Running(s)
    /\ from <= to
    /\ cleared' = [cleared EXCEPT ![s] = [from |-> from, applied |-> Max(applied[s], snapshot[s])]]
    /\ UNCHANGED <<role, term, electing, applied, taking, restoring, resetting, snapshot, compacted>>

Next ==
    \E s \in Server :
        \/ Start(s)
        \/ \E leader \in Server \union {Nobody} : EnterFollower(s, leader) \/ HeartbeatTimeout(s, leader)
        \/ \E t \in Number : EnterCandidate(s, t)
        \/ \E t, tally, needed \in Number : WinPreVote(s, t, tally, needed)
        \/ \E t \in Number : VotedAlready(s, t)
        \/ \E c \in Server : AskedAgain(s, c)
        \/ ElectionTimeout(s)
        \/ \E t, tally \in Number : Win(s, t, tally)
        \/ EnterLeader(s)
        \/ StepDown(s)
        \/ \E index \in Number : StartRestore(s, index) \/ Restored(s, index) \/ Restore(s, index)
        \/ \E index \in Number : StartSnapshot(s, index) \/ CompleteSnapshot(s, index)
        \/ GiveUpSnapshot(s) \/ Install(s) \/ GiveUpRestore(s) \/ ResetLog(s)
        \/ \E from, to \in Number : Compact(s, from, to) \/ ClearSuffix(s, from, to)

Spec == Init /\ [][Next]_vars

\* ---- What an operator wants to know ----

\* The Raft paper, section 5.2: at most one leader is elected in a term, by a majority. Each server votes once in a term
\* (raft.go:1698), and a candidate that has too few votes goes on waiting (raft.go:380).
OneLeaderPerTerm == \A a, b \in won : a.term = b.term => a.by = b.by
WonByQuorum == \A w \in won : w.tally >= Quorum

\* compactLogsWithTrailing deletes up to the snapshot, or less (snapshot.go:234).
CompactedIsInSnapshot == \A s \in Server : compacted[s].to <= compacted[s].snapshot

\* What is applied is committed, and appendEntries must not delete that (the Raft paper, section 5.4.3).
NothingAppliedIsCleared == \A s \in Server : cleared[s].from > cleared[s].applied

\* A server that has a snapshot never needs an older one, also after it starts anew.
SnapshotsNeverFall == [][\A s \in Server : snapshot'[s] >= snapshot[s]]_vars

\* An FSM goes back only when its server starts.
AppliedNeverFalls == [][\A s \in Server : applied'[s] >= applied[s] \/ role'[s] \in {"Down", "Starting"}]_vars
=========================================================================
