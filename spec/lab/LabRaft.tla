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
(*                                                                         *)
(* A server that dies comes back with what it had persisted when the       *)
(* tester copied it; what it did between that and its end, nobody heard    *)
(* of.  So `past` has what it persisted since others heard of it.          *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Server,  \* the numbers that servers may have
    Literal  \* FALSE: only what is unsafe is refused; TRUE: so is what Figure 2 would not do

VARIABLES
    group,     \* the number of servers, 0 before the first has started
    node,      \* [n \in Server -> the state of n]
    past,      \* [n \in Server -> what n has persisted since others heard of it, the last being its present]
    campaigns, \* [<<term, candidate>> -> the last index and term of its log]
    ballots,   \* the votes that were given: SUBSET <<term, voter, candidate>>
    led,       \* [term -> leader, its log and commitIndex in the term, and up to where each server stored it]
    who        \* the server of the last step, which Observe shows

vars == <<group, node, past, campaigns, ballots, led, who>>
None == -1

Max(a, b) == IF a >= b THEN a ELSE b
Min(a, b) == IF a <= b THEN a ELSE b
With(f, key, value) == [k \in DOMAIN f \cup {key} |-> IF k = key THEN value ELSE f[k]]
TermAt(log, i) == IF 1 <= i /\ i <= Len(log) THEN log[i].term ELSE 0
LastTerm(log)  == TermAt(log, Len(log))

Zero == [p \in Server |-> 0]
Blank == [up |-> FALSE, role |-> "follower", term |-> 0, vote |-> None, log |-> <<>>,
          commit |-> 0, applied |-> 0, votes |-> {}, match |-> Zero]

Init == /\ group = 0 /\ who = 0
        /\ node = [n \in Server |-> Blank]
        /\ past = [n \in Server |-> <<[term |-> 0, vote |-> None, log |-> <<>>]>>]
        /\ campaigns = << >> /\ ballots = {} /\ led = << >>

\* What a line shows of its server.
Observe == LET s == node[who]
           IN  [role |-> s.role, term |-> s.term, vote |-> s.vote, commit |-> s.commit,
                last |-> Len(s.log), lastTerm |-> LastTerm(s.log)]

(* STEPS *******************************************************************)
Durable(s) == [term |-> s.term, vote |-> s.vote, log |-> s.log]
Persisted(n, after) == LET kept == past[n]
                       IN  IF kept[Len(kept)] = Durable(after) THEN kept ELSE Append(kept, Durable(after))

Step(n, after) == /\ node' = [node EXCEPT ![n] = after] /\ who' = n
                  /\ past' = [past EXCEPT ![n] = Persisted(n, after)]

\* n hears of `from`, which had done this when it sent the message: it cannot come back from before that.
\* No message is heard of what a server did after the tester had copied what it would come back with.
StepHearing(n, after, from, HadDone(_)) ==
    LET kept  == past[from]
        since == {i \in DOMAIN kept : HadDone(kept[i])}
        first == CHOOSE i \in since : \A k \in since : i <= k
    IN  /\ since # {}                                   \* State, persistent: updated before responding
        /\ node' = [node EXCEPT ![n] = after] /\ who' = n
        /\ past' = [past EXCEPT ![from] = SubSeq(kept, first, Len(kept)), ![n] = Persisted(n, after)]

\* The state in a term: a later one is taken over.
Follower(s)  == [s EXCEPT !.role = "follower", !.votes = {}, !.match = Zero]
InTerm(s, term) == IF term <= s.term THEN s ELSE [Follower(s) EXCEPT !.term = term, !.vote = None]

(* START, AND START AGAIN **************************************************)
\* ACTION Boot: n starts, as one of `of` servers, with what it had persisted.
Boot(n, of, term, vote, last, lastTerm) ==
    LET kept == past[n]
        Same(i) == Len(kept[i].log) = last /\ LastTerm(kept[i].log) = lastTerm
        back == {i \in DOMAIN kept : kept[i].term = term /\ kept[i].vote = vote /\ Same(i)}
    IN  /\ group \in {0, of}                            \* the lines: all servers are of one group
        /\ \E i \in DOMAIN kept : kept[i].term = term   \* State, persistent: currentTerm
        /\ \E i \in DOMAIN kept : kept[i].term = term /\ kept[i].vote = vote  \* State, persistent: votedFor
        /\ back # {}                                    \* State, persistent: log[]
        /\ LET d == kept[CHOOSE i \in back : \A k \in back : i >= k]
           IN  /\ node' = [node EXCEPT ![n] = [Blank EXCEPT !.up = TRUE, !.term = d.term,
                                                            !.vote = d.vote, !.log = d.log]]
               /\ past' = [past EXCEPT ![n] = <<d>>]
        /\ group' = of /\ who' = n /\ UNCHANGED <<campaigns, ballots, led>>

