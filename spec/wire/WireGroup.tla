----------------------------- MODULE WireGroup -----------------------------
(***************************************************************************)
(* What the messages between the nodes of a group establish, and the rules *)
(* of Raft as far as they speak of that.  The reader learns what can be    *)
(* known of a group from its wire alone, wherever a capture begins.        *)
(*                                                                         *)
(* An action records one message, in the order in which a capture saw      *)
(* them, and has no guard: any message may be the first.  So every capture *)
(* is a behaviour of this spec, and the properties alone judge it.         *)
(*                                                                         *)
(* Of two messages little is certain: threads send at any time, and on     *)
(* several connections.  What is certain is that a request was received *)
(* after all that was seen before it, that an answer was sent after its    *)
(* request, and that a request which acts on answers was sent after them.  *)
(***************************************************************************)
EXTENDS LogParts, FiniteSets, TLC

CONSTANT Electorate  \* the nodes that vote, all through the capture; {} where that is not known

VARIABLES
    terms,     \* [node -> the last term that it was in for certain]
    whole,     \* whether no message has been missed since the capture began
    campaigns, \* SUBSET [term, candidate, last]: elections that were seen from their start, with the last
               \* index of the candidate; none where messages are missed
    votes,     \* SUBSET [term, voter, candidate]: who voted for whom
    leaders,   \* SUBSET [term, leader]: who led which term
    calls,     \* [number of a call without an answer -> its request]
    streams,   \* [stream whose requests are in order -> the last term and committed index in it]
    log,       \* [term, from, entries]: what is known of the log of the newest leader
    chosen,    \* [from, entries]: what is known of the committed entries
    acks,      \* [term, by, quorum, shown, base]: what followers of the newest leader have stored, what a
               \* quorum has, what leaders showed to be committed, what may have been before the capture began
    request,   \* what the last request said of entries and commits, held against what was known before it
    answer     \* what the last answer said, with its request

elections == <<whole, campaigns, votes, leaders>>
entries == <<streams, log, chosen, acks, request>>
vars == <<terms, whole, campaigns, votes, leaders, calls, streams, log, chosen, acks, request, answer>>

Quiet == [term |-> Unknown, sent |-> <<>>, changed |-> {}, lost |-> {},
          commit |-> Unknown, allowed |-> Unknown]

Init ==
    /\ terms = <<>> /\ calls = <<>> /\ streams = <<>>
    /\ whole = TRUE /\ campaigns = {} /\ votes = {} /\ leaders = {}
    /\ log = [term |-> Unknown, from |-> Unknown, entries |-> <<>>]
    /\ chosen = None
    /\ acks = [term |-> Unknown, by |-> <<>>, quorum |-> Unknown, shown |-> Unknown, base |-> Unknown]
    /\ request = Quiet
    /\ answer = [term |-> Unknown, least |-> Unknown, asked |-> Unknown, ok |-> FALSE]

-----------------------------------------------------------------------------
(* Terms and calls.                                                        *)

TermOf(n) == IF n \in DOMAIN terms THEN terms[n] ELSE Unknown
Reaches(n, term) == terms' = IF term > TermOf(n) THEN (n :> term) @@ terms ELSE terms

\* The answer will be of a process that was in this term when the request was under way.
Asks(call, kind, src, dst, term, last) ==
    calls' = (call :> [kind |-> kind, src |-> src, dst |-> dst, term |-> term, last |-> last,
                       least |-> TermOf(dst)]) @@ calls

Without(function, keys) == [key \in DOMAIN function \ keys |-> function[key]]

-----------------------------------------------------------------------------
(* Requests that say nothing of entries.                                   *)

\* ACTION Shows: n is in a term.
Shows(n, term) == Reaches(n, term) /\ UNCHANGED <<elections, calls, entries, answer>>

\* ACTION AsksVote: src, whose log ends at an index, asks dst for its vote.
\* An election is seen from its start if its candidate was seen in an earlier term.
AsksVote(src, dst, call, term, last) ==
    /\ Reaches(src, term)
    /\ Asks(call, "vote", src, dst, term, Unknown)
    /\ campaigns' = IF whole /\ TermOf(src) \in 0..(term - 1)
                    THEN campaigns \cup {[term |-> term, candidate |-> src, last |-> last]}
                    ELSE campaigns
    /\ UNCHANGED <<whole, votes, leaders, entries, answer>>

\* ACTION Leads: src, which leads a term, sends a heartbeat, or a snapshot up to the index `last`.
Leads(src, dst, call, term, last) ==
    /\ Reaches(src, term)
    /\ Asks(call, "log", src, dst, term, last)
    /\ leaders' = leaders \cup {[term |-> term, leader |-> src]}
    /\ UNCHANGED <<whole, campaigns, votes, entries, answer>>

