----------------------------- MODULE MCLiveness -----------------------------
(***************************************************************************)
(* Bounded models of liveness.  The reader learns two ways in which a node *)
(* may be left behind for ever while all others go on, and under which     *)
(* assumptions a repaired group takes it along.                            *)
(* Progress needs assumptions: a node that can take a step does so         *)
(* (fairness), and faults leave a way.  Each model states its own.  Both   *)
(* begin in the middle, when one node, the Laggard, has fallen behind a    *)
(* Leader of term 1 and a third node, which is up to date.  No process     *)
(* dies, no follower loses its leader by time, and no client appends.      *)
(***************************************************************************)
EXTENDS MCElection

CONSTANTS Leader, Laggard

ASSUME {Leader, Laggard} \subseteq Node /\ Cardinality(Node) = 3 /\ Leader # Laggard

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

-----------------------------------------------------------------------------
(* A gap (RepeatedPush).  The Laggard acknowledged an entry and lost it    *)
(* with the power, before it was on the disk.  The Leader does not know,   *)
(* and pushes the entry behind it.  The Laggard's answer, which would make *)
(* it compare, may be lost.                                                *)
(*                                                                         *)
(* Assumed: nothing else is lost, and this answer not every time, should   *)
(* it be given again and again; the Leader pushes again and again what it  *)
(* may push again and again, though a COMMIT may take the room for it; and *)
(* both handle what they receive, the Laggard also an APPEND, though each  *)
(* COMMIT goes first.                                                      *)

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

TellsOfGap(n, m) == IsResponse(m, "APPEND") /\ m.code = "INCONSISTENT_STATE"

\* The Leader hears of the gap.
HearsOfGap ==
    /\ HandleAppendResponse(Leader)
    /\ node[Leader].dispatchers[Laggard].type = "APPEND"
    /\ node'[Leader].dispatchers[Laggard].type = "COMPARE"

GapFairness ==
    /\ SF_vars(HearsOfGap)
    /\ SF_vars(DoAppend(Leader))
    /\ SF_vars(DoCheckAppendResponse(Leader))
    /\ SF_vars(DoCompare(Leader))
    /\ SF_vars(DoTruncate(Leader))
    /\ WF_vars(HandleAppendResponse(Leader))
    /\ WF_vars(HandleCompareResponse(Leader))
    /\ WF_vars(HandleTruncateResponse(Leader))
    /\ WF_vars(HandlePush(Laggard))
    /\ WF_vars(HandleDoCompare(Laggard))
    /\ WF_vars(HandleDoTruncate(Laggard))
    /\ WF_vars(HandleDoCommit(Laggard))
    /\ SF_vars(HandleDoAppend(Laggard))
    /\ SF_vars(CheckAppendFuture(Laggard))

GapSpec == GapInit /\ [][Next]_vars /\ GapFairness

\* LIVE CatchesUp: the Laggard holds what the Leader holds, from some time on.
CatchesUp == <>[](node[Laggard].log = node[Leader].log)

-----------------------------------------------------------------------------
(* A term of its own (HighTermLaggard).  The Laggard was cut off, became a *)
(* candidate, and is in term 2, while the others have an entry that it     *)
(* lacks.  So nobody votes for it, and it follows no leader of term 1.     *)
(*                                                                         *)
(* Assumed: nothing is lost, and a round ends when all answers are in; the *)
(* StateMaintainer of each node goes on, and each node handles what comes  *)
(* from each other.  The third node asks for no votes: say that its timer, *)
(* which is random, is the last to end.  The Leader beats as long as some  *)
(* node does not follow.                                                   *)

HighTermInit ==
    LET laggard == [InTermOne(Laggard, "CANDIDATE", 0) EXCEPT
                       !.currTerm = 2, !.currVoteFor = Laggard, !.leaderId = NoNode]
    IN  BeginsWith([n \in Node |-> CASE n = Leader  -> [InTermOne(n, "LEADER", 1) EXCEPT !.votes = {n, Third}]
                                     [] n = Third   -> InTermOne(n, "FOLLOWER", 1)
                                     [] n = Laggard -> laggard])

AllButTheThird(n) == n # Third /\ HasRoom(n)

\* An ACTION_CONSTRAINT: a round that ends has all its answers.
RoundsAreWhole ==
    \A n \in Node : LET round == node[n].election.round IN
       round.type # "NONE" /\ node'[n].election.round.type = "NONE" => Answerers(round.answers) = Node

\* A weaker one: a leader's round ends 10 ms after a quorum has answered, whoever is still to answer.
RoundsHaveAQuorum ==
    \A n \in Node : LET round == node[n].election.round IN
       round.type # "NONE" /\ node'[n].election.round.type = "NONE"
         => IF round.type = "HEARTBEAT" THEN IsQuorum(Answerers(round.answers), Node)
            ELSE Answerers(round.answers) = Node

\* The acts of the StateMaintainer of n, one at a time.
GoesOn(n) ==
    \/ IncreaseTerm(n)
    \/ VoteForQuorumResponses(n)
    \/ HandleOwnVote(n)
    \/ ParseVoteResponses(n) /\ RoundsAreWhole
    \/ SendHeartbeats(n)
    \/ ParseHeartBeatResponses(n) /\ RoundsAreWhole

\* n handles the next message from p.
HandlesFrom(n, p) ==
    /\ HandleVote(n) \/ HandleVoteResponse(n) \/ HandleHeartBeat(n) \/ HandleHeartBeatResponse(n)
    /\ network'[p][n] # network[p][n]

HighTermFairness ==
    \A n \in Node :
       /\ WF_vars(GoesOn(n))
       /\ \A p \in Peers(n) : WF_vars(HandlesFrom(n, p))

HighTermSpec == HighTermInit /\ [][Next]_vars /\ HighTermFairness

\* LIVE Rejoins: the Laggard follows, from some time on.
Rejoins == <>[](node[Laggard].role = "FOLLOWER")

=============================================================================