(* ELECTIONS ***************************************************************)
\* ACTION Timeout: n hears from no leader, and asks for votes in the next term.
Timeout(n) ==
    LET s == node[n]
        term == s.term + 1
    IN  /\ s.up                                         \* the lines: a server prints `boot` first
        /\ s.role # "leader"                            \* Rules for Servers, Followers 2
        /\ Step(n, [s EXCEPT !.role = "candidate", !.term = term, !.vote = n, !.votes = {n}])
        /\ campaigns' = With(campaigns, <<term, n>>, [last |-> Len(s.log), lastTerm |-> LastTerm(s.log)])
        /\ UNCHANGED <<group, ballots, led>>

\* What a candidate asked for: a term, with the end of its log.
Asked(from, term, last, lastTerm) ==
    /\ <<term, from>> \in DOMAIN campaigns              \* RequestVote RPC, arguments: term, candidateId
    /\ campaigns[<<term, from>>].last = last            \* RequestVote RPC, arguments: lastLogIndex
    /\ campaigns[<<term, from>>].lastTerm = lastTerm    \* RequestVote RPC, arguments: lastLogTerm
IsUpToDate(log, last, lastTerm) ==
    \/ lastTerm > LastTerm(log)                         \* RequestVote RPC, receiver 2: up-to-date (5.4.1)
    \/ lastTerm = LastTerm(log) /\ last >= Len(log)     \* RequestVote RPC, receiver 2: up-to-date (5.4.1)
VoteIsFree(vote, from) == vote \in {None, from}         \* RequestVote RPC, receiver 2: votedFor
HadAsked(d, from, term) == d.term > term \/ (d.term = term /\ d.vote = from)

\* ACTION GrantVote: n votes for a candidate.
GrantVote(n, from, term, last, lastTerm, reply) ==
    LET s == node[n]
        voter == InTerm(s, term)
        HadDone(d) == HadAsked(d, from, term)
    IN  /\ Asked(from, term, last, lastTerm)
        /\ term >= s.term                                         \* RequestVote RPC, receiver 1
        /\ VoteIsFree(voter.vote, from)
        /\ IsUpToDate(s.log, last, lastTerm)
        /\ Literal => reply = voter.term                          \* RequestVote RPC, results: term
        /\ StepHearing(n, [voter EXCEPT !.vote = from], from, HadDone)
        /\ ballots' = ballots \cup {<<term, n, from>>}
        /\ UNCHANGED <<group, campaigns, led>>

\* ACTION RefuseVote: n does not vote for a candidate.
RefuseVote(n, from, term, last, lastTerm, reply, now) ==
    LET s == node[n]
        voter == InTerm(s, term)
        HadDone(d) == HadAsked(d, from, term)
    IN  /\ Asked(from, term, last, lastTerm)
        /\ now \in {s.term, voter.term}                           \* Rules for Servers, All Servers 2
        /\ Literal => now = voter.term                            \* Rules for Servers, All Servers 2
        /\ Literal => \/ term < s.term \/ voter.vote \notin {None, from}
                      \/ ~IsUpToDate(s.log, last, lastTerm)       \* RequestVote RPC, receiver 2: grant
        /\ Literal => reply = now                                 \* RequestVote RPC, results: term
        /\ StepHearing(n, InTerm(s, now), from, HadDone)
        /\ UNCHANGED <<group, campaigns, ballots, led>>

