------------------------------ MODULE MCFlaws -------------------------------
(***************************************************************************)
(* Flaws, each in the smallest model that shows it.  The reader learns the *)
(* state that each of them needs, and what then goes wrong; the cfg of the *)
(* flaw and that of its green twin differ in one name.                     *)
(*                                                                         *)
(* The models begin in the middle.  Ahead has, or is about to have, what   *)
(* is committed; Behind has not; a third server sides with one of them.    *)
(***************************************************************************)
EXTENDS MCHashicorpRaft

CONSTANTS Ahead, Behind, Third

ASSUME {Ahead, Behind, Third} \subseteq Node

SomeValue == CHOOSE value \in Value : TRUE
Command(term) == [term |-> term, type |-> "Command", value |-> SomeValue, configuration |-> NoConfiguration]
Noop(term)    == [term |-> term, type |-> "Noop", value |-> NoNode, configuration |-> NoConfiguration]

\* A server that was started in this term, with these entries behind the first.
Up(term, entries) ==
    LET log == <<FirstEntry>> \o entries
    IN  [ProcessConfigurations(EmptyNode, 1, log) EXCEPT
            !.currentTerm = term, !.log = log, !.lastLog = EndOf(log)]

HasVoted(state, term, candidate) == Voted(state, term, candidate)

\* The leader of this term, which had these entries, and has appended its no-op.
LeaderOf(n, term, entries) == Leads(n, Wins(n, HasVoted(Up(term, entries), term, n))).node

Begins(nodes, leaders, log) ==
    /\ node = nodes
    /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
    /\ elected = leaders
    /\ LET term == Max({e.term : e \in leaders})
       IN  committed = {[term |-> term, index |-> k + 1, entry |-> log[k]] : k \in 1..Len(log)}
    /\ verified = {}

Leadership(n, term) == [term |-> term, leader |-> n]

OnlyThird(n)   == n = Third /\ MCMayFail(n)
OnlyBehind(n)  == n = Behind
OnlyAhead(n)   == n = Ahead /\ MCMayTakeSnapshot(n)
ToBehind(n, peer) == peer = Behind /\ MCMaySend(n, peer)

OnlyThirdCampaigns(n) == n = Third /\ MCMayCampaign(n)

-----------------------------------------------------------------------------
(* A torn vote.  In term 2 Third voted for Behind.  Ahead led term 3, and  *)
(* committed an entry with Third.  Now Ahead asks for votes in term 4, and *)
(* Third dies between the two writes of its vote: its record says that it  *)
(* voted for Behind in term 4.                                             *)

TornVoteInit ==
    LET entries == <<Noop(2), Noop(3)>> IN
    Begins([n \in Node |->
               CASE n = Ahead  -> HasVoted(Up(3, entries), 3, Ahead)
                 [] n = Third  -> HasVoted(Up(3, entries), 2, Behind)
                 [] n = Behind -> HasVoted(Up(3, <<Noop(2)>>), 3, Ahead)],
           {Leadership(Behind, 2), Leadership(Ahead, 3)}, entries)

