----------------------------- MODULE MCLiveness -----------------------------
(***************************************************************************)
(* Bounded models of what must happen.  The reader learns two ways in      *)
(* which a node may be left behind for ever while all others go on, and    *)
(* under which assumptions a repaired group takes it along.                *)
(*                                                                         *)
(* That something happens needs assumptions: that faults come to an end,   *)
(* and that who can take a step does so (fairness).  Each model states its *)
(* own.  Both begin in the middle, when one node, the Laggard, has fallen  *)
(* behind a Leader of term 1 and a third node which is up to date.         *)
(***************************************************************************)
EXTENDS MCElection

CONSTANTS Leader, Laggard, MaxLosses

ASSUME {Leader, Laggard} \subseteq Node /\ Cardinality(Node) = 3 /\ Leader # Laggard

VARIABLE losses   \* how many messages were lost so far

Third == CHOOSE n \in Node : n \notin {Leader, Laggard}

\* The node n in term 1, with `count` entries.
InTermOne(n, role, count) ==
    LET log == [k \in 1..count |-> [term |-> 1, value |-> CHOOSE value \in Value : TRUE]]
    IN  [InitNode(n) EXCEPT !.role = role, !.currTerm = 1, !.currVoteFor = Leader, !.leaderId = Leader,
                            !.log = log, !.disk = log, !.ledgerEndTerm = EndTerm(log)]

BeginsWith(nodes) ==
    /\ node = nodes
    /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
    /\ received = [n \in Node |-> EmptyQueues]
    /\ elected = {[term |-> 1, leader |-> Leader]}
    /\ committed = {}
    /\ acknowledged = {}
    /\ losses = 0

-----------------------------------------------------------------------------
(* A gap (RepeatedPush).  The Laggard acknowledged an entry and lost it    *)
(* with the power, before it was on the disk.  The Leader does not know,   *)
(* and pushes the entry behind it.                                         *)
(*                                                                         *)
(* Assumed: MaxLosses messages are lost, no more; a time-out ends the wait *)
(* for an answer that cannot come; the Laggard and the Leader handle what  *)
(* they receive, the Laggard also an APPEND, though each COMMIT goes       *)
(* first; and what the Leader may push again and again it pushes.          *)

Pushes(index) == [InitDispatcher EXCEPT !.type = "APPEND", !.term = 1, !.writeIndex = index]

GapInit ==
    LET leader == [InTermOne(Leader, "LEADER", 2) EXCEPT
                      !.votes = Node,
                      !.peerWaterMarks = [n \in Node |-> IF n = Laggard THEN 0 ELSE 1],
                      !.dispatchers = [n \in Peers(Leader) |-> Pushes(IF n = Laggard THEN 1 ELSE 2)]]
    IN  BeginsWith([n \in Node |-> CASE n = Leader  -> leader
                                     [] n = Third   -> InTermOne(n, "FOLLOWER", 2)
                                     [] n = Laggard -> InTermOne(n, "FOLLOWER", 0)])

\* The third node needs nothing.
ToLaggard(n, peer) == n = Leader /\ peer = Laggard /\ UnderWay < MaxMessages

\* Neither under way nor in a queue is a request that n waits for.
NoAnswerComes(n, peer) ==
    LET queue == received[peer].compareOrTruncateRequests
    IN  /\ MCMayTimeOut(n, peer)
        /\ \A k \in 1..Len(queue) : queue[k].src = n => ~queue[k].awaited

LoseOne(n) ==
    \E m \in Inbox(n) :
    /\ losses < MaxLosses
    /\ losses' = losses + 1
    /\ network' = Received(network, m)
    /\ UNCHANGED <<node, received, elected, history>>

GapNext == \/ Next /\ UNCHANGED losses
           \/ \E n \in Node : LoseOne(n)

GapFairness ==
    /\ SF_vars(DoAppend(Leader))
    /\ SF_vars(DoCheckAppendResponse(Leader))
    /\ SF_vars(DoCompare(Leader))
    /\ SF_vars(DoTruncate(Leader))
    /\ WF_vars(HandleAppendResponse(Leader))
    /\ WF_vars(HandleCompareResponse(Leader))
    /\ WF_vars(HandleTruncateResponse(Leader))
    /\ WF_vars(PushTimeOut(Leader))
    /\ WF_vars(HandlePush(Laggard))
    /\ WF_vars(HandleDoCompare(Laggard))
    /\ WF_vars(HandleDoTruncate(Laggard))
    /\ WF_vars(HandleDoCommit(Laggard))
    /\ SF_vars(HandleDoAppend(Laggard))
    /\ SF_vars(CheckAppendFuture(Laggard))

GapSpec == GapInit /\ [][GapNext]_<<vars, losses>> /\ GapFairness

\* LIVE CatchesUp: the Laggard holds what the Leader holds, from some time on.
CatchesUp == <>[](node[Laggard].log = node[Leader].log)

-----------------------------------------------------------------------------
(* A term of its own (HighTermLaggard).  The Laggard was cut off, became a *)
(* candidate, and is in term 2, while the others have an entry that it     *)
(* lacks.  So nobody votes for it, and it follows no leader of term 1.     *)
(*                                                                         *)
(* Assumed: nothing is lost, and a round ends when all answers are in; the *)
(* third node is in no hurry to be elected (the timers are random); the    *)
(* Leader goes on with its rounds, and the others answer.                  *)

HighTermInit ==
    LET laggard == [InTermOne(Laggard, "CANDIDATE", 0) EXCEPT
                       !.currTerm = 2, !.currVoteFor = Laggard, !.leaderId = NoNode]
    IN  BeginsWith([n \in Node |-> CASE n = Leader  -> [InTermOne(n, "LEADER", 1) EXCEPT !.votes = {n, Third}]
                                     [] n = Third   -> InTermOne(n, "FOLLOWER", 1)
                                     [] n = Laggard -> laggard])

AllButTheThird(n) == n # Third /\ HasRoom(n)

\* A round that ends has all its answers.
RoundsAreWhole ==
    \A n \in Node : LET round == node[n].election.round IN
       round.type # "NONE" /\ node'[n].election.round.type = "NONE" => Answerers(round.answers) = Node

HighTermNext == Next /\ RoundsAreWhole /\ UNCHANGED losses

HighTermFairness ==
    /\ \A n \in {Laggard, Third} : WF_vars(HandleVote(n)) /\ WF_vars(HandleHeartBeat(n))
    /\ \A n \in {Leader, Third} : WF_vars(IncreaseTerm(n))
    /\ WF_vars(SendHeartbeats(Leader))
    /\ WF_vars(HandleHeartBeatResponse(Leader))
    /\ WF_vars(ParseHeartBeatResponses(Leader))
    /\ WF_vars(VoteForQuorumResponses(Leader))
    /\ WF_vars(HandleOwnVote(Leader))
    /\ WF_vars(HandleVoteResponse(Leader))
    /\ WF_vars(ParseVoteResponses(Leader))

HighTermSpec == HighTermInit /\ [][HighTermNext]_<<vars, losses>> /\ HighTermFairness

\* LIVE Rejoins: the Laggard follows, from some time on.
Rejoins == <>[](node[Laggard].role = "FOLLOWER")

=============================================================================