\* n leads its term with these votes.
IsElected(votes) == 2 * Cardinality(votes) > group                \* Rules for Servers, Candidates 2: majority
IsOfTerm(asked, term) == asked = term
Leads(n, s) ==
    /\ node[n].role = "candidate"                                 \* Rules for Servers, Candidates 2: candidate
    /\ IsElected(s.votes)
    /\ led' = With(led, s.term, [leader |-> n, log |-> s.log, commit |-> s.commit,
                                 stored |-> [Zero EXCEPT ![n] = Len(s.log)]])

\* ACTION CountVote: a candidate has the answer to what it asked in a term.
CountVote(n, from, asked, reply, granted, now, role) ==
    LET s == node[n]
        isMine == granted /\ now = s.term /\ IsOfTerm(asked, s.term) /\ s.role = "candidate"
        after == [InTerm(s, now) EXCEPT !.votes = IF isMine THEN @ \cup {from} ELSE @]
        HadDone(d) == d.term >= reply /\ (granted => HadAsked(d, n, asked))
    IN  /\ <<asked, n>> \in DOMAIN campaigns                      \* RequestVote RPC, arguments: term, candidateId
        /\ granted => <<asked, from, n>> \in ballots              \* RequestVote RPC, results: voteGranted
        /\ reply <= node[from].term                               \* RequestVote RPC, results: term
        /\ now \in {s.term, InTerm(s, reply).term}                \* Rules for Servers, All Servers 2
        /\ Literal => now = InTerm(s, reply).term                 \* Rules for Servers, All Servers 2
        /\ IF role = "leader" /\ s.role # "leader"
           THEN Leads(n, after) /\ StepHearing(n, [after EXCEPT !.role = "leader"], from, HadDone)
           ELSE StepHearing(n, after, from, HadDone) /\ UNCHANGED led
        /\ UNCHANGED <<group, campaigns, ballots>>

\* ACTION Lead: a candidate that has counted enough votes leads, if it did not when it counted the last.
Lead(n) ==
    LET s == node[n]
    IN  /\ IF s.role = "leader" THEN UNCHANGED led /\ Step(n, s)
           ELSE Leads(n, s) /\ Step(n, [s EXCEPT !.role = "leader"])
        /\ UNCHANGED <<group, campaigns, ballots>>

\* ACTION Follow: n gives up its candidacy or leadership by itself.
Follow(n) == node[n].up /\ Step(n, Follower(node[n])) /\ UNCHANGED <<group, campaigns, ballots, led>>

(* THE LOG *****************************************************************)
\* ACTION Start: a leader gets a command.
Start(n, index, cmd) ==
    LET s == node[n]
        log == Append(s.log, [term |-> s.term, cmd |-> cmd])
    IN  /\ s.role = "leader"                                      \* Rules for Servers, Leaders 2: leader
        /\ index = Len(log)                                       \* Rules for Servers, Leaders 2: append
        /\ Step(n, [s EXCEPT !.log = log])
        /\ led' = [led EXCEPT ![s.term].log = log, ![s.term].stored[n] = Len(log)]
        /\ UNCHANGED <<group, campaigns, ballots>>

\* What the leader of a term sent: a part of its log, and its commitIndex.
IsOfLeader(from, term, prev, prevTerm, count, newTerm, known) ==
    /\ term \in DOMAIN led                                        \* AppendEntries RPC, arguments: term
    /\ led[term].leader = from                                    \* AppendEntries RPC, arguments: leaderId
    /\ prev <= Len(led[term].log)                                 \* AppendEntries RPC, arguments: prevLogIndex
    /\ prevTerm = TermAt(led[term].log, prev)                     \* AppendEntries RPC, arguments: prevLogTerm
    /\ prev + count <= Len(led[term].log)                         \* AppendEntries RPC, arguments: entries[]
    /\ count > 0 => newTerm = TermAt(led[term].log, prev + count) \* AppendEntries RPC, arguments: entries[]
    /\ known <= led[term].commit                                  \* AppendEntries RPC, arguments: leaderCommit
