----------------------------- MODULE MCElection -----------------------------
(***************************************************************************)
(* Bounded models of elections message by message.  The reader learns      *)
(* what would go wrong without a rule, which answers and conclusions of    *)
(* ElectionRules are reached, each by a model, and which are not.          *)
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

\* The beginning of models of transfers: a leader of term 0 and its followers.
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
(* Outcomes that no model reaches: each would take two leaders of one      *)
(* term, a term file that lost its term, or a stranger in the group.       *)

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
(* Rules, each by what would go wrong without it: see MCRules.             *)

\* INV VotesAreOfTheirTerm: a node that got a vote stood for election in that term, and is in it or beyond.
VotesAreOfTheirTerm ==
    \A n \in Node : LET candidate == node[n].currVoteFor IN
       candidate # NoNode => node[candidate].currTerm >= node[n].currTerm

\* INV AnswersAreToTheRound: an answer under way is one that its candidate or leader still waits for.
AnswersAreToTheRound ==
    \A p \in Node : \A q \in Peers(p) : \A m \in MessagesIn(network[p][q]) :
    LET round == node[q].election.round IN
       m.kind = "response" /\ m.type \in {"VOTE", "HEARTBEAT"}
          => round.type = m.type /\ round.answers[p] = "NONE"

\* PROP TermsRiseForAReasonProp: no term is raised but after a split vote or the news of a higher term.
TermsRiseForAReasonProp ==
    [][\A n \in Node : node'[n].currTerm > node[n].currTerm
                          => node[n].election.voteNext \/ node[n].election.needIncrease]_vars

\* PROP AsksInNoPastTermProp: a node that got a request of a higher term asks for votes there, and not before.
AsksInNoPastTermProp ==
    [][\A n \in Node : node[n].election.round.type = "NONE" /\ node'[n].election.round.type = "VOTE"
                          => ~node'[n].election.needIncrease]_vars

\* n draws its conclusion from a round of votes.
Concludes(n) ==
    /\ node[n].election.round.type = "VOTE" /\ node'[n].election.round.type = "NONE"
    /\ KeepsRunning(n)

\* PROP HigherTermIsKnownProp: a candidate that hears of a higher term will go there.
HigherTermIsKnownProp ==
    [][\A n \in Node : LET heard == node[n].election.round.maxTerm IN
       Concludes(n) /\ heard > node[n].currTerm => node'[n].election.knownMaxTerm >= heard]_vars

\* PROP OutrunKeepsItsTermProp: a candidate that cannot win, since too many have better logs, raises no term;
\* it would depose a leader that they may have.
OutrunKeepsItsTermProp ==
    [][\A n \in Node :
       LET round  == node[n].election.round
           better == Gave(round.answers, {"REJECT_EXPIRED_LEDGER_TERM", "REJECT_SMALL_LEDGER_END_INDEX"})
       IN  Concludes(n) /\ round.maxTerm <= node[n].currTerm /\ ~IsQuorum(Node \ better, Node)
             => ~node'[n].election.voteNext]_vars

\* PROP TransfereeKeepsItsVoteProp: a preferred leader that takes over votes for none that has no better log.
TransfereeKeepsItsVoteProp ==
    [][\A n \in PreferredLeaders :
       LET candidate == node'[n].currVoteFor
           takes     == StaysInTerm(n) /\ node[n].election.termToTakeLeadership = node[n].currTerm
       IN  takes /\ candidate # n /\ candidate # node[n].currVoteFor
             => LedgerAnswer(candidate, n) # "NONE"]_vars

\* PROP TakesOverFromItsLeaderProp: a node waits to take over from the leader that it follows, no other.
TakesOverFromItsLeaderProp ==
    [][\A n \in Node : LET waiting == node'[n].election.waiting IN
       waiting \notin {NobodyWaits, node[n].election.waiting} => waiting.leader = node[n].leaderId]_vars

\* PROP WaitsForOneProp: a transferee that waits answers whom it waits for before it waits for another.
WaitsForOneProp ==
    [][\A n \in Node : node[n].election.waiting # NobodyWaits
                          => node'[n].election.waiting \in {node[n].election.waiting, NobodyWaits}]_vars

\* INV TransfereeNeedsAll: a transferee takes over when it holds all that its leader does.
TransfereeNeedsAll ==
    \A n \in Node : LET transferee == node[n].election.transferee IN
       transferee # NoNode =>
         LET waiting == node[transferee].election.waiting IN
         /\ waiting.leader = n => waiting.index = EndIndex(node[n].log)
         /\ \A m \in MessagesIn(network[n][transferee]) :
               IsRequest(m, "TRANSFER") => m.index = EndIndex(node[n].log)

-----------------------------------------------------------------------------
(* Witnesses.  Each name below says that something never happens, and TLC  *)
(* must violate it: see MCWitnesses.                                       *)

IsUnderWay(type, code) == \E p \in Node : \E q \in Peers(p) : \E m \in MessagesIn(network[p][q]) :
                          IsResponse(m, type) /\ m.code = code
NeverAnswersVote(code)     == ~IsUnderWay("VOTE", code)
NeverAnswersBeat(code)     == ~IsUnderWay("HEARTBEAT", code)
NeverAnswersTransfer(code) == ~IsUnderWay("TRANSFER", code)

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

\* The conclusion that a candidate may draw now, and that a leader may draw now.
NeverConcludes(outcome) ==
    \A n \in Node : LET round == node[n].election.round IN
       round.type = "VOTE" /\ round.answers[n] # "NONE"
          => VoteOutcome(node[n].currTerm, round.maxTerm, round.answers) # outcome
NeverFinds(outcome) ==
    \A n \in Node : node[n].election.round.type = "HEARTBEAT" => FoundByBeating(node[n]) # outcome

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
