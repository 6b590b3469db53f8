----------------------------- MODULE SmallGroup -----------------------------
(***************************************************************************)
(* A group that keeps the rules of Raft, behind a tap: what crosses its    *)
(* wire is an action of WireGroup, all else is hidden.  The reader learns  *)
(* that a correct group breaks no rule for messages, whenever the tap      *)
(* begins and whatever it misses, and which mistake breaks which rule.     *)
(*                                                                         *)
(* A call takes three steps: the request crosses the wire, the node        *)
(* handles it, the answer crosses the wire.  Steps of others may come      *)
(* between any two of them.  Between two nodes one call of each kind is    *)
(* under way at a time, and its kind and nodes are its number.             *)
(***************************************************************************)
EXTENDS WireGroup

CONSTANTS Node, NoNode,
          Environment, \* SUBSET {"Heartbeats", "Loss", "Misses", "PreVotes", "Restarts"}: what happens beside
                       \* votes and entries
          Flaws        \* SUBSET the mistakes of nodes, each named at its place below

VARIABLES watched,   \* SUBSET (Node \X Node): the connections that the tap reads, each with its caller first
          node,      \* [n \in Node -> the state of n]
          requests,  \* the requests under way
          answers    \* the answers under way, each with its request

All == {pair \in Node \X Node : pair[1] # pair[2]}

Begin(connections) ==
    /\ Init
    /\ watched = connections
    /\ node = [n \in Node |-> [term |-> 1, votedFor |-> NoNode, role |-> "Follower", granted |-> {},
                               log |-> <<>>, commit |-> 0, match |-> [p \in Node |-> 0]]]
    /\ requests = {} /\ answers = {}

Flawed(name)  == name \in Flaws
Peers(n)      == Node \ {n}
Leader(n)     == node[n].role = "Leader"
TermAt(l, i)  == IF i = 0 THEN 0 ELSE l[i].term
IsQuorum(set) == 2 * Cardinality(set) > Cardinality(Node)

FollowerIn(state, term) ==
    [state EXCEPT !.term = term, !.votedFor = IF term > state.term THEN NoNode ELSE @,
                  !.role = IF Flawed("KeepsLeading") THEN @ ELSE "Follower",
                  !.granted = {}, !.match = [p \in Node |-> 0]]

Hidden(n, after) == node' = [node EXCEPT ![n] = after] /\ UNCHANGED <<vars, watched, requests, answers>>
Seen(m, action)  == IF <<m.src, m.dst>> \in watched THEN action ELSE UNCHANGED vars

\* The bounds of a model.
MayStand(n)  == TRUE
MayAppend(n) == TRUE
MaySend      == TRUE

-----------------------------------------------------------------------------
(* What no message shows.                                                  *)

StandsForElection(n) ==
    /\ MayStand(n) /\ ~Leader(n)
    /\ Hidden(n, [FollowerIn(node[n], node[n].term + 1) EXCEPT !.role = "Candidate", !.votedFor = n,
                                                               !.granted = {n}])

\* LeadsAlone: its own vote is enough.
TakesTheLead(n) ==
    /\ node[n].role = "Candidate"
    /\ IsQuorum(node[n].granted) \/ Flawed("LeadsAlone")
    /\ Hidden(n, [node[n] EXCEPT !.role = "Leader", !.granted = {}])

\* StampsNextTerm: the entry has a term in which nobody leads yet.  CommitsUnacked: it is committed at once.
Appends(n) ==
    LET term == node[n].term + (IF Flawed("StampsNextTerm") THEN 1 ELSE 0)
        l    == Append(node[n].log, [term |-> term, value |-> "v"])
    IN  /\ MayAppend(n) /\ Leader(n)
        /\ Hidden(n, [node[n] EXCEPT !.log = l, !.commit = IF Flawed("CommitsUnacked") THEN Len(l) ELSE @])

\* RewritesEntry: a leader puts another value in place of one that is not committed.
RewritesEntry(n) ==
    /\ Flawed("RewritesEntry") /\ Leader(n) /\ Len(node[n].log) > node[n].commit
    /\ Hidden(n, [node[n] EXCEPT !.log[Len(node[n].log)].value = "w"])

\* Term, vote and log are on its disk.
Restarts(n) ==
    /\ "Restarts" \in Environment
    /\ Hidden(n, [FollowerIn(node[n], node[n].term) EXCEPT !.role = "Follower", !.commit = 0])

-----------------------------------------------------------------------------
(* The tap.                                                                *)

\* From here on it writes lines.
TapBegins == watched = {} /\ whole /\ watched' = All /\ UNCHANGED <<vars, node, requests, answers>>

\* Of one connection it reads no more.
TapMisses(n, p) ==
    /\ "Misses" \in Environment /\ watched = All
    /\ watched' = All \ {<<n, p>>}
    /\ Misses
    /\ UNCHANGED <<node, requests, answers>>

\* A node shows its term before it stands for election: it asks for pre-votes.
ShowsTerm(n) ==
    /\ "PreVotes" \in Environment /\ watched # {} /\ TermOf(n) = Unknown
    /\ Shows(n, node[n].term)
    /\ UNCHANGED <<watched, node, requests, answers>>

-----------------------------------------------------------------------------
(* Requests.                                                               *)

Number(m) == <<m.kind, m.src, m.dst>>
Sends(m) ==
    /\ MaySend
    /\ Number(m) \notin {Number(other) : other \in requests \cup {a.request : a \in answers}}
    /\ requests' = requests \cup {m}
    /\ UNCHANGED <<watched, node, answers>>

AsksForVote(n, p) ==
    LET l == node[n].log
        m == [kind |-> "vote", src |-> n, dst |-> p, term |-> node[n].term,
              last |-> Len(l), lastTerm |-> TermAt(l, Len(l))]
    IN  /\ node[n].role = "Candidate" /\ p \notin node[n].granted
        /\ Sends(m)
        /\ Seen(m, AsksVote(n, p, Number(m), m.term, m.last))

SendsHeartbeat(n, p) ==
    LET m == [kind |-> "heartbeat", src |-> n, dst |-> p, term |-> node[n].term]
    IN  /\ "Heartbeats" \in Environment /\ Leader(n)
        /\ Sends(m)
        /\ Seen(m, Leads(n, p, Number(m), m.term, Unknown))

\* All entries behind an index, with the one there, whose value the message does not have.
\* CapsCommit: the committed index is shown up to that entry only.
SendsEntries(n, p, from) ==
    LET l      == node[n].log
        behind == SubSeq(l, from + 1, Len(l))
        shown  == IF Flawed("CapsCommit") THEN Min(from, node[n].commit) ELSE node[n].commit
        m      == [kind |-> "entries", src |-> n, dst |-> p, term |-> node[n].term, from |-> from,
                   before |-> TermAt(l, from), behind |-> behind, commit |-> shown]
        last   == IF behind = <<>> THEN Unknown ELSE Len(l)
    IN  /\ Leader(n) /\ l # <<>>
        /\ Sends(m)
        /\ Seen(m, Replicates(n, p, Number(m), p, m.term, from,
                              <<[term |-> m.before, value |-> ""]>> \o behind, last,
                              IF shown = 0 THEN Unknown ELSE shown))

-----------------------------------------------------------------------------
(* What a node makes of a request: its state afterwards, and yes or no.    *)

\* VotesTwice: it does not mind whom it voted for.
\* VotesForShorterLog: nor what the candidate's log ends with.
Voted(state, m) ==
    LET last  == Len(state.log)
        lastT == TermAt(state.log, last)
        isNew == m.lastTerm > lastT \/ (m.lastTerm = lastT /\ m.last >= last)
        ok    == /\ state.votedFor \in {NoNode, m.src} \/ Flawed("VotesTwice")
                 /\ isNew \/ Flawed("VotesForShorterLog")
    IN  [state |-> IF ok THEN [state EXCEPT !.votedFor = m.src] ELSE state, ok |-> ok]

\* Entries that differ, and all behind them, give way to the leader's.
Kept(state, m) ==
    LET l      == state.log
        fits   == m.from <= Len(l) /\ TermAt(l, m.from) = m.before
        end    == m.from + Len(m.behind)
        isSame == end <= Len(l) /\ \A i \in DOMAIN m.behind : l[m.from + i] = m.behind[i]
        now    == IF isSame THEN l ELSE SubSeq(l, 1, m.from) \o m.behind
    IN  IF ~fits THEN [state |-> state, ok |-> FALSE]
        ELSE [state |-> [state EXCEPT !.log = now, !.commit = Max(@, Min(m.commit, end))], ok |-> TRUE]

\* EchoesTerm: the answer has the term of the request, also where that is over.
Handles(m) ==
    LET p     == m.dst
        state == IF m.term > node[p].term \/ (m.term = node[p].term /\ m.kind # "vote")
                 THEN FollowerIn(node[p], m.term) ELSE node[p]
        done  == IF m.term < state.term THEN [state |-> state, ok |-> FALSE]
                 ELSE CASE m.kind = "vote"      -> Voted(state, m)
                        [] m.kind = "heartbeat" -> [state |-> state, ok |-> TRUE]
                        [] m.kind = "entries"   -> Kept(state, m)
        term  == IF Flawed("EchoesTerm") THEN m.term ELSE state.term
    IN  /\ requests' = requests \ {m}
        /\ answers' = answers \cup {[request |-> m, term |-> term, ok |-> done.ok]}
        /\ node' = [node EXCEPT ![p] = done.state]
        /\ UNCHANGED <<vars, watched>>

-----------------------------------------------------------------------------
(* Answers.                                                                *)

\* A leader commits entries of its own term that a quorum has stored, and all before them.
Counted(n, state) ==
    LET stored(i) == IsQuorum({n} \cup {p \in Node : state.match[p] >= i})
        own       == {i \in DOMAIN state.log : state.log[i].term = state.term}
        may       == {i \in own : stored(i)} \cup {state.commit}
    IN  [state EXCEPT !.commit = CHOOSE i \in may : \A j \in may : j <= i]

Learnt(n, a) ==
    LET m == a.request
        state == node[n]
    IN  IF a.term > state.term THEN FollowerIn(state, a.term)
        ELSE IF ~a.ok \/ m.term # state.term THEN state
        ELSE IF m.kind = "vote" /\ state.role = "Candidate" THEN [state EXCEPT !.granted = @ \cup {m.dst}]
        ELSE IF m.kind = "entries" /\ state.role = "Leader" /\ m.behind # <<>>
             THEN Counted(n, [state EXCEPT !.match[m.dst] = Max(@, m.from + Len(m.behind))])
        ELSE state

\* The answer to a request that passed before the tap began says nothing.
Gets(a) ==
    LET n == a.request.src
    IN  /\ answers' = answers \ {a}
        /\ node' = [node EXCEPT ![n] = Learnt(n, a)]
        /\ Seen(a.request, IF Number(a.request) \notin DOMAIN calls THEN UNCHANGED vars
                           ELSE Answers(Number(a.request), a.term, a.ok))
        /\ UNCHANGED <<watched, requests>>

\* A connection ends, with the call that is under way on it.
Loses(m) ==
    /\ "Loss" \in Environment
    /\ requests' = requests \ {m}
    /\ answers' = {a \in answers : a.request # m}
    /\ Seen(m, Drops(m.dst, <<Number(m)>>))
    /\ UNCHANGED <<watched, node>>

-----------------------------------------------------------------------------
GroupNext ==
    \/ TapBegins
    \/ \E n \in Node :
          \/ StandsForElection(n) \/ TakesTheLead(n) \/ Appends(n) \/ RewritesEntry(n) \/ Restarts(n)
          \/ ShowsTerm(n)
    \/ \E n \in Node : \E p \in Peers(n) :
          \/ TapMisses(n, p)
          \/ AsksForVote(n, p)
          \/ SendsHeartbeat(n, p)
          \/ \E from \in 0..Len(node[n].log) : SendsEntries(n, p, from)
    \/ \E m \in requests : Handles(m)
    \/ \E a \in answers : Gets(a)
    \/ \E m \in requests \cup {a.request : a \in answers} : Loses(m)
=============================================================================