HadEntries(d, term, end) == d.term > term \/ (d.term = term /\ Len(d.log) >= end)
Holds(log, prev, prevTerm) ==
    /\ prev <= Len(log)                                           \* AppendEntries RPC, receiver 2
    /\ TermAt(log, prev) = prevTerm                               \* AppendEntries RPC, receiver 2

\* The entries that are not the leader's; and up to where n may commit.
Clashes(log, new, prev) == {i \in prev + 1 .. Min(Len(new), Len(log)) : log[i].term # new[i].term}
Bound(known, end, length) == Min(known, end)

\* ACTION StoreEntries: n accepts AppendEntries; afterwards its log ends at `last`, and commitIndex is `commit`.
StoreEntries(n, from, term, prev, prevTerm, count, newTerm, known, reply, last, commit) ==
    LET s == node[n]
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
        /\ clash = {} => last >= Len(s.log)                       \* AppendEntries RPC, receiver 3: only on conflict
        /\ clash # {} => last <= end                              \* AppendEntries RPC, receiver 3: delete what follows
        /\ last = Len(log)                                        \* AppendEntries RPC, receiver 4
        /\ commit >= s.commit                                     \* State, volatile: commitIndex increases
        /\ commit <= bound                                        \* AppendEntries RPC, receiver 5
        /\ Literal => commit = bound                              \* AppendEntries RPC, receiver 5
        /\ Literal => reply = term                                \* AppendEntries RPC, results: term
        /\ StepHearing(n, [Follower(InTerm(s, term)) EXCEPT !.log = log, !.commit = commit], from, HadDone)
        /\ led' = [led EXCEPT ![term].stored[n] = Max(@, end)]
        /\ UNCHANGED <<group, campaigns, ballots>>

\* ACTION RefuseEntries: n does not accept AppendEntries.  It may cut the entry that is not the leader's.
RefuseEntries(n, from, term, prev, prevTerm, count, newTerm, known, reply, now, last) ==
    LET s == node[n]
        holds == Holds(s.log, prev, prevTerm)
        isOld == term < s.term
        log == SubSeq(s.log, 1, last)
        HadDone(d) == HadEntries(d, term, prev + count)
    IN  /\ IsOfLeader(from, term, prev, prevTerm, count, newTerm, known)
        /\ now \in {s.term, InTerm(s, term).term}                 \* Rules for Servers, All Servers 2
        /\ Literal => now = InTerm(s, term).term                  \* Rules for Servers, All Servers 2
        /\ Literal => isOld \/ ~holds                             \* AppendEntries RPC, receiver 2: accept
        /\ last <= Len(s.log)                                     \* AppendEntries RPC, receiver 1 and 2: refuse
        /\ last < Len(s.log) => ~isOld /\ ~holds /\ last = prev - 1 \* AppendEntries RPC, receiver 3: only on conflict
        /\ Literal => reply = now                                 \* AppendEntries RPC, results: term
        /\ StepHearing(n, [(IF now = term THEN Follower(InTerm(s, now)) ELSE s) EXCEPT !.log = log], from, HadDone)
        /\ UNCHANGED <<group, campaigns, ballots, led>>

IsOwnTerm(term, ofLeader) == term = ofLeader                      \* Rules for Servers, Leaders 4: term (5.4.2)
IsStored(match, stored) == match <= stored                        \* Rules for Servers, Leaders 3: matchIndex

\* The leader n raises commitIndex, if it does.
Commits(n, s, match, commit) ==
    /\ commit >= s.commit                                         \* State, volatile: commitIndex increases
    /\ commit <= Len(s.log)                                       \* Rules for Servers, Leaders 4: N
    /\ LET have == {n} \cup {p \in Server : match[p] >= commit}
       IN  commit > s.commit => 2 * Cardinality(have) > group     \* Rules for Servers, Leaders 4: majority
    /\ commit > s.commit => IsOwnTerm(TermAt(s.log, commit), s.term)
Leading(commit, term) == led' = [led EXCEPT ![term].commit = Max(@, commit)]

\* ACTION Acknowledge: a leader has the answer to AppendEntries of a term; its matchIndex is `match` afterwards.
Acknowledge(n, from, asked, prev, count, ok, reply, now, match, commit) ==
    LET s == node[n]
        after == InTerm(s, now)
        end == prev + count
        known == [s.match EXCEPT ![from] = match]
        HadDone(d) == d.term >= reply /\ (ok => HadEntries(d, asked, end))
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
        /\ UNCHANGED <<group, campaigns, ballots>>

\* ACTION Commit: a leader raises commitIndex, if it did not when it got the last answer.
Commit(n, commit) ==
    LET s == node[n]
    IN  /\ s.role = "leader"                                      \* Rules for Servers, Leaders 4: leader
        /\ Commits(n, s, s.match, commit)
        /\ Step(n, [s EXCEPT !.commit = commit])
        /\ Leading(commit, s.term)
        /\ UNCHANGED <<group, campaigns, ballots>>

\* ACTION Apply: n applies an entry to its state machine.
Apply(n, index, cmd) ==
    LET s == node[n]
    IN  /\ index = s.applied + 1                                  \* Rules for Servers, All Servers 1: in order
        /\ index <= s.commit                                      \* Rules for Servers, All Servers 1: commitIndex
        /\ cmd = s.log[index].cmd                                 \* State Machine Safety (5.4.3)
        /\ Step(n, [s EXCEPT !.applied = index])
        /\ UNCHANGED <<group, campaigns, ballots, led>>

(* THE SPEC ****************************************************************)
\* The numbers are those of the lines; a model has a Next of its own, with few.
Next ==
    \/ \E n \in Server, of, term, last, lastTerm \in Int, vote \in Server \cup {None} :
       Boot(n, of, term, vote, last, lastTerm)
    \/ \E n \in Server : Timeout(n)
    \/ \E n, from \in Server, term, last, lastTerm, reply \in Int : GrantVote(n, from, term, last, lastTerm, reply)
    \/ \E n, from \in Server, term, last, lastTerm, reply, now \in Int :
       RefuseVote(n, from, term, last, lastTerm, reply, now)
    \/ \E n, from \in Server, asked, reply, now \in Int, granted \in BOOLEAN, role \in {"follower", "candidate", "leader"} :
       CountVote(n, from, asked, reply, granted, now, role)
    \/ \E n \in Server : Lead(n)
    \/ \E n \in Server : Follow(n)
    \/ \E n \in Server, index \in Int, cmd \in STRING : Start(n, index, cmd)
    \/ \E n, from \in Server, term, prev, prevTerm, count, newTerm, known, reply, last, commit \in Int :
       StoreEntries(n, from, term, prev, prevTerm, count, newTerm, known, reply, last, commit)
    \/ \E n, from \in Server, term, prev, prevTerm, count, newTerm, known, reply, now, last \in Int :
       RefuseEntries(n, from, term, prev, prevTerm, count, newTerm, known, reply, now, last)
    \/ \E n, from \in Server, asked, prev, count, reply, now, match, commit \in Int, ok \in BOOLEAN :
       Acknowledge(n, from, asked, prev, count, ok, reply, now, match, commit)
    \/ \E n \in Server, commit \in Int : Commit(n, commit)
    \/ \E n \in Server, index \in Int, cmd \in STRING : Apply(n, index, cmd)

Spec == Init /\ [][Next]_vars
=============================================================================
