------------------------------- MODULE Steps --------------------------------
(***************************************************************************)
(* The form of an action.  The reader learns how a handler is written that *)
(* may fail, or die, at each of its durable writes, and how the rest of    *)
(* the spec is put together.                                               *)
(*                                                                         *)
(* A handler is a pure operator: from the record of one server as it was   *)
(* `before`, and what it acts on, to                                       *)
(*                                                                         *)
(*     [node   |-> the record afterwards,                                  *)
(*      out    |-> the messages it sends, to each peer one at most,        *)
(*      writes |-> <<what it writes durably, in order>>]                   *)
(*                                                                         *)
(* It reads no variable.  For each write it says what a crash right after  *)
(* the write leaves, and what the server does if the write fails.          *)
(*                                                                         *)
(* An action that writes has a parameter `outcome`: all is done; write k   *)
(* fails; or the process dies right after write k.  So the step of such an *)
(* action is one whole, and yet there is a crash between any two writes.   *)
(*                                                                         *)
(* An action chooses its parameters in the quantifiers that it begins      *)
(* with.  Given a state and the parameters there is one successor at most. *)
(***************************************************************************)
EXTENDS State

\* The result of a handler that writes nothing, and of one that sends nothing either.
Says(after, out) == [node |-> after, out |-> out, writes |-> << >>]
Quietly(after)   == Says(after, {})

-----------------------------------------------------------------------------
(* Going down.                                                             *)

\* A process that goes down leaves its three keys, its log with the commit index there, its snapshots.
Down(before) ==
    [EmptyNode EXCEPT !.role = "Shutdown", !.currentTerm = before.currentTerm,
                      !.lastVoteTerm = before.lastVoteTerm, !.lastVoteCand = before.lastVoteCand,
                      !.log = before.log, !.snapshots = before.snapshots,
                      !.storedCommit = before.storedCommit]

-----------------------------------------------------------------------------
(* Roles.  setState forgets the known leader, whatever the role.           *)

\* What is left of the routine for p when it is stopped: it may be about to send.  One with a pipeline sends
\* behind what it has sent there, or from where the last answer led that it still takes.
LeftOf(before, p) ==
    LET runner == before.replication[p]
        acked  == {runner.inFlight[k].sentIndex + 1 : k \in DOMAIN runner.inFlight} \ {1}
    IN  {[peer |-> p, term |-> runner.term, nextIndex |-> i] : i \in {runner.nextIndex} \cup acked}

\* The end of a leadership.  Its routines are stopped, but one that is about to send still sends.
Stopped(before) ==
    LET runners == {p \in Node : before.replication[p].running}
        about   == UNION {LeftOf(before, p) : p \in runners}
    IN  [before EXCEPT !.leaderState = NoLeaderState, !.replication = NoRunners, !.verify = NoVerify,
                       !.zombies = IF Zombies THEN @ \cup about ELSE {},
                       !.transfer = IF LeavesTransferFlag /\ @.inProgress THEN @ ELSE NoTransfer]

\* The main loop is that of a leader, though a heartbeat beside it may have ended the leadership.
IsInLeaderLoop(state) == state.role = "Leader" \/ (state.loop = "OVERTAKEN" /\ state.campaign.phase = "NONE")

Left(before) == IF IsInLeaderLoop(before) THEN Stopped(before) ELSE before

\* setState(Follower); and in a term.
Follower(before) == [Left(before) EXCEPT !.role = "Follower", !.leader = NoNode, !.campaign = NoCampaign,
                                         !.loop = IF @ = "OVERTAKEN" THEN "SELECT" ELSE @]
FollowerIn(before, term) == [Follower(before) EXCEPT !.currentTerm = term]

\* The same, by a heartbeat beside the main loop of a candidate or a leader, which does not notice yet.  One
\* that has won a pre-vote campaigns before it looks.
OvertakenIn(before, term) ==
    [before EXCEPT !.role = "Follower", !.leader = NoNode, !.currentTerm = term,
                   !.loop = IF @ = "CAMPAIGN" THEN @ ELSE "OVERTAKEN"]

\* The main loop notices that the server follows.
Noticed(before) == [Left(before) EXCEPT !.campaign = NoCampaign, !.loop = "SELECT"]

-----------------------------------------------------------------------------
(* Durable writes.                                                         *)

\* after: the server after the write; a crash leaves its durable part.  sent: the messages sent before that
\* crash.
\* fails: the result of the handler if the write fails.
Write(after, fails) == [after |-> after, sent |-> {}, fails |-> fails]

\* setCurrentTerm panics if the write fails: the process dies.
TermWrite(before, after) == Write(after, Quietly(Down(before)))

