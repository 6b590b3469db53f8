------------------------------ MODULE MCLabRaft ------------------------------
(***************************************************************************)
(* Bounded models of LabRaft: a group that keeps the conditions of its     *)
(* actions keeps the properties of the Raft paper, and one that leaves out *)
(* a condition breaks one of them.                                         *)
(*                                                                         *)
(* The lines of a program are free to say anything, so Next takes all      *)
(* numbers.  Here a line says what LabRaft could allow: a request is what  *)
(* a candidate or leader sent, and the values shown afterwards are tried.  *)
(***************************************************************************)
EXTENDS LabRaft, TLC

CONSTANTS MaxTerm, MaxLog, MaxRestarts

VARIABLE restarts

Started == /\ group = Cardinality(Server) /\ who = 0 /\ restarts = 0
           /\ node = [n \in Server |-> [Blank EXCEPT !.up = TRUE]]
           /\ past = [n \in Server |-> <<Durable(Blank)>>]
           /\ campaigns = << >> /\ ballots = {} /\ led = << >> /\ decided = << >>

\* The leader of term 1 is elected, and has a command: what an election leads to is the model of elections.
AfterAnElection ==
    LET log == <<[term |-> 1, cmd |-> "a"]>>
        votes == {1, 2}
        state(n) == [Blank EXCEPT !.up = TRUE, !.term = 1, !.vote = 1, !.votes = IF n = 1 THEN votes ELSE {},
                                  !.role = IF n = 1 THEN "leader" ELSE "follower",
                                  !.log = IF n = 1 THEN log ELSE <<>>]
    IN  /\ group = Cardinality(Server) /\ who = 0 /\ restarts = 0
        /\ node = [n \in Server |-> state(n)]
        /\ past = [n \in Server |-> <<Durable(state(n))>>]
        /\ campaigns = (<<1, 1>> :> [last |-> 0, lastTerm |-> 0])
        /\ ballots = {<<1, n, 1>> : n \in Server \ {1}}
        /\ led = (1 :> [leader |-> 1, log |-> log, commit |-> 0, stored |-> [Zero EXCEPT ![1] = 1]])
        /\ decided = << >>

\* Figure 8: 1 led term 1, 3 led term 2, each with an entry that nobody else has; 1 leads term 3.
Figure8 ==
    LET log(term) == <<[term |-> term, cmd |-> "a"]>>
        blank == [Blank EXCEPT !.up = TRUE]
        one   == [blank EXCEPT !.term = 3, !.vote = 1, !.votes = {1, 2}, !.role = "leader", !.log = log(1)]
        two   == [blank EXCEPT !.term = 3, !.vote = 1]
        three == [blank EXCEPT !.term = 2, !.vote = 3, !.log = log(2)]
        LedBy(n, l) == [leader |-> n, log |-> log(l), commit |-> 0, stored |-> [Zero EXCEPT ![n] = 1]]
    IN  /\ group = 3 /\ who = 0 /\ restarts = 0 /\ Server = {1, 2, 3}
        /\ node = (1 :> one @@ 2 :> two @@ 3 :> three)
        /\ past = [n \in Server |-> <<Durable(node[n])>>]
        /\ campaigns = (<<1, 1>> :> [last |-> 0, lastTerm |-> 0] @@ <<2, 3>> :> [last |-> 0, lastTerm |-> 0]
                        @@ <<3, 1>> :> [last |-> 1, lastTerm |-> 1])
        /\ ballots = {<<3, 2, 1>>}
        /\ led = (1 :> LedBy(1, 1) @@ 2 :> LedBy(3, 2) @@ 3 :> LedBy(1, 1))
        /\ decided = << >>

\* Conditions that always hold, for models in which a rule is not kept;
\* and what takes the place of two values.
Any1(a) == TRUE
Any2(a, b) == TRUE
Any3(a, b, c) == TRUE
AllBehind(log, new, prev)        == {i \in {prev + 1} : i <= Len(log)}
BoundByLog(known, end, length) == Min(known, length)

Index == 0..MaxLog

\* The terms that a server may be in after it hears of one.
Terms(n, term) == {node[n].term, InTerm(node[n], term).term}

\* Candidates are elected.
Elections ==
    \/ \E n \in Server : node[n].term < MaxTerm /\ Timeout(n, "candidate")
    \/ \E n \in Server : node[n].role = "candidate" /\ Lead(n)
    \/ \E asked \in DOMAIN campaigns : \E n \in Server \ {asked[2]} :
       GrantVote(n, asked[2], asked[1], campaigns[asked].last, campaigns[asked].lastTerm, asked[1])
    \/ \E b \in ballots : \E role \in {"candidate", "leader"} :
       /\ node[b[3]].role = "candidate"
       /\ CountVote(b[3], b[2], b[1], b[1], TRUE, node[b[3]].term, role)

\* Candidates are refused, have late answers, and give up.
NoElections ==
    \/ \E n \in Server : node[n].role # "follower" /\ Follow(n)
    \/ \E asked \in DOMAIN campaigns : \E n \in Server \ {asked[2]} : \E now \in Terms(n, asked[1]) :
       RefuseVote(n, asked[2], asked[1], campaigns[asked].last, campaigns[asked].lastTerm, now, now)
    \/ \E asked \in DOMAIN campaigns : LET n == asked[2] IN
       \E from \in Server \ {n}, granted \in BOOLEAN :
       \E reply \in 1..node[from].term : \E now \in Terms(n, reply) :
       CountVote(n, from, asked[1], reply, granted, now, "follower")

