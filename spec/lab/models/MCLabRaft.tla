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
           /\ campaigns = << >> /\ ballots = {} /\ led = << >>

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

\* Conditions that always hold, for models in which a rule is not kept;
\* and what takes the place of two values.
Any1(a) == TRUE
Any2(a, b) == TRUE
Any3(a, b, c) == TRUE
AllBehind(log, new, prev)        == {i \in {prev + 1} : i <= Len(log)}
BoundByLog(known, end, length) == Min(known, length)

Index == 0..MaxLog

Elections ==
    \/ \E n \in Server : node[n].term < MaxTerm /\ Timeout(n)
    \/ \E n \in Server : node[n].role = "candidate" /\ Lead(n)
    \/ \E n \in Server : \E asked \in DOMAIN campaigns :
       LET c == campaigns[asked] IN
       asked[2] # n /\ GrantVote(n, asked[2], asked[1], c.last, c.lastTerm, asked[1])
    \/ \E n \in Server : \E b \in ballots, role \in {"candidate", "leader"} :
       b[3] = n /\ node[n].role = "candidate" /\ CountVote(n, b[2], b[1], b[1], TRUE, node[n].term, role)

Logs ==
    \/ \E n \in Server : Len(node[n].log) < MaxLog /\ Start(n, Len(node[n].log) + 1, "a")
    \/ \E n \in Server, term \in DOMAIN led, prev, count, known, last, commit \in Index :
       LET log == led[term].log IN
       /\ led[term].leader # n /\ prev + count <= Len(log) /\ known <= led[term].commit
       /\ StoreEntries(n, led[term].leader, term, prev, TermAt(log, prev), count,
                       IF count = 0 THEN 0 ELSE log[prev + count].term, known, term, last, commit)
    \/ \E n, from \in Server : \E match, commit \in Index :
       LET term == node[n].term IN
       /\ n # from /\ node[n].role = "leader" /\ match > node[n].match[from]
       /\ Acknowledge(n, from, term, 0, 0, FALSE, term, term, match, commit)

Restarts ==
    \E n \in Server : \E d \in {past[n][i] : i \in DOMAIN past[n]} :
    Boot(n, group, d.term, d.vote, Len(d.log), LastTerm(d.log))

MCNext == \/ (Elections \/ Logs) /\ UNCHANGED restarts
          \/ restarts < MaxRestarts /\ Restarts /\ restarts' = restarts + 1

\* All but who took the last step.
View == <<group, node, past, campaigns, ballots, led, restarts>>

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

\* INV State Machine Safety: committed logs are parts of one.
StateMachineSafety == \A n, m \in Server : \A i \in 1..Min(node[n].commit, node[m].commit) :
    /\ i \in DOMAIN node[n].log /\ i \in DOMAIN node[m].log
    /\ node[n].log[i] = node[m].log[i]

(* WITNESSES ***************************************************************)
\* Each says that something never happens; were it so, the models would hold for nothing.
NothingCommitted == \A n \in Server : node[n].commit = 0
NothingCut       == [][\A n \in Server : \A i \in DOMAIN node[n].log :
    i \in DOMAIN node'[n].log /\ node'[n].log[i] = node[n].log[i]]_vars
=============================================================================