-----------------------------------------------------------------------------
(* Entries.                                                                *)

\* What is known of the log of the leader that has sent these entries.
LogWith(term, sent) ==
    LET known == [from |-> log.from, entries |-> log.entries]
        upTo == SameUpTo(known, sent)
        shared == IF term = log.term THEN known
                  ELSE IF upTo = Unknown THEN None
                  ELSE [known EXCEPT !.entries = Part(known, known.from, upTo)]
    IN  IF sent.entries # <<>> THEN Joined(shared, sent) ELSE IF term = log.term THEN known ELSE None

\* The committed entries, once the leader with this log has shown its committed index.
ChosenWith(now, commit) ==
    LET last == Min(End(now), commit)
        first == IF chosen.entries = <<>> THEN now.from ELSE Max(now.from, End(chosen) + 1)
    IN  IF now.entries = <<>> \/ last < first THEN chosen
        ELSE Joined(chosen, [from |-> first, entries |-> Part(now, first, last)])

Campaigns(src, term) == {c \in campaigns : c.term = term /\ c.candidate = src}

\* What was committed before the capture began is in the log of each leader that is elected after that.
Base(src, term) ==
    LET campaign == Campaigns(src, term)
    IN  IF acks.base # Unknown \/ campaign = {} THEN acks.base ELSE (CHOOSE c \in campaign : TRUE).last

\* ACTION Replicates: src, which leads a term, sends entries of its log from an index on, and its committed
\* index. If dst agrees, it has stored up to `last`. A value is "" where the message does not have it.
Replicates(src, dst, call, stream, term, from, sent, last, commit) ==
    LET part == [from |-> from, entries |-> sent]
        isNewest == term >= log.term
        now == LogWith(term, part)
        bound == Max(Max(acks.quorum, acks.shown), Base(src, term))
    IN  /\ Reaches(src, term)
        /\ Asks(call, "log", src, dst, term, last)
        /\ leaders' = leaders \cup {[term |-> term, leader |-> src]}
        /\ streams' = IF stream = Unknown THEN streams
                      ELSE (stream :> [term |-> term, commit |-> commit]) @@ streams
        /\ log' = IF isNewest THEN [term |-> term, from |-> now.from, entries |-> now.entries] ELSE log
        /\ chosen' = IF isNewest THEN ChosenWith(now, commit) ELSE chosen
        /\ acks' = [acks EXCEPT !.term = Max(@, term), !.by = IF term > acks.term THEN <<>> ELSE @,
                                !.shown = Max(@, commit), !.base = Base(src, term)]
        \* A routine of a leadership that is over sends from the log as it is now.
        /\ request' = [term |-> term, sent |-> IF isNewest THEN sent ELSE <<>>,
                       changed |-> IF term = log.term THEN Clashes(log, part) ELSE {},
                       lost |-> IF isNewest THEN Clashes(chosen, part) ELSE {},
                       commit |-> commit,
                       allowed |-> IF isNewest /\ Electorate # {} /\ Campaigns(src, term) # {} THEN bound
                                   ELSE commit]
        /\ UNCHANGED <<whole, campaigns, votes, answer>>
-----------------------------------------------------------------------------
(* Answers.                                                                *)

Quorum == Cardinality(Electorate) \div 2 + 1

