---------------------------- MODULE LoggedGroup ----------------------------
(***************************************************************************)
(* What the lines of nodes' own logs establish, and the rules of Raft as   *)
(* far as they speak of that.  The reader learns what logs can show to be  *)
(* wrong, wherever they begin.                                             *)
(*                                                                         *)
(* An action records what one line says, and has no guard: any line may be *)
(* the first one, or the last, and a node may have none.  So every log is  *)
(* a behaviour of this spec, and the properties alone judge it.  No        *)
(* property speaks of what no line has said, which is Unknown.             *)
(*                                                                         *)
(* The lines of one node count in their order.  What several nodes say     *)
(* goes into sets, which only grow, and there terms give the order: no     *)
(* property depends on whose line came first, so clocks do not matter.     *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS Node,         \* the nodes that lines name
          ForgetsTerm   \* whether a process that dies while it writes its term may leave term 0

Unknown == -2           \* -1 is the end of a log without entries

VARIABLES
    leaders,  \* SUBSET [term, leader]: who led which term
    votes,    \* SUBSET [term, voter, candidate]: who voted for whom
    known,    \* SUBSET [term, index]: up to where the leader of a term knew entries to be committed
    begun,    \* SUBSET [term, end]: where the leader of a term showed first that its log ends
    chosen,   \* SUBSET [index, term]: committed entries, of each term the first and the last that are known
    node      \* [n \in Node -> what is known of n]

(***************************************************************************)
(*   term       the last term in its lines                                 *)
(*   restarted  whether a process has started since that line              *)
(*   leads      the term that it leads, as far as its lines say            *)
(*   end        where its log ended when it last said so                   *)
(*   commits    up to where its process knows entries to be committed      *)
(*   held       up to where it has ever held committed entries             *)
(*   covered    the last snapshot that another node may have sent: below   *)
(*              it, its log may have anything                              *)
(*   snapshot   its newest snapshot                                        *)
(***************************************************************************)
Nothing == [term |-> Unknown, restarted |-> FALSE, leads |-> Unknown, end |-> Unknown, commits |-> Unknown,
            held |-> Unknown, covered |-> Unknown, snapshot |-> Unknown]

sets == <<leaders, votes, known, begun, chosen>>
vars == <<leaders, votes, known, begun, chosen, node>>

Init ==
    /\ leaders = {} /\ votes = {} /\ known = {} /\ begun = {} /\ chosen = {}
    /\ node = [n \in Node |-> Nothing]

Max(a, b) == IF a > b THEN a ELSE b
Becomes(n, state) == node' = [node EXCEPT ![n] = state]

-----------------------------------------------------------------------------
(* Processes.                                                              *)

Restarted(state) ==
    [state EXCEPT !.restarted = TRUE, !.leads = Unknown, !.end = Unknown, !.commits = Unknown]

\* ACTION Starts: a process of n starts.
Starts(n) == Becomes(n, Restarted(node[n])) /\ UNCHANGED sets

\* ACTION StartsFrom: a process of n starts with a snapshot that covers all up to an index.
StartsFrom(n, index) ==
    /\ Becomes(n, [Restarted(node[n]) EXCEPT !.snapshot = index, !.commits = index, !.held = Max(@, index),
                                             !.covered = IF index <= node[n].held THEN @ ELSE index])
    /\ UNCHANGED sets

-----------------------------------------------------------------------------
(* Terms, votes and leaders.                                               *)

InTerm(state, term) ==
    [state EXCEPT !.term = term, !.restarted = FALSE, !.leads = IF @ = term THEN @ ELSE Unknown]

\* ACTION Reaches: n is in a term.
Reaches(n, term) == Becomes(n, InTerm(node[n], term)) /\ UNCHANGED sets

\* ACTION Leads: n begins to lead a term.
Leads(n, term) ==
    /\ Becomes(n, [InTerm(node[n], term) EXCEPT !.leads = term, !.end = Unknown])
    /\ leaders' = leaders \cup {[term |-> term, leader |-> n]}
    /\ UNCHANGED <<votes, known, begun, chosen>>

\* ACTION Resigns: n leads no longer, if it did.
Resigns(n) == Becomes(n, [node[n] EXCEPT !.leads = Unknown]) /\ UNCHANGED sets

\* ACTION Follows: n follows the leader of a term.
Follows(n, term, leader) ==
    /\ Becomes(n, [InTerm(node[n], term) EXCEPT !.leads = Unknown])
    /\ leaders' = leaders \cup {[term |-> term, leader |-> leader]}
    /\ UNCHANGED <<votes, known, begun, chosen>>

\* ACTION Gets: n, a candidate in a term, gets the vote of a voter.
Gets(n, term, voter) ==
    /\ Becomes(n, InTerm(node[n], term))
    /\ votes' = votes \cup {[term |-> term, voter |-> voter, candidate |-> n]}
    /\ UNCHANGED <<leaders, known, begun, chosen>>

-----------------------------------------------------------------------------
(* Logs.                                                                   *)

\* A node reads the end of its log before its committed index: what it shows here may have been appended in
\* between, and what it has shown as committed before must be there.
Showing(state, end, commits) ==
    [state EXCEPT !.end = end, !.commits = commits,
                  !.held = Max(Max(@, state.commits), IF commits <= end THEN commits ELSE Unknown)]

\* ACTION Shows: n shows the end of its log and its committed index.
Shows(n, end, commits) == Becomes(n, Showing(node[n], end, commits)) /\ UNCHANGED sets

\* ACTION ShowsAsLeader: n, which leads a term, shows them.
ShowsAsLeader(n, term, end, commits) ==
    /\ Becomes(n, [Showing(InTerm(node[n], term), end, commits) EXCEPT !.leads = term])
    /\ leaders' = leaders \cup {[term |-> term, leader |-> n]}
    /\ known' = LET all == known \cup {[term |-> term, index |-> commits]}
                IN  {k \in all : ~\E higher \in all : higher.term = k.term /\ higher.index > k.index}
    /\ begun' = IF \E b \in begun : b.term = term THEN begun ELSE begun \cup {[term |-> term, end |-> end]}
    /\ UNCHANGED <<votes, chosen>>

\* ACTION EndsAt: the log of n ends at an index, with what its snapshot covers.
EndsAt(n, end) == Becomes(n, [node[n] EXCEPT !.end = end]) /\ UNCHANGED sets

\* ACTION Cuts: n removes the entries of its log from an index on.
Cuts(n, from) ==
    /\ Becomes(n, [node[n] EXCEPT !.end = IF from <= node[n].covered THEN Unknown ELSE from - 1])
    /\ UNCHANGED sets

\* ACTION Commits: n knows all up to an index to be committed, and has it.
Commits(n, index) ==
    /\ Becomes(n, [node[n] EXCEPT !.commits = Max(@, index), !.held = Max(@, index),
                                  !.end = IF @ < index THEN Unknown ELSE @,
                                  !.covered = IF node[n].held = Unknown THEN index ELSE @])
    /\ UNCHANGED sets

-----------------------------------------------------------------------------
(* Snapshots.                                                              *)

\* ACTION Chose: the entry at an index is committed, and of a term.
Chose(n, index, term) ==
    LET all == chosen \cup {[index |-> index, term |-> term]}
        SameTerm(c) == {a \in all : a.term = c.term}
        Between(c) == \E a, b \in SameTerm(c) : a.index < c.index /\ c.index < b.index
    IN  /\ chosen' = {c \in all : ~Between(c)}
        /\ UNCHANGED <<leaders, votes, known, begun, node>>

\* ACTION Saves: n has saved a snapshot of its own.
Saves(n, index) == Becomes(n, [node[n] EXCEPT !.snapshot = Max(@, index)]) /\ UNCHANGED sets

\* ACTION Installs: n has installed a snapshot that another node sent.
Installs(n, index) ==
    /\ Becomes(n, [node[n] EXCEPT !.snapshot = Max(@, index), !.covered = Max(@, index), !.commits = index,
                                  !.held = Max(@, index), !.end = IF @ < index THEN Unknown ELSE @])
    /\ UNCHANGED sets

-----------------------------------------------------------------------------
Next ==
    \E n \in Node :
       \/ Starts(n) \/ Resigns(n)
       \/ \E index \in Int : StartsFrom(n, index) \/ Commits(n, index)
       \/ \E index \in Int : Saves(n, index) \/ Installs(n, index)
       \/ \E term \in Int : Reaches(n, term) \/ Leads(n, term)
       \/ \E term \in Int : \E leader \in Node : Follows(n, term, leader)
       \/ \E term \in Int : \E voter \in Node : Gets(n, term, voter)
       \/ \E end, commits \in Int : Shows(n, end, commits)
       \/ \E term, end, commits \in Int : ShowsAsLeader(n, term, end, commits)
       \/ \E end \in Int : EndsAt(n, end)
       \/ \E from \in Int : Cuts(n, from)
       \/ \E index, term \in Int : Chose(n, index, term)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Invariants.                                                             *)

\* INV OneLeader: at most one leader in a term.
\* Source: Raft, Figure 3, Election Safety.
OneLeader == \A a, b \in leaders : a.term = b.term => a.leader = b.leader

\* INV OneVote: a voter votes for one candidate in a term.
\* Source: Raft, Figure 2, votedFor.
OneVote == \A a, b \in votes : a.term = b.term /\ a.voter = b.voter => a.candidate = b.candidate

\* INV LeaderHasCommitted: the log of a leader has all that was committed in earlier terms.
\* Source: Raft, Figure 3, Leader Completeness.
LeaderHasCommitted == \A k \in known, b \in begun : k.term < b.term => k.index <= b.end

\* INV CommittedStays: a log that has held committed entries does not end before them, crash or not.
\* Source: Raft, Figure 2: the log is stable, and 5.4.3: a committed entry is never deleted.
CommittedStays == \A n \in Node : node[n].end = Unknown \/ node[n].held <= node[n].end

\* INV TermsRiseInLog: of two committed entries the later one is of no earlier term; at an index there is one.
\* Source: Raft, Figure 3, State Machine Safety and Log Matching; a leader appends in its own term.
TermsRiseInLog == \A a, b \in chosen : a.index <= b.index => a.term <= b.term

-----------------------------------------------------------------------------
(* Properties of steps.                                                    *)

\* PROP TermsRise: the term of a node never falls, crash or not.
\* Source: Raft, Figure 2: currentTerm is stable, and increases.
TermsRise ==
    [][\A n \in Node : node'[n].term < node[n].term
                          => ForgetsTerm /\ node[n].restarted /\ node'[n].term = 0]_vars

\* PROP CommittedRises: while a process runs, what it knows to be committed never falls.
\* Source: Raft, Figure 2: commitIndex and lastApplied increase.
CommittedRises ==
    [][\A n \in Node : node'[n].commits < node[n].commits => node'[n].commits = Unknown]_vars

\* PROP LeaderAppends: the log of a leader never gets shorter.
\* Source: Raft, Figure 3, Leader Append-Only.
LeaderAppends ==
    [][\A n \in Node : node[n].leads # Unknown /\ node'[n].leads = node[n].leads /\ node'[n].end # Unknown
                          => node'[n].end >= node[n].end]_vars

\* PROP SnapshotStays: a process never starts from an older snapshot than its node has saved.
\* Source: Raft, section 7: a snapshot replaces what was before it, in stable storage.
SnapshotStays == [][\A n \in Node : node'[n].snapshot >= node[n].snapshot]_vars

=============================================================================