\* What the leader of a term sent to n, which Does something with it.
Request(Does(_, _, _, _, _, _)) ==
    \E term \in DOMAIN led : LET log == led[term].log IN
    \E prev \in 0..Len(log), known \in 0..led[term].commit : \E count \in 0..Len(log) - prev :
    \E n \in Server \ {led[term].leader} :
    Does(n, term, prev, count, IF count = 0 THEN 0 ELSE log[prev + count].term, known)

Store(n, term, prev, count, newTerm, known) ==
    LET l == led[term]
    IN  /\ term >= node[n].term
        /\ \E last, commit \in Index, vote \in {InTerm(node[n], term).vote, l.leader} : StoreEntries(
               n, l.leader, term, prev, TermAt(l.log, prev), count, newTerm, known, term, vote, last, commit)
Refuse(n, term, prev, count, newTerm, known) ==
    LET l == led[term]
    IN  \E now \in Terms(n, term) : \E last \in Index :
        RefuseEntries(n, l.leader, term, prev, TermAt(l.log, prev), count, newTerm, known, now, now,
                      IF now > node[n].term THEN None ELSE node[n].vote, last)

\* Leaders replicate commands, by what a server stored, acknowledged or not; each entry is applied once.
Logs ==
    \/ \E n \in Server : Len(node[n].log) < MaxLog /\ Start(n, Len(node[n].log) + 1, "a")
    \/ Request(Store)
    \/ \E n, from \in Server : \E match, commit \in Index : LET term == node[n].term IN
       /\ n # from /\ node[n].role = "leader" /\ match > node[n].match[from]
       /\ Acknowledge(n, from, term, 0, 0, FALSE, term, term, match, commit)
    \/ \E n \in Server : LET s == node[n] IN
       /\ s.applied < s.commit /\ s.applied = Len(decided)
       /\ Apply(n, s.applied + 1, s.log[s.applied + 1].cmd)

\* Leaders are refused, and have late answers.
NoLogs ==
    \/ Request(Refuse)
    \/ \E asked \in DOMAIN led : LET n == led[asked].leader IN
       \E from \in Server \ {n} : \E end \in 0..led[asked].stored[from], ok \in BOOLEAN :
       \E reply \in 1..node[from].term : \E now \in Terms(n, reply) :
       Acknowledge(n, from, asked, 0, end, ok, reply, now, node[n].match[from], node[n].commit)
    \/ \E n \in Server : \E commit \in Index : commit > node[n].commit /\ Commit(n, commit)

Restarts ==
    \E n \in Server : \E d \in {past[n][i] : i \in DOMAIN past[n]} :
    Boot(n, group, d.term, d.vote, Len(d.log), LastTerm(d.log))

MCNext == (Elections \/ NoElections \/ Logs \/ NoLogs) /\ UNCHANGED restarts

\* Servers die, among those that hear what there is to hear.
RestartsNext == \/ (Elections \/ Logs) /\ UNCHANGED restarts
                \/ restarts < MaxRestarts /\ Restarts /\ restarts' = restarts + 1

\* All but who took the last step, and what servers could come back with if no restart is left: NothingMissing
\* that forbids no step.
View ==
  <<group, node, IF restarts < MaxRestarts THEN past ELSE << >>, campaigns, ballots, led, decided, restarts>>

(* PROPERTIES **************************************************************)
\* INV Election Safety: at most one leader in a term.
ElectionSafety == \A n, m \in Server :
    node[n].role = "leader" /\ node[m].role = "leader" /\ node[n].term = node[m].term => n = m

\* INV Log Matching: logs with the same entry are the same up to it.
LogMatching == \A n, m \in Server : \A i \in DOMAIN node[n].log \cap DOMAIN node[m].log :
    node[n].log[i].term = node[m].log[i].term => SubSeq(node[n].log, 1, i) = SubSeq(node[m].log, 1, i)

\* INV Leader Completeness: a leader has what was committed in earlier terms.
LeaderCompleteness == \A n \in Server : \A term \in DOMAIN led :
    node[n].role = "leader" /\ node[n].term > term =>
        /\ Len(node[n].log) >= led[term].commit
        /\ SubSeq(node[n].log, 1, led[term].commit) = SubSeq(led[term].log, 1, led[term].commit)

\* INV State Machine Safety: committed logs are parts of one, as are those applied before a restart.
StateMachineSafety ==
    /\ \A n, m \in Server : \A i \in 1..Min(node[n].commit, node[m].commit) :
       /\ i \in DOMAIN node[n].log /\ i \in DOMAIN node[m].log
       /\ node[n].log[i] = node[m].log[i]
    /\ \A n \in Server : \A i \in 1..Min(node[n].commit, Len(decided)) :
       i \in DOMAIN node[n].log /\ node[n].log[i] = decided[i]

\* INV Each server has what it may be known to have done: so StepHearing forbids nothing that is not lost.
NothingMissing ==
    LET Has(n) == Durable(node[n])
    IN  /\ \A n \in Server : past[n][Len(past[n])] = Has(n)
        /\ \A b \in ballots : HadVoted(Has(b[2]), b[1], b[3])
        /\ \A k \in DOMAIN campaigns : HadVoted(Has(k[2]), k[1], k[2])
        /\ \A t \in DOMAIN led, n \in Server : led[t].stored[n] > 0 => HadEntries(Has(n), t, led[t].stored[n])

(* WITNESSES ***************************************************************)
\* Each says that something never happens; were it so, the models would hold for nothing.
NothingCommitted == \A n \in Server : node[n].commit = 0
NothingCut       == [][\A n \in Server : \A i \in DOMAIN node[n].log :
    i \in DOMAIN node'[n].log /\ node'[n].log[i] = node[n].log[i]]_vars
=============================================================================
