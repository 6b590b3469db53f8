----------------------------- MODULE MCElection -----------------------------
(***************************************************************************)
(* Bounded models of elections message by message.  The reader learns      *)
(* which answers and conclusions of ElectionRules are reached, each by a   *)
(* model, and which are not.                                               *)
(***************************************************************************)
EXTENDS MCDLedger

\* A round begins only where it puts no more than MaxMessages messages of elections under way.
HasRoom(n) ==
    LET Count(p, q) == SizeOfLane(network[p][q], IsElection, MaxMessages) IN
    Cardinality({<<p, q, k>> \in Node \X Node \X (1..MaxMessages) : p # q /\ k <= Count(p, q)})
        + Cardinality(Peers(n)) <= MaxMessages

\* Heartbeats only while somebody does not follow.
MCMayBeat(n) == HasRoom(n) /\ \E p \in Peers(n) : node[p].leaderId # n

\* One transfer at a time.
MCMayTransfer(n) == \A p \in Node : /\ HasRoom(p)
                                    /\ node[p].election.transfers = {}
                                    /\ node[p].election.waiting = NobodyWaits
                                    /\ node[p].election.takesFrom = NoNode

\* Where models of transfers begin: a leader of term 0 and its followers.
Led ==
    \E leader \in Node :
    LET Begins(n) == [InitNode(n) EXCEPT !.role = IF n = leader THEN "LEADER" ELSE "FOLLOWER",
                                         !.currVoteFor = leader, !.leaderId = leader]
    IN  /\ node = [n \in Node |-> Begins(n)]
        /\ network = [n \in Node |-> [p \in Peers(n) |-> EmptyChannel]]
        /\ received = [n \in Node |-> EmptyQueues]
        /\ elected = {[term |-> 0, leader |-> leader]}
        /\ committed = {}
        /\ acknowledged = {}

-----------------------------------------------------------------------------
(* What no model reaches: each would take two leaders of one term, a term  *)
(* file that lost its term, or a stranger in the group.                    *)

Unheard == {"REJECT_UNKNOWN_LEADER", "REJECT_UNEXPECTED_LEADER", "REJECT_TERM_SMALL_THAN_LEDGER",
            "UNKNOWN_MEMBER", "UNEXPECTED_MEMBER", "INTERNAL_ERROR"}

\* INV NothingUnheard: no answer has one of these codes, and no two leaders of one term meet.
NothingUnheard ==
    \A p \in Node : \A q \in Peers(p) : \A m \in MessagesIn(network[p][q]) :
       m.kind = "response" => /\ m.code \notin Unheard
                              /\ ~(m.type = "HEARTBEAT" /\ m.code = "INCONSISTENT_LEADER")

\* INV TermReachesLedger: no node is in a lower term than its last entry.
TermReachesLedger == \A n \in Node : EndTerm(node[n].log) <= node[n].currTerm

\* INV FollowerHasLeader: a node that follows or leads knows its leader, and its term had that leader.
FollowerHasLeader ==
    \A n \in Node : node[n].role \in {"LEADER", "FOLLOWER"} =>
                       [term |-> node[n].currTerm, leader |-> node[n].leaderId] \in elected

-----------------------------------------------------------------------------
(* What is reached.  Each name below says that something never happens,    *)
(* and TLC must violate it: see MCWitnesses.                               *)

Told(type, code) == \E p \in Node : \E q \in Peers(p) : \E m \in MessagesIn(network[p][q]) :
                            IsResponse(m, type) /\ m.code = code
NeverAnswersVote(code)     == ~Told("VOTE", code)
NeverAnswersBeat(code)     == ~Told("HEARTBEAT", code)
NeverAnswersTransfer(code) == ~Told("TRANSFER", code)

NeverAccepts           == NeverAnswersVote("ACCEPT")
NeverExpiredLedgerTerm == NeverAnswersVote("REJECT_EXPIRED_LEDGER_TERM")
NeverSmallLedgerEnd    == NeverAnswersVote("REJECT_SMALL_LEDGER_END_INDEX")
NeverExpiredVoteTerm   == NeverAnswersVote("REJECT_EXPIRED_VOTE_TERM")
NeverAlreadyHasLeader  == NeverAnswersVote("REJECT_ALREADY_HAS_LEADER")
NeverAlreadyVoted      == NeverAnswersVote("REJECT_ALREADY_VOTED")
NeverVoteNotReady      == NeverAnswersVote("REJECT_TERM_NOT_READY")
NeverTakingLeadership  == NeverAnswersVote("REJECT_TAKING_LEADERSHIP")

NeverFollows           == NeverAnswersBeat("SUCCESS")
NeverBeatExpired       == NeverAnswersBeat("EXPIRED_TERM")
NeverBeatNotReady      == NeverAnswersBeat("TERM_NOT_READY")

NeverTakesOver         == NeverAnswersTransfer("SUCCESS")
NeverTakeFails         == NeverAnswersTransfer("TAKE_LEADERSHIP_FAILED")
NeverTransferExpired   == NeverAnswersTransfer("EXPIRED_TERM")
NeverTransferOfAnother == NeverAnswersTransfer("INCONSISTENT_LEADER")
NeverTransferTooLate   == NeverAnswersTransfer("INCONSISTENT_TERM")

\* Of the conclusion that a candidate may draw now, and that a leader may draw now.
NeverConcludes(outcome) ==
    \A n \in Node : LET round == node[n].election.round IN
       round.type = "VOTE" /\ round.answers[n] # "NONE"
          => VoteOutcome(node[n].currTerm, round.maxTerm, round.answers) # outcome
NeverFinds(outcome) ==
    \A n \in Node : LET round == node[n].election.round IN
       round.type = "HEARTBEAT"
          => HeartBeatOutcome(node[n].currTerm, round.maxTerm, round.answers) # outcome

NeverHigherTerm        == NeverConcludes("HIGHER_TERM")
NeverHasLeader         == NeverConcludes("HAS_LEADER")
NeverNoQuorum          == NeverConcludes("NO_QUORUM")
NeverBiggerLedgers     == NeverConcludes("BIGGER_LEDGERS")
NeverPassed            == NeverConcludes("ACCEPTED")
NeverNotReady          == NeverConcludes("NOT_READY")
NeverSplit             == NeverConcludes("SPLIT")

NeverBeatQuorum        == NeverFinds("QUORUM")
NeverBeatQuorumNotYet  == NeverFinds("NOT_READY")
NeverBeatHigherTerm    == NeverFinds("HIGHER_TERM")
NeverBeatNoQuorum      == NeverFinds("NO_QUORUM")

\* The own vote of a candidate goes to another node that was quicker.
NeverBeatenByOther     == \A n \in Node : node[n].election.round.answers[n] # "REJECT_ALREADY_VOTED"

\* A client that wants a leadership handed over is refused with this code.
Refuses(code) ==
    \E n \in Node : \E transferee \in Peers(n) : \E term \in 0..MaxTerm :
       /\ node[n].role # "DOWN"
       /\ TransferCommandCode(Member(n, node[n]), term,
                              EndIndex(node[n].log) - node[n].peerWaterMarks[transferee],
                              MaxLeadershipTransferWaitIndex) = code
NeverFallsBehind       == ~Refuses("FALL_BEHIND_TOO_MUCH")
NeverTransferring      == ~Refuses("LEADER_TRANSFERRING")

\* A node leads a term, leads it no more, and is elected in it again.
NoSecondElectionProp ==
    [][\A n \in Node : node[n].role = "CANDIDATE" /\ node'[n].role = "LEADER"
                          => [term |-> node[n].currTerm, leader |-> n] \notin elected]_vars

OneBehind       == 1
AllPreferred    == Node

=============================================================================
