------------------------------ MODULE MCRules -------------------------------
(***************************************************************************)
(* Properties that fail without a rule.  Some rules of the protocol can be *)
(* taken out and no property of the book fails in a small model.  Each of  *)
(* them has a property here that fails without it.                         *)
(* tests/models/test_model_mutants.py names the rules.  The properties of  *)
(* elections message by message are in MCElection.                         *)
(***************************************************************************)
EXTENDS MCDLedger

-----------------------------------------------------------------------------
(* Logs and commits.                                                       *)

\* INV CommittedByLeaders: what a node regards as committed, a leader has committed.
CommittedByLeaders ==
    \A n \in Node : \A i \in 0..CommittedEnd(node[n]) :
       \E c \in committed : c.index = i /\ c.entry = EntryAt(n, i)

\* INV TermsNeverFall: along a log terms never fall.
TermsNeverFall ==
    \A n \in Node : \A i \in 1..EndIndex(node[n].log) : TermAt(node[n].log, i - 1) <= TermAt(node[n].log, i)

\* PROP RestartsFromCheckPointProp: a node comes back and knows no more as committed than its checkpoint says.
RestartsFromCheckPointProp ==
    [][\A n \in Node : node[n].role = "DOWN" /\ node'[n].role # "DOWN"
                          => node'[n].committedIndex <= node[n].checkPoint]_vars

-----------------------------------------------------------------------------
(* The leader: its watermarks, its dispatchers, its clients.               *)

\* INV FollowersKnowNoWatermark: what a node knew as the leader of an earlier term counts no more.
FollowersKnowNoWatermark ==
    \A n \in Node : node[n].role = "FOLLOWER" => node[n].peerWaterMarks = NoMarks

\* PROP AppendsBeginAtTheEndProp: a leader that has compared appends where the follower's log ends.
\* Else it would append below that end for ever: what is below is compared, and not stored.
AppendsBeginAtTheEndProp ==
    [][\A n \in Node : \A p \in Peers(n) :
       LET before  == node[n].dispatchers[p]
           after   == node'[n].dispatchers[p]
           follows == node[p].leaderId = n /\ node[p].currTerm = node[n].currTerm
       IN  before.type = "COMPARE" /\ after.type = "APPEND" /\ follows
             => after.writeIndex = EndIndex(node[p].log) + 1]_vars

\* PROP TruncatesWhereItCanBeStoredProp: a leader that has compared truncates at an entry that joins its
\* follower's log.  Else it would be refused for ever: a TRUNCATE beyond the next index is late.
TruncatesWhereItCanBeStoredProp ==
    [][\A n \in Node : \A p \in Peers(n) :
       LET before  == node[n].dispatchers[p]
           after   == node'[n].dispatchers[p]
           follows == node[p].leaderId = n /\ node[p].currTerm = node[n].currTerm
       IN  before.type = "COMPARE" /\ after.type = "TRUNCATE" /\ follows
             => after.truncateIndex <= EndIndex(node[p].log) + 1]_vars

\* INV AnswersAreAwaited: an answer to COMPARE or TRUNCATE under way is one that its dispatcher waits for.
AnswersAreAwaited ==
    \A p \in Node : \A q \in Peers(p) : \A m \in MessagesIn(network[p][q]) :
       m.kind = "response" /\ m.type \in {"COMPARE", "TRUNCATE"} => Awaits(node[q], p, m.type)

\* INV PushedIsStoredOrPends: what was pushed is known to be stored, or it will be pushed again.
PushedIsStoredOrPends ==
    \A n \in Node : \A p \in Peers(n) : Appending(n, p) =>
       LET dispatcher == node[n].dispatchers[p]
           Pends(i)   == \E x \in dispatcher.pendings : i \in x.index .. x.index + x.count - 1
       IN  \A i \in node[n].peerWaterMarks[p] + 1 .. dispatcher.writeIndex - 1 : Pends(i)

\* PROP StoredPendsNoMoreProp: what an answer says is stored will not be pushed again.
StoredPendsNoMoreProp ==
    [][\A n \in Node : \A p \in Peers(n) :
       LET mark == node'[n].peerWaterMarks[p]
       IN  mark > node[n].peerWaterMarks[p]
             => \A x \in node'[n].dispatchers[p].pendings : x.index # mark]_vars

\* INV FewClientsWait: at most one client more waits at a leader than MaxPendingRequests.
FewClientsWait ==
    \A n \in Node : Cardinality(FuturesOf(node[n], node[n].currTerm)) <= MaxPendingRequests + 1

\* PROP OldClientsAreToldProp: when a pass begins, no client waits for an entry of an earlier term.
OldClientsAreToldProp ==
    [][\A n \in Node : ~InPass(node[n]) /\ InPass(node'[n])
                          => node'[n].futures = FuturesOf(node'[n], node'[n].currTerm)]_vars

-----------------------------------------------------------------------------
(* The follower: its queues, its answers.                                  *)

\* PROP StoredWaitsNoMoreProp: an APPEND that was stored does not wait to be stored once more.
StoredWaitsNoMoreProp ==
    [][\A n \in Node : \A m \in received'[n].writeRequestMap :
       m.index = Len(node[n].log) => Len(node'[n].log) <= Len(node[n].log)]_vars

Control(n) == received[n].compareOrTruncateRequests

\* PROP ComparesAfreshProp: no APPEND waits that a follower got before a COMPARE or TRUNCATE.  The leader
\* pushes anew from where the logs agree, and one that waits would make the follower refuse the new one.
ComparesAfreshProp ==
    [][\A n \in Node :
       LET queue == Control(n)' IN
       Len(queue) > Len(Control(n)) /\ queue[Len(queue)].type # "COMMIT"
         => received'[n].writeRequestMap = {}]_vars

\* PROP ComparesFirstProp: a follower stores nothing while it is asked what it stores.
ComparesFirstProp ==
    [][\A n \in Node : node[n].role = "FOLLOWER" /\ Control(n) # << >> /\ Control(n)' = Control(n)
                          => node'[n].log = node[n].log]_vars

\* The answers to what was pushed that n gives in a step.  REPEATED_PUSH is none: nothing was handled.
Says(n) == {m \in UNION {MessagesIn(network'[n][p]) \ MessagesIn(network[n][p]) : p \in Peers(n)} :
               m.kind = "response" /\ ~IsElection(m) /\ m.code # "REPEATED_PUSH"}

\* PROP FollowersAnswerProp: a node that follows does not say that it does not, and one that does not says
\* nothing else.
FollowersAnswerProp ==
    [][\A n \in Node : \A m \in Says(n) : (m.code = "NOT_FOLLOWER") = (node[n].role # "FOLLOWER")]_vars

\* PROP SuccessIsStoredProp: a follower says SUCCESS of nothing that it does not store as its leader does.
SuccessIsStoredProp ==
    [][\A n \in Node : \A m \in Says(n) :
       m.code = "SUCCESS" => /\ HasEntry(node'[n].log, m.index)
                             /\ node[m.dst].role = "LEADER" /\ node[m.dst].currTerm = m.term
                                  => Entry(node'[n].log, m.index) = EntryAt(m.dst, m.index)]_vars

\* PROP StoresFromItsLeaderProp: a follower stores nothing that the leader it follows does not hold.
StoresFromItsLeaderProp ==
    [][\A n \in Node : \A leader \in Peers(n) : \A i \in 0..EndIndex(node'[n].log) :
       LET item    == [index |-> i, entry |-> Entry(node'[n].log, i)]
           follows == /\ node[n].leaderId = leader /\ node[leader].role = "LEADER"
                      /\ StaysInTerm(n) /\ node[leader].currTerm = node[n].currTerm
       IN  follows /\ ~Holds(node[n].log, item) => Holds(node[leader].log, item)]_vars

\* PROP NoGapIsFilledProp: a follower reports no gap that an APPEND which waits will fill.
NoGapIsFilledProp ==
    [][\A n \in Node : \A m \in Says(n) :
       LET next == EndIndex(node[n].log) + 1 IN
       IsResponse(m, "APPEND") /\ m.code = "INCONSISTENT_STATE" /\ m.index > next
         => \A x \in received[n].writeRequestMap : x.index # next]_vars

-----------------------------------------------------------------------------
(* Models that begin later.                                                *)

\* All hold one entry, and it is committed.
AllHoldOne == StoredByQuorum(1, 1)

\* A leader of term 2 holds one entry of term 1, a follower, its rival, three.  None of them is committed.
Rival ==
    \E leader \in Node : \E rival \in Peers(leader) :
    LET entry     == [term |-> 1, value |-> CHOOSE value \in Value : TRUE]
        LogOf(n)  == [k \in 1..(IF n = rival THEN 3 ELSE 1) |-> entry]
        Begins(n) == [InitNode(n) EXCEPT !.currTerm = 2, !.leaderId = leader, !.currVoteFor = leader,
                                         !.role = IF n = leader THEN "LEADER" ELSE "FOLLOWER",
                                         !.log = LogOf(n), !.disk = LogOf(n), !.ledgerEndTerm = 1]
    IN  /\ node = [n \in Node |-> Begins(n)]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ acknowledged = {}
        /\ elected = {}
        /\ committed = {}

=============================================================================
