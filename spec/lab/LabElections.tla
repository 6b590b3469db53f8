----------------------------- MODULE LabElections -----------------------------
(***************************************************************************)
(* The servers of LabRaft, how they start, and how they elect a leader.    *)
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
    decided,   \* the entries that were applied, by their indexes
    who        \* the server of the last step, which Observe shows

vars == <<group, node, past, campaigns, ballots, led, decided, who>>
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
        /\ campaigns = << >> /\ ballots = {} /\ led = << >> /\ decided = << >>

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
\* d is what a server persisted since it voted for c in a term; it may since have noted who leads the term.
HadVoted(d, term, c) ==
    \/ d.term > term
    \/ d.term = term /\ (d.vote = c \/ (term \in DOMAIN led /\ d.vote = led[term].leader))

\* n comes back as d: votes, candidacies, and its part of a leader's log are lost if d does not have them.
Agreeing(a, b) == CHOOSE i \in 0..Min(Len(a), Len(b)) :
    /\ TermAt(a, i) = TermAt(b, i)
    /\ \A k \in i + 1 .. Min(Len(a), Len(b)) : TermAt(a, k) # TermAt(b, k)
Remaining(n, term, d) ==
    LET l == led[term]
    IN  IF term < d.term THEN l
        ELSE [l EXCEPT !.log = IF l.leader = n THEN d.log ELSE @,
                       !.stored[n] = IF term > d.term THEN 0 ELSE Min(@, Agreeing(d.log, l.log))]
Lose(n, d) ==
    LET asked == {k \in DOMAIN campaigns : k[2] # n \/ HadVoted(d, k[1], n)}
        terms == {t \in DOMAIN led : led[t].leader # n \/ HadVoted(d, t, n)}
    IN  /\ ballots' = {b \in ballots : b[2] # n \/ HadVoted(d, b[1], b[3])}
        /\ campaigns' = [k \in asked |-> campaigns[k]]
        /\ led' = [t \in terms |-> Remaining(n, t, d)]

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
               /\ Lose(n, d)
        /\ group' = of /\ who' = n /\ UNCHANGED decided

(* ELECTIONS ***************************************************************)
\* A majority of votes makes a leader of a candidate.
IsElected(votes) == 2 * Cardinality(votes) > group                \* Rules for Servers, Candidates 2: majority
IsAlone(n, term) == term \in DOMAIN led => led[term].leader = n    \* Election Safety (5.2)
Leads(n, s) ==
    /\ IsElected(s.votes)
    /\ led' = With(led, s.term, [leader |-> n, log |-> s.log, commit |-> s.commit,
                                 stored |-> [Zero EXCEPT ![n] = Len(s.log)]])
    /\ IsAlone(n, s.term)
IsCandidate(s) == s.role = "candidate"                           \* Rules for Servers, Candidates 2: candidate

\* ACTION Timeout: n hears from no leader, and asks for votes in the next term.  Alone, it may lead at once.
Timeout(n, role) ==
    LET s == node[n]
        term == s.term + 1
        after == [s EXCEPT !.role = "candidate", !.term = term, !.vote = n, !.votes = {n}]
    IN  /\ s.up                                         \* the lines: a server prints `boot` first
        /\ s.role # "leader"                            \* Rules for Servers, Followers 2
        /\ IF role = "leader" /\ group = 1
           THEN Leads(n, after) /\ Step(n, [after EXCEPT !.role = "leader"])
           ELSE Step(n, after) /\ UNCHANGED led
        /\ campaigns' = With(campaigns, <<term, n>>, [last |-> Len(s.log), lastTerm |-> LastTerm(s.log)])
        /\ UNCHANGED <<group, ballots, decided>>

\* What a candidate asked for: a term, with the end of its log.
Asked(from, term, last, lastTerm) ==
    /\ <<term, from>> \in DOMAIN campaigns              \* RequestVote RPC, arguments: term, candidateId
    /\ campaigns[<<term, from>>].last = last            \* RequestVote RPC, arguments: lastLogIndex
    /\ campaigns[<<term, from>>].lastTerm = lastTerm    \* RequestVote RPC, arguments: lastLogTerm
