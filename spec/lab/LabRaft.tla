------------------------------- MODULE LabRaft -------------------------------
(***************************************************************************)
(* Figure 2 of the Raft paper ("In Search of an Understandable Consensus   *)
(* Algorithm", extended version), as the lines of a student's program are  *)
(* checked against it.  Each action is a line: what a server did, with the *)
(* arguments of the message that it handled.  The comment behind a         *)
(* condition names its rule in Figure 2.                                   *)
(*                                                                         *)
(* Messages may be lost, doubled, delayed and re-ordered, so none is kept: *)
(* what may arrive follows from what a candidate or leader of a term was   *)
(* (campaigns, ballots, led).  How a leader lowers nextIndex is free.      *)
(* Snapshots are left out.                                                 *)
(***************************************************************************)
EXTENDS LabElections

(* THE LOG *****************************************************************)
\* ACTION Start: a leader gets a command.
Start(n, index, cmd) ==
    LET s == node[n]
        log == Append(s.log, [term |-> s.term, cmd |-> cmd])
    IN  /\ s.role = "leader"                                      \* Rules for Servers, Leaders 2: leader
        /\ index = Len(log)                                       \* Rules for Servers, Leaders 2: append
        /\ Step(n, [s EXCEPT !.log = log])
        /\ led' = [led EXCEPT ![s.term].log = log, ![s.term].stored[n] = Len(log)]
        /\ UNCHANGED <<group, campaigns, ballots, decided>>

\* What the leader of a term sent: a part of its log, and its commitIndex.
IsOfLeader(from, term, prev, prevTerm, count, newTerm, known) ==
    /\ term \in DOMAIN led                                        \* AppendEntries RPC, arguments: term
    /\ led[term].leader = from                                    \* AppendEntries RPC, arguments: leaderId
    /\ prev <= Len(led[term].log)                                \* AppendEntries RPC, arguments: prevLogIndex
    /\ prevTerm = TermAt(led[term].log, prev)                     \* AppendEntries RPC, arguments: prevLogTerm
    /\ prev + count <= Len(led[term].log)                         \* AppendEntries RPC, arguments: entries[]
    /\ count > 0 => newTerm = TermAt(led[term].log, prev + count) \* AppendEntries RPC, arguments: entries[]
    /\ known <= led[term].commit                                 \* AppendEntries RPC, arguments: leaderCommit
HadEntries(d, term, end) ==
    \/ d.term > term
    \/ d.term = term /\ Len(d.log) >= end /\ TermAt(d.log, end) = TermAt(led[term].log, end)
Holds(log, prev, prevTerm) ==
    /\ prev <= Len(log)                                           \* AppendEntries RPC, receiver 2
    /\ TermAt(log, prev) = prevTerm                               \* AppendEntries RPC, receiver 2

\* In AppendEntries, n may also note in votedFor who leads.
MayNote(voted, vote, from) == vote \in {voted, from}             \* State, persistent: votedFor

\* What was committed stays.
Keeps(s, log) == \A i \in 1..s.commit : i <= Len(log) /\ log[i] = s.log[i]  \* State Machine Safety (5.4.3)

\* The entries that are not the leader's; and up to where n may commit.
Clashes(log, new, prev) == {i \in prev + 1 .. Min(Len(new), Len(log)) : log[i].term # new[i].term}
Bound(known, end, length) == Min(known, end)

\* ACTION StoreEntries: n accepts AppendEntries; then its log ends at `last`, and commitIndex is `commit`.
StoreEntries(n, from, term, prev, prevTerm, count, newTerm, known, reply, vote, last, commit) ==
    LET s == node[n]
        voter == Follower(InTerm(s, term))
        end == prev + count
        new == SubSeq(led[term].log, 1, end)
        clash == Clashes(s.log, new, prev)
        log == IF clash = {} /\ Len(s.log) >= end THEN s.log
               ELSE SubSeq(s.log, 1, Min(prev, Len(s.log))) \o SubSeq(new, prev + 1, end)
        bound == Max(s.commit, Bound(known, end, Len(log)))
        HadDone(d) == HadEntries(d, term, end)
    IN  /\ IsOfLeader(from, term, prev, prevTerm, count, newTerm, known)
        /\ term >= s.term                                         \* AppendEntries RPC, receiver 1
        /\ Holds(s.log, prev, prevTerm)
        /\ clash = {} => last >= Len(s.log)                 \* AppendEntries RPC, receiver 3: only on conflict
        /\ clash # {} => last <= end                     \* AppendEntries RPC, receiver 3: delete what follows
        /\ last = Len(log)                                        \* AppendEntries RPC, receiver 4
        /\ commit >= s.commit                                     \* State, volatile: commitIndex increases
        /\ commit <= bound                                        \* AppendEntries RPC, receiver 5
        /\ Literal => commit = bound                              \* AppendEntries RPC, receiver 5
        /\ Literal => reply = term                                \* AppendEntries RPC, results: term
        /\ MayNote(voter.vote, vote, from)
        /\ Literal => vote = voter.vote                           \* State, persistent: votedFor
        /\ Keeps(s, log)
        /\ StepHearing(n, [voter EXCEPT !.vote = vote, !.log = log, !.commit = commit], from, HadDone)
        /\ led' = [led EXCEPT ![term].stored[n] = Max(@, end)]
        /\ UNCHANGED <<group, campaigns, ballots, decided>>

\* ACTION RefuseEntries: n does not accept AppendEntries.  It may cut the entry that is not the leader's.
RefuseEntries(n, from, term, prev, prevTerm, count, newTerm, known, reply, now, vote, last) ==
    LET s == node[n]
        voter == IF now = term THEN Follower(InTerm(s, now)) ELSE s
        holds == Holds(s.log, prev, prevTerm)
        isOld == term < s.term
        log == SubSeq(s.log, 1, last)
        HadDone(d) == HadEntries(d, term, prev + count)
    IN  /\ IsOfLeader(from, term, prev, prevTerm, count, newTerm, known)
        /\ now \in {s.term, InTerm(s, term).term}                 \* Rules for Servers, All Servers 2
        /\ Literal => now = InTerm(s, term).term                  \* Rules for Servers, All Servers 2
        /\ Literal => isOld \/ ~holds                             \* AppendEntries RPC, receiver 2: accept
        /\ last <= Len(s.log)                                   \* AppendEntries RPC, receiver 1 and 2: refuse
        /\ last < Len(s.log) => now = term /\ ~holds
              /\ last = prev - 1                    \* AppendEntries RPC, receiver 3: only on conflict
        /\ Literal => reply = now                                 \* AppendEntries RPC, results: term
        /\ MayNote(voter.vote, vote, IF now = term THEN from ELSE voter.vote)
        /\ Literal => vote = voter.vote                           \* State, persistent: votedFor
        /\ Keeps(s, log)
        /\ StepHearing(n, [voter EXCEPT !.vote = vote, !.log = log], from, HadDone)
        /\ UNCHANGED <<group, campaigns, ballots, led, decided>>

IsOwnTerm(term, ofLeader) == term = ofLeader                     \* Rules for Servers, Leaders 4: term (5.4.2)
IsStored(match, stored) == match <= stored                        \* Rules for Servers, Leaders 3: matchIndex

\* The leader n raises commitIndex, if it does.
Commits(n, s, match, commit) ==
    /\ commit >= s.commit                                         \* State, volatile: commitIndex increases
    /\ commit <= Len(s.log)                                       \* Rules for Servers, Leaders 4: N
    /\ LET have == {n} \cup {p \in Server : match[p] >= commit}
       IN  commit > s.commit => 2 * Cardinality(have) > group     \* Rules for Servers, Leaders 4: majority
    /\ commit > s.commit => IsOwnTerm(TermAt(s.log, commit), s.term)
Leading(commit, term) == led' = [led EXCEPT ![term].commit = Max(@, commit)]

\* ACTION Acknowledge: a leader has the answer to AppendEntries of a term; then its matchIndex is `match`.
Acknowledge(n, from, asked, prev, count, ok, reply, now, match, commit) ==
    LET s == node[n]
        after == InTerm(s, now)
        end == prev + count
        known == [s.match EXCEPT ![from] = match]
        HadDone(d) == /\ d.term >= reply /\ (ok => HadEntries(d, asked, end))
                      /\ after.role = "leader" /\ match > 0 => HadEntries(d, s.term, match)
    IN  /\ asked \in DOMAIN led /\ led[asked].leader = n          \* AppendEntries RPC, arguments: term
        /\ ok => led[asked].stored[from] >= end                   \* AppendEntries RPC, results: success
        /\ reply <= node[from].term                               \* AppendEntries RPC, results: term
        /\ now \in {s.term, InTerm(s, reply).term}                \* Rules for Servers, All Servers 2
        /\ Literal => now = InTerm(s, reply).term                 \* Rules for Servers, All Servers 2
        /\ IF after.role = "leader"
           THEN /\ IsStored(match, led[now].stored[from])
                /\ Literal => (ok /\ asked = now => match >= end) \* Rules for Servers, Leaders 3: matchIndex
                /\ Commits(n, s, known, commit)
                /\ StepHearing(n, [after EXCEPT !.match = known, !.commit = commit], from, HadDone)
                /\ Leading(commit, now)
           ELSE StepHearing(n, after, from, HadDone) /\ UNCHANGED led
        /\ UNCHANGED <<group, campaigns, ballots, decided>>

\* ACTION Commit: a leader raises commitIndex, if it did not when it got the last answer.
Commit(n, commit) ==
    LET s == node[n]
    IN  /\ s.role = "leader"                                      \* Rules for Servers, Leaders 4: leader
        /\ Commits(n, s, s.match, commit)
        /\ Step(n, [s EXCEPT !.commit = commit])
        /\ Leading(commit, s.term)
        /\ UNCHANGED <<group, campaigns, ballots, decided>>

IsDecided(index, entry) ==
    index <= Len(decided) => decided[index] = entry               \* State Machine Safety (5.4.3)

\* ACTION Apply: n applies an entry to its state machine.
Apply(n, index, cmd) ==
    LET s == node[n]
    IN  /\ index = s.applied + 1                                 \* Rules for Servers, All Servers 1: in order
        /\ index <= s.commit                                  \* Rules for Servers, All Servers 1: commitIndex
        /\ cmd = s.log[index].cmd                        \* Rules for Servers, All Servers 1: log[lastApplied]
        /\ IsDecided(index, s.log[index])
        /\ Step(n, [s EXCEPT !.applied = index])
        /\ decided' = IF index <= Len(decided) THEN decided ELSE Append(decided, s.log[index])
        /\ UNCHANGED <<group, campaigns, ballots, led>>

(* THE SPEC ****************************************************************)
\* The numbers are those of the lines; a model has a Next of its own, with few.
Next ==
    \/ \E n \in Server, of, term, last, lastTerm \in Int, vote \in Server \cup {None} :
       Boot(n, of, term, vote, last, lastTerm)
    \/ \E n \in Server, role \in {"follower", "candidate", "leader"} : Timeout(n, role)
    \/ \E n, from \in Server, term, last, lastTerm, reply \in Int :
       GrantVote(n, from, term, last, lastTerm, reply)
    \/ \E n, from \in Server, term, last, lastTerm, reply, now \in Int :
       RefuseVote(n, from, term, last, lastTerm, reply, now)
    \/ \E n, from \in Server, asked, reply, now \in Int, granted \in BOOLEAN,
          role \in {"follower", "candidate", "leader"} :
       CountVote(n, from, asked, reply, granted, now, role)
    \/ \E n \in Server : Lead(n)
    \/ \E n \in Server : Follow(n)
    \/ \E n \in Server, index \in Int, cmd \in STRING : Start(n, index, cmd)
    \/ \E n, from \in Server, term, prev, prevTerm, count, newTerm, known, reply, last, commit \in Int,
          vote \in Server \cup {None} :
       StoreEntries(n, from, term, prev, prevTerm, count, newTerm, known, reply, vote, last, commit)
    \/ \E n, from \in Server, term, prev, prevTerm, count, newTerm, known, reply, now, last \in Int,
          vote \in Server \cup {None} :
       RefuseEntries(n, from, term, prev, prevTerm, count, newTerm, known, reply, now, vote, last)
    \/ \E n, from \in Server, asked, prev, count, reply, now, match, commit \in Int, ok \in BOOLEAN :
       Acknowledge(n, from, asked, prev, count, ok, reply, now, match, commit)
    \/ \E n \in Server, commit \in Int : Commit(n, commit)
    \/ \E n \in Server, index \in Int, cmd \in STRING : Apply(n, index, cmd)

Spec == Init /\ [][Next]_vars
=============================================================================