\* Up to where a quorum has stored the log of a leader, which has it all.
StoredByQuorum(leader, by) ==
    LET stored == {n \in DOMAIN by : n \in Electorate /\ n # leader}
        reached == {i \in {by[n] : n \in stored} : Cardinality({n \in stored : by[n] >= i}) + 1 >= Quorum}
    IN  IF reached = {} THEN Unknown ELSE CHOOSE i \in reached : \A j \in reached : j <= i

Stored(asked, ok) ==
    IF ~ok \/ asked.kind # "log" \/ asked.last = Unknown \/ asked.term # acks.term THEN acks
    ELSE LET before == IF asked.dst \in DOMAIN acks.by THEN acks.by[asked.dst] ELSE Unknown
             by == (asked.dst :> Max(before, asked.last)) @@ acks.by
         IN  [acks EXCEPT !.by = by, !.quorum = Max(@, StoredByQuorum(asked.src, by))]

\* ACTION Answers: the call of a number is answered, with yes or no, in a term.
Answers(call, term, ok) ==
    LET asked == calls[call]
    IN  /\ call \in DOMAIN calls
        /\ calls' = Without(calls, {call})
        /\ Reaches(asked.dst, term)
        /\ answer' = [term |-> term, least |-> asked.least, asked |-> asked.term, ok |-> ok]
        /\ votes' = IF ok /\ asked.kind = "vote"
                    THEN votes \cup {[term |-> asked.term, voter |-> asked.dst, candidate |-> asked.src]}
                    ELSE votes
        /\ acks' = Stored(asked, ok)
        /\ UNCHANGED <<whole, campaigns, leaders, streams, log, chosen, request>>

\* ACTION Agrees: the call of a number is answered, with yes or no, by a node that does not say its term.
Agrees(call, ok) ==
    /\ call \in DOMAIN calls
    /\ calls' = Without(calls, {call})
    /\ acks' = Stored(calls[call], ok)
    /\ UNCHANGED <<terms, elections, streams, log, chosen, request, answer>>

\* ACTION Drops: a stream is over, and some calls will have no answer.
Drops(stream, over) ==
    /\ calls' = Without(calls, {over[i] : i \in DOMAIN over})
    /\ streams' = Without(streams, {stream})
    /\ UNCHANGED <<terms, elections, log, chosen, acks, request, answer>>

\* ACTION Misses: from here on, messages of some connection are not seen.
Misses ==
    /\ whole' = FALSE
    /\ campaigns' = {}
    /\ UNCHANGED <<terms, votes, leaders, calls, entries, answer>>

-----------------------------------------------------------------------------
Next ==
    \/ \E n \in STRING : \E term \in Int : Shows(n, term)
    \/ \E src, dst \in STRING : \E call, term, last \in Int : AsksVote(src, dst, call, term, last)
    \/ \E src, dst \in STRING : \E call, term, last \in Int : Leads(src, dst, call, term, last)
    \/ \E src, dst \in STRING : \E call, stream, term, from \in Int :
          \E sent \in Seq([term : Int, value : STRING]) : \E last, commit \in Int :
             Replicates(src, dst, call, stream, term, from, sent, last, commit)
    \/ \E call, term \in Int : \E ok \in BOOLEAN : Answers(call, term, ok)
    \/ \E call \in Int : \E ok \in BOOLEAN : Agrees(call, ok)
    \/ \E stream \in Int : \E over \in Seq(Int) : Drops(stream, over)
    \/ Misses
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties.                                                             *)

\* INV OneLeader: at most one leader in a term.
\* Source: Raft, Figure 3, Election Safety.
OneLeader == \A a, b \in leaders : a.term = b.term => a.leader = b.leader

\* INV OneVote: a voter votes for one candidate in a term.
\* Source: Raft, Figure 2, votedFor.
OneVote == \A a, b \in votes : a.term = b.term /\ a.voter = b.voter => a.candidate = b.candidate

\* INV ElectedByQuorum: who leads after an election that was seen from its start has the votes of a quorum.
\* Source: Raft, Figure 2, Candidates.
ElectedByQuorum ==
    Electorate # {} =>
        \A l \in leaders :
            Campaigns(l.leader, l.term) # {} =>
                LET for == {v.voter : v \in {v \in votes : v.term = l.term /\ v.candidate = l.leader}}
                IN  Cardinality((for \cup {l.leader}) \cap Electorate) >= Quorum

\* INV AnswerInTerm: a node answers in no earlier term than it was in when it was asked, and agrees in none
\* later than the request's.  Its answer may have an older one, if another thread enters the term meanwhile.
\* Source: Raft, Figure 2: currentTerm is stable, and increases; a receiver refuses what is of an older term.
AnswerInTerm == answer.term >= answer.least /\ (answer.ok => answer.term <= answer.asked)

\* INV EntriesInOrder: the terms of a log do not fall, and none is later than its leader's.
\* Source: Raft, Figure 3, Leader Append-Only: entries are of the term in which they were appended.
EntriesInOrder ==
    LET sent == request.sent
    IN  \A i \in DOMAIN sent : sent[i].term <= (IF i < Len(sent) THEN sent[i + 1].term ELSE request.term)

\* INV LeaderAppends: the entries of a leader's log stay as they are while it leads.
\* Source: Raft, Figure 3, Leader Append-Only.
LeaderAppends == request.changed = {}

\* INV CommittedStays: a leader has all that a leader of its term, or an earlier one, showed to be committed.
\* Source: Raft, Figure 3, Leader Completeness.
CommittedStays == request.lost = {}

\* INV CommitIsAcked: a leader commits no more than a quorum has stored.
\* Source: Raft, Figure 2, Leaders.
CommitIsAcked == request.commit <= request.allowed

\* PROP CommitRises: the committed index of a leader never falls in a stream of requests.
\* Source: Raft, Figure 2: commitIndex increases.
CommitRises ==
    [][\A s \in DOMAIN streams \cap DOMAIN streams' :
          streams'[s].term = streams[s].term => streams'[s].commit >= streams[s].commit]_vars
=============================================================================