IsUpToDate(log, last, lastTerm) ==
    \/ lastTerm > LastTerm(log)                         \* RequestVote RPC, receiver 2: up-to-date (5.4.1)
    \/ lastTerm = LastTerm(log) /\ last >= Len(log)     \* RequestVote RPC, receiver 2: up-to-date (5.4.1)
VoteIsFree(vote, from) == vote \in {None, from}         \* RequestVote RPC, receiver 2: votedFor

\* ACTION GrantVote: n votes for a candidate.
GrantVote(n, from, term, last, lastTerm, reply) ==
    LET s == node[n]
        voter == InTerm(s, term)
        HadDone(d) == HadVoted(d, term, from)
    IN  /\ Asked(from, term, last, lastTerm)
        /\ term >= s.term                                         \* RequestVote RPC, receiver 1
        /\ VoteIsFree(voter.vote, from)
        /\ IsUpToDate(s.log, last, lastTerm)
        /\ Literal => reply = voter.term                          \* RequestVote RPC, results: term
        /\ StepHearing(n, [voter EXCEPT !.vote = from], from, HadDone)
        /\ ballots' = ballots \cup {<<term, n, from>>}
        /\ UNCHANGED <<group, campaigns, led, decided>>

\* ACTION RefuseVote: n does not vote for a candidate.
RefuseVote(n, from, term, last, lastTerm, reply, now) ==
    LET s == node[n]
        voter == InTerm(s, term)
        HadDone(d) == HadVoted(d, term, from)
    IN  /\ Asked(from, term, last, lastTerm)
        /\ now \in {s.term, voter.term}                           \* Rules for Servers, All Servers 2
        /\ Literal => now = voter.term                            \* Rules for Servers, All Servers 2
        /\ Literal => \/ term < s.term \/ voter.vote \notin {None, from}
                      \/ ~IsUpToDate(s.log, last, lastTerm)       \* RequestVote RPC, receiver 2: grant
        /\ Literal => reply = now                                 \* RequestVote RPC, results: term
        /\ StepHearing(n, InTerm(s, now), from, HadDone)
        /\ UNCHANGED <<group, campaigns, ballots, led, decided>>

IsOfTerm(asked, term) == asked = term

\* ACTION CountVote: a candidate has the answer to what it asked in a term.
CountVote(n, from, asked, reply, granted, now, role) ==
    LET s == node[n]
        isMine == granted /\ now = s.term /\ IsOfTerm(asked, s.term) /\ s.role = "candidate"
        after == [InTerm(s, now) EXCEPT !.votes = IF isMine THEN @ \cup {from} ELSE @]
        HadDone(d) == d.term >= reply /\ (granted => HadVoted(d, asked, n))
    IN  /\ <<asked, n>> \in DOMAIN campaigns                  \* RequestVote RPC, arguments: term, candidateId
        /\ granted => <<asked, from, n>> \in ballots              \* RequestVote RPC, results: voteGranted
        /\ reply <= node[from].term                               \* RequestVote RPC, results: term
        /\ now \in {s.term, InTerm(s, reply).term}                \* Rules for Servers, All Servers 2
        /\ Literal => now = InTerm(s, reply).term                 \* Rules for Servers, All Servers 2
        /\ IF role = "leader" /\ s.role # "leader"
           THEN /\ IsCandidate(s) /\ Leads(n, after)
                /\ StepHearing(n, [after EXCEPT !.role = "leader"], from, HadDone)
           ELSE StepHearing(n, after, from, HadDone) /\ UNCHANGED led
        /\ UNCHANGED <<group, campaigns, ballots, decided>>

\* ACTION Lead: a candidate that has counted enough votes leads, if it did not when it counted the last.
Lead(n) ==
    LET s == node[n]
    IN  /\ IF s.role = "leader" THEN UNCHANGED led /\ Step(n, s)
           ELSE IsCandidate(s) /\ Leads(n, s) /\ Step(n, [s EXCEPT !.role = "leader"])
        /\ UNCHANGED <<group, campaigns, ballots, decided>>

\* ACTION Follow: n gives up its candidacy or leadership by itself.
Follow(n) == node[n].up /\ Step(n, Follower(node[n])) /\ UNCHANGED <<group, campaigns, ballots, led, decided>>
=============================================================================