-----------------------------------------------------------------------------
(* A suffix that was not verified.  Behind has an entry that a leader of   *)
(* term 2 could not commit.  Ahead leads term 3.  When its no-op is        *)
(* committed by Third's answer, it sends Behind a request without entries. *)

SuffixInit ==
    Begins([n \in Node |->
               CASE n = Ahead  -> LeaderOf(n, 3, << >>)
                 [] n = Third  -> HasVoted(Up(3, << >>), 3, Ahead)
                 [] n = Behind -> HasVoted(Up(2, <<Command(2)>>), 2, Behind)],
           {Leadership(Behind, 2), Leadership(Ahead, 3)}, << >>)

-----------------------------------------------------------------------------
(* A store that fails.  Behind has two entries of term 2, of a leader that *)
(* Third was then; Ahead, leader of term 3, has its no-op in their place.  *)
(* Behind deletes the two and cannot store the no-op.  It campaigns, and   *)
(* so does Third, which had campaigned in vain, in a later term.           *)

BehindThenThird(n) == \/ n = Behind /\ node[n].currentTerm < 4
                      \/ n = Third /\ node[n].currentTerm < 5

StoreFailsInit ==
    LET old == <<Noop(2), Command(2)>> IN
    Begins([n \in Node |->
               CASE n = Ahead  -> LeaderOf(n, 3, << >>)
                 [] n = Third  -> HasVoted(Up(4, old), 4, Third)
                 [] n = Behind -> HasVoted(Up(3, old), 3, Ahead)],
           {Leadership(Third, 2), Leadership(Ahead, 3)}, << >>)

-----------------------------------------------------------------------------
(* Logs that are truncated.                                                *)

\* A leader of term 2 with its no-op; all others have nothing yet.
LeaderInit ==
    Begins([n \in Node |-> IF n = Ahead THEN LeaderOf(n, 2, << >>) ELSE HasVoted(Up(2, << >>), 2, Ahead)],
           {Leadership(Ahead, 2)}, << >>)

\* Behind and Third have three entries of term 2.  Ahead leads term 3, with its no-op in their place.  As
\* above, Behind campaigns before Third does, since it would vote for no other while it knows a leader.
LongTailInit ==
    LET old == <<Noop(2), Command(2), Command(2)>> IN
    Begins([n \in Node |->
               CASE n = Ahead  -> LeaderOf(n, 3, << >>)
                 [] n = Third  -> HasVoted(Up(4, old), 4, Third)
                 [] n = Behind -> HasVoted(Up(3, old), 3, Ahead)],
           {Leadership(Third, 2), Leadership(Ahead, 3)}, << >>)

-----------------------------------------------------------------------------
(* A restart.  An entry of term 2 is in one log alone.                     *)

UncommittedInit ==
    Begins([n \in Node |-> IF n = Behind THEN HasVoted(Up(2, <<Command(2)>>), 2, Behind)
                           ELSE HasVoted(Up(2, << >>), 2, Behind)],
           {Leadership(Behind, 2)}, << >>)

-----------------------------------------------------------------------------
(* Snapshots.  Ahead leads, and has committed three entries with Third.  A *)
(* server has applied up to i when it has taken that for committed.        *)

Three(term) == <<Noop(term), Command(term), Command(term)>>
SnapshotAt(i, entries) ==
    [index |-> i, term |-> entries[i - 1].term,
     configuration |-> FirstConfiguration, configurationIndex |-> 1,
     applied |-> [k \in 1..i - 2 |-> [index |-> k + 2, entry |-> entries[k + 1]]]]

HasApplied(state, i) == Committed(state, [prevLogEntry |-> i, entries |-> << >>, leaderCommitIndex |-> i])

\* Its last snapshot is of i, and its log begins behind that.
HasCompacted(state, s) ==
    [state EXCEPT !.snapshots = <<s>>, !.lastSnapshot = PlaceOf(s), !.log = Deleted(@, 1, s.index)]

\* A leader that has appended these entries, and committed all; its snapshot is of i.
Compacts(term, entries, i) ==
    LET last  == Len(entries) + 1
        leads == [LeaderOf(Ahead, term, << >>) EXCEPT
                     !.log = <<FirstEntry>> \o entries, !.lastLog = [index |-> last, term |-> term],
                     !.leaderState.commitIndex = last,
                     !.leaderState.matchIndexes = [p \in Node |-> IF p \in {Ahead, Third} THEN last ELSE 0]]
        done  == HasCompacted(HasApplied(leads, last), SnapshotAt(i, entries))
    IN  [done EXCEPT !.replication = [p \in Node |-> [@[p] EXCEPT !.nextIndex = last + 1]]]

\* Behind lacks the last entry.
LateSnapshotInit ==
    LET entries == Three(2) IN
    Begins([n \in Node |->
               CASE n = Ahead  -> [Compacts(2, entries, 4) EXCEPT !.replication[Behind].nextIndex = 4]
                 [] n = Third  -> HasApplied(Up(2, entries), 4)
                 [] n = Behind -> HasApplied(Up(2, SubSeq(entries, 1, 2)), 3)],
           {Leadership(Ahead, 2)}, entries)

\* Behind has nothing, and the snapshot lacks the last entry.
SnapshotAndEntryInit ==
    LET entries == Three(2) IN
    Begins([n \in Node |->
               CASE n = Ahead  -> [Compacts(2, entries, 3) EXCEPT !.replication[Behind].nextIndex = 2]
                 [] n = Third  -> HasApplied(Up(2, entries), 4)
                 [] n = Behind -> Up(2, << >>)],
           {Leadership(Ahead, 2)}, entries)

\* Behind has three entries of term 2 in the place of Ahead's of term 3.
ConflictInit ==
    LET entries == Three(3) IN
    Begins([n \in Node |->
               CASE n = Ahead  -> Compacts(3, entries, 4)
                 [] n = Third  -> HasApplied(Up(3, entries), 4)
                 [] n = Behind -> HasVoted(Up(2, Three(2)), 2, Behind)],
           {Leadership(Behind, 2), Leadership(Ahead, 3)}, entries)

\* The same, but Behind's old entries end below the snapshot, and it will lead term 4.  One server has no
\* vote, and the first of Ahead's entries alone.
KeptBelowInit ==
    LET entries == Three(3) IN
    Begins([n \in Node |->
               CASE n = Ahead       -> [Compacts(3, entries, 4) EXCEPT !.replication[Behind].nextIndex = 4]
                 [] n = Third       -> HasApplied(Up(3, entries), 4)
                 [] n = Behind      -> HasVoted(Up(3, SubSeq(Three(2), 1, 2)), 3, Ahead)
                 [] n \notin Voters -> HasApplied(Up(3, SubSeq(entries, 1, 1)), 2)],
           {Leadership(Behind, 2), Leadership(Ahead, 3)}, entries)

\* Behind has applied all but the last entry, but its answers were lost; so Ahead takes it to lack what it has
\* but in its snapshot, which is of index 3.
AnswersLost(behind) ==
    LET entries == Append(Three(2), Command(2)) IN
    Begins([n \in Node |->
               CASE n = Ahead  -> [Compacts(2, entries, 3) EXCEPT !.replication[Behind].nextIndex = 3]
                 [] n = Third  -> HasApplied(Up(2, entries), 5)
                 [] n = Behind -> behind],
           {Leadership(Ahead, 2)}, entries)

UpToFour        == HasApplied(Up(2, Three(2)), 4)
LostAnswersInit == AnswersLost(UpToFour)

\* Behind's snapshot is of index 3, too, or of 4.
CompactedPrevInit == \E i \in {3, 4} : AnswersLost(HasCompacted(UpToFour, SnapshotAt(i, Three(2))))

OnlyAheadCampaigns(n)   == n = Ahead /\ MCMayCampaign(n)
OnlyBehindCampaigns(n)  == n = Behind /\ MCMayCampaign(n)
OnlyBehindDispatches(n) == n = Behind /\ MCMayDispatch(n)
AlongTheKept(n, peer) ==
    /\ \/ n = Ahead /\ peer = Behind
       \/ n = Behind /\ peer \notin Voters
    /\ MCMaySend(n, peer)
FromAhead(n, peer)  == n = Ahead /\ MCMaySend(n, peer)

-----------------------------------------------------------------------------
(* A voter that is behind the changes of members.  Third led term 2, and   *)
(* took Ahead out, or its vote, and added it again, and last removed       *)
(* itself.  Ahead has it all, which is committed but for the last change;  *)
(* Behind has the first one alone.                                         *)

Change(term, voters, nonvoters) ==
    [term |-> term, type |-> "Configuration", value |-> NoNode,
     configuration |-> [voters |-> voters, nonvoters |-> nonvoters]]

UnknownInit ==
    \E nonvoters \in {{}, {Ahead}} :
    LET changes   == <<Noop(2), Change(2, Node \ {Ahead}, nonvoters), Change(2, Node, {}),
                       Change(2, Node \ {Third}, {})>>
        LogOf(n)  == IF n = Behind THEN SubSeq(changes, 1, 2) ELSE changes
    IN  Begins([n \in Node |-> HasVoted(Up(2, LogOf(n)), 2, Third)],
               {Leadership(Third, 2)}, SubSeq(changes, 1, 3))

-----------------------------------------------------------------------------
(* A heartbeat beside the main loop.  Ahead has an entry of term 2, which  *)
(* nobody else has.  It has just won term 3, and its main loop is about to *)
(* lead; meanwhile Behind has won term 4, and sends it a heartbeat.        *)

RaceInit ==
    Begins([n \in Node |->
               CASE n = Ahead  -> Wins(n, HasVoted(Up(3, <<Noop(2)>>), 3, Ahead))
                 [] n = Third  -> HasVoted(Up(4, << >>), 4, Behind)
                 [] n = Behind -> LeaderOf(n, 4, << >>)],
           {Leadership(Ahead, 3), Leadership(Behind, 4)}, << >>)

-----------------------------------------------------------------------------
(* Verifying a leadership.  Ahead led term 2; Third leads term 3, and only *)
(* a server without a vote does not know.                                  *)

NewLeaderInit ==
    Begins([n \in Node |->
               CASE n = Ahead      -> LeaderOf(n, 2, << >>)
                 [] n = Third      -> LeaderOf(n, 3, << >>)
                 [] n = Behind     -> HasVoted(Up(3, << >>), 3, Third)
                 [] n \notin Voters -> Up(2, << >>)],
           {Leadership(Ahead, 2), Leadership(Third, 3)}, << >>)

=============================================================================