Done         == [result |-> "DONE", write |-> 0]
Fails(k)     == [result |-> "FAIL", write |-> k]
DiesAfter(k) == [result |-> "CRASH", write |-> k]

\* The outcomes that an action chooses from; no handler has more than four writes.
AnyOutcome   == {Done} \cup [result: {"FAIL", "CRASH"}, write: 1..4]

\* The possible outcomes of a handler.
Outcomes(n, handled) ==
    LET places == 1..Len(handled.writes) IN
    {Done} \cup (IF StoreFailures /\ MayFail(n) THEN {Fails(k) : k \in places} ELSE {})
           \cup (IF CrashesInWrites /\ MayFail(n) THEN {DiesAfter(k) : k \in places} ELSE {})

\* The result of a handler with this outcome.
Outcome(handled, outcome) ==
    CASE outcome.result = "DONE"  -> handled
      [] outcome.result = "FAIL"  -> handled.writes[outcome.write].fails
      [] outcome.result = "CRASH" -> LET write == handled.writes[outcome.write]
                                     IN  Says(Down(write.after), write.sent)

-----------------------------------------------------------------------------
(* The forms of an action of n.                                            *)

\* The process runs, and its main loop takes an event.
Runs(n)    == node[n].role # "Shutdown"
Selects(n) == Runs(n) /\ node[n].loop = "SELECT"

OfElections == {"RequestVote", "RequestPreVote"}
OfLeaders   == {"AppendEntries", "Heartbeat", "InstallSnapshot", "TimeoutNow"}

\* The types of the calls that a server gives up: those of a campaign or a leadership that has ended.
GivenUpWith(before, after, leadershipEnds) ==
    (IF before.campaign.phase # after.campaign.phase THEN OfElections ELSE {})
    \cup (IF leadershipEnds THEN OfLeaders ELSE {})

GivenUp(before, after) == GivenUpWith(before, after, IsInLeaderLoop(before) /\ ~IsInLeaderLoop(after))

\* n sends the messages of the set `out`.
SentEach(net, n, out) ==
    IF out = {} THEN net
    ELSE [net EXCEPT ![n] = [p \in DOMAIN @ |->
             IF \E m \in out : m.dst = p THEN Put(@[p], CHOOSE m \in out : m.dst = p) ELSE @[p]]]

\* The network after a step of n; `net` is the network without the messages that the step sends.
After(n, net, handled) ==
    LET types   == GivenUp(node[n], handled.node)
        Gone(m) == m.type \in types
    IN  SentEach(IF types = {} THEN net ELSE AllAbandoned(net, n, Gone), n, handled.out)

\* n goes from one record to another; `elected` remembers n if it becomes a leader.
Update(n, net, handled) ==
    /\ node' = [node EXCEPT ![n] = handled.node]
    /\ network' = After(n, net, handled)
    /\ elected' = IF handled.node.role = "Leader" /\ node[n].role # "Leader"
                  THEN elected \cup {[term |-> handled.node.currentTerm, leader |-> n]}
                  ELSE elected

\* n handles no message.
Act(n, handled) ==
    /\ Update(n, network, handled)
    /\ UNCHANGED <<committed, verified>>

Step(n, after) == Act(n, Quietly(after))

\* n handles the request m.
Handle(n, m, handled) ==
    /\ Update(n, Received(network, m), handled)
    /\ UNCHANGED <<committed, verified>>

\* The same; meanwhile another routine of n answers a heartbeat.
HandleAround(n, m, handled, heartbeat, answer) ==
    /\ Update(n, SentEach(Received(Received(network, heartbeat), m), n, answer), handled)
    /\ UNCHANGED <<committed, verified>>

\* n takes its answer m, and no other to the same call.
TakeAnswer(n, m, handled) ==
    LET Gone(x) == x.type = m.type
    IN  /\ Update(n, Abandoned(Received(network, m), n, m.src, Gone), handled)
        /\ UNCHANGED <<committed, verified>>

\* n takes an answer of a pipeline.  The calls behind it are given up if that closes the pipeline.
TakeOneOfSeveral(n, m, after) ==
    LET Gone(x) == x.type = m.type
        net     == Received(network, m)
        isOpen  == after.replication[m.src].pipeline = "OPEN"
    IN  /\ Update(n, IF isOpen THEN net ELSE Abandoned(net, n, m.src, Gone), Quietly(after))
        /\ UNCHANGED <<committed, verified>>

\* n waits no more for the answer of peer to its call of this type.
GiveUp(n, peer, type, after) ==
    LET Gone(x) == x.type = type
    IN  /\ Update(n, Abandoned(network, n, peer, Gone), Quietly(after))
        /\ UNCHANGED <<committed, verified>>

=============================================================================
