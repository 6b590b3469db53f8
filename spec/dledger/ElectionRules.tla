--------------------------- MODULE ElectionRules ----------------------------
(***************************************************************************)
(* The decisions of an election: what a voter answers a candidate, what    *)
(* the candidate makes of the answers, and the same for heartbeats and for *)
(* the transfer of leadership.                                             *)
(*                                                                         *)
(* There is no state here and no network: each operator is one decision of *)
(* the code, with its tests in the code's order.  When a node decides,     *)
(* what it knows then, and what becomes of it, is in MessageElections and  *)
(* Transfer.                                                               *)
(*                                                                         *)
(* DLedger has no pre-vote message.  A candidate asks again and again in   *)
(* the term it is in, and raises its term only when the answers say so.    *)
(*                                                                         *)
(* A voter, or member, is given as a record of what the rules look at (see *)
(* Member in RoleElections); m is the request that it answers.             *)
(***************************************************************************)
EXTENDS Quorum

\* answers: [member -> the code of its answer], "NONE" where there is no answer yet.
Gave(answers, codes) == {p \in DOMAIN answers : answers[p] \in codes}
Answerers(answers)   == {p \in DOMAIN answers : answers[p] # "NONE"}

-----------------------------------------------------------------------------
(* Votes.  A code says why a vote is refused:                              *)
(*   EXPIRED_LEDGER_TERM, SMALL_LEDGER_END_INDEX: the voter has a better   *)
(*       log; its last entry is of a later term, or its log is longer      *)
(*   EXPIRED_VOTE_TERM, TERM_NOT_READY: the voter is in a later, or in an  *)
(*       earlier, term than the candidate                                  *)
(*   ALREADY_HAS_LEADER, ALREADY_VOTED: the voter voted for another node   *)
(*       in this term, and knows that term's leader, or does not           *)
(*   TERM_SMALL_THAN_LEDGER: the candidate's term is earlier than that of  *)
(*       the voter's last entry                                            *)
(*   TAKING_LEADERSHIP: the voter is about to take over the leadership     *)
(*   UNKNOWN_LEADER, UNEXPECTED_LEADER: the candidate is a stranger, or    *)
(*       says that it is the voter                                         *)

VoteCodes == {"ACCEPT", "REJECT_UNKNOWN_LEADER", "REJECT_UNEXPECTED_LEADER",
              "REJECT_EXPIRED_LEDGER_TERM", "REJECT_SMALL_LEDGER_END_INDEX",
              "REJECT_EXPIRED_VOTE_TERM", "REJECT_ALREADY_HAS_LEADER", "REJECT_ALREADY_VOTED",
              "REJECT_TERM_NOT_READY", "REJECT_TERM_SMALL_THAN_LEDGER", "REJECT_TAKING_LEADERSHIP"}

\* The log rule of handleVote: in what the candidate's log is worse than the voter's; "NONE": in nothing.
\* Example: the voter's log ends with index 4 of term 2.  A candidate whose log ends with index 9 of term 1
\* is refused with EXPIRED_LEDGER_TERM, one with index 3 of term 2 with SMALL_LEDGER_END_INDEX, and one with
\* index 0 of term 3 is not.
LedgerCode(voter, m) ==
    IF m.ledgerEndTerm < voter.ledgerEndTerm THEN "REJECT_EXPIRED_LEDGER_TERM"
    ELSE IF m.ledgerEndTerm = voter.ledgerEndTerm /\ m.ledgerEndIndex < voter.ledgerEndIndex
    THEN "REJECT_SMALL_LEDGER_END_INDEX"
    ELSE "NONE"

\* DLedgerLeaderElector.handleVote.  The logs are compared before the terms, and the voter's role is not
\* asked.  `self`: the candidate asks itself.
VoteCode(voter, m, members, self) ==
    IF m.src \notin members THEN "REJECT_UNKNOWN_LEADER"
    ELSE IF ~self /\ m.src = voter.id THEN "REJECT_UNEXPECTED_LEADER"
    ELSE IF LedgerCode(voter, m) # "NONE" THEN LedgerCode(voter, m)
    ELSE IF m.term < voter.currTerm THEN "REJECT_EXPIRED_VOTE_TERM"
    ELSE IF m.term > voter.currTerm THEN "REJECT_TERM_NOT_READY"
    ELSE IF voter.hasVoted /\ voter.currVoteFor # m.src
    THEN IF voter.hasLeader THEN "REJECT_ALREADY_HAS_LEADER" ELSE "REJECT_ALREADY_VOTED"
    ELSE IF m.term < voter.ledgerEndTerm THEN "REJECT_TERM_SMALL_THAN_LEDGER"
    ELSE IF /\ ~self /\ voter.isTakingLeadership
            /\ m.ledgerEndTerm = voter.ledgerEndTerm
            /\ voter.ledgerEndIndex >= m.ledgerEndIndex
    THEN "REJECT_TAKING_LEADERSHIP"
    ELSE "ACCEPT"

\* The answers that carry a term which the candidate may have to go to.
CarriesTerm == {"REJECT_EXPIRED_VOTE_TERM", "REJECT_TERM_SMALL_THAN_LEDGER"}

\* What the answers to a round of vote requests come to: the tests of maintainAsCandidate, each named by what
\* it finds.  maxTerm is the highest term that an answer carried.
VoteOutcome(term, maxTerm, answers) ==
    LET members  == DOMAIN answers
        valid    == Answerers(answers)
        bigger   == Gave(answers, {"REJECT_EXPIRED_LEDGER_TERM", "REJECT_SMALL_LEDGER_END_INDEX"})
        accepted == Gave(answers, {"ACCEPT"})
        notReady == Gave(answers, {"REJECT_TERM_NOT_READY"})
    IN  IF maxTerm > term THEN "HIGHER_TERM"
        ELSE IF Gave(answers, {"REJECT_ALREADY_HAS_LEADER"}) # {} THEN "HAS_LEADER"
        ELSE IF ~IsQuorum(valid, members) THEN "NO_QUORUM"
        ELSE IF ~IsQuorum(valid \ bigger, members) THEN "BIGGER_LEDGERS"
        ELSE IF IsQuorum(accepted, members) THEN "ACCEPTED"
        ELSE IF IsQuorum(accepted \cup notReady, members) THEN "NOT_READY"
        ELSE "SPLIT"

\* DLedgerLeaderElector.maintainAsCandidate: what the candidate does next.  It raises its term before its
\* next round only after WAIT_TO_VOTE_NEXT.
ParseResult(outcome) ==
    CASE outcome \in {"HIGHER_TERM", "SPLIT"} -> "WAIT_TO_VOTE_NEXT"
      [] outcome \in {"HAS_LEADER", "NO_QUORUM", "BIGGER_LEDGERS"} -> "WAIT_TO_REVOTE"
      [] outcome = "NOT_READY" -> "REVOTE_IMMEDIATELY"
      [] outcome = "ACCEPTED" -> "PASSED"

-----------------------------------------------------------------------------
(* Heartbeats.                                                             *)

HeartBeatCodes == {"SUCCESS", "UNKNOWN_MEMBER", "UNEXPECTED_MEMBER", "EXPIRED_TERM",
                   "INCONSISTENT_LEADER", "TERM_NOT_READY"}

\* DLedgerLeaderElector.handleHeartBeat.  The logs are not compared.
HeartBeatCode(member, m, members) ==
    IF m.src \notin members THEN "UNKNOWN_MEMBER"
    ELSE IF m.src = member.id THEN "UNEXPECTED_MEMBER"
    ELSE IF m.term < member.currTerm THEN "EXPIRED_TERM"
    ELSE IF m.term > member.currTerm THEN "TERM_NOT_READY"
    ELSE IF member.hasLeader /\ member.leaderId # m.src THEN "INCONSISTENT_LEADER"
    ELSE "SUCCESS"

\* What the answers to a round of heartbeats come to: the tests of sendHeartbeats.  A higher term counts only
\* where those that follow are no quorum, even together with those that are on their way to this term.
HeartBeatOutcome(term, maxTerm, answers) ==
    LET members  == DOMAIN answers
        success  == Gave(answers, {"SUCCESS"})
        notReady == Gave(answers, {"TERM_NOT_READY"})
    IN  IF IsQuorum(success, members) THEN "QUORUM"
        ELSE IF IsQuorum(success \cup notReady, members) THEN "NOT_READY"
        ELSE IF maxTerm > term THEN "HIGHER_TERM"
        ELSE IF Gave(answers, {"INCONSISTENT_LEADER"}) # {} THEN "INCONSISTENT_LEADER"
        ELSE "NO_QUORUM"

-----------------------------------------------------------------------------
(* Transfer of leadership.                                                 *)

TransferCodes == {"SUCCESS", "INCONSISTENT_LEADER", "INCONSISTENT_TERM", "EXPIRED_TERM",
                  "TAKE_LEADERSHIP_FAILED", "INTERNAL_ERROR"}

\* DLedgerServer.handleLeadershipTransfer at the leader, then DLedgerLeaderElector's: the answer to a client
\* that wants the leader of `term` to hand over to a peer whose log lacks `fallBehind` entries.
TransferCommandCode(member, term, fallBehind, maxWaitIndex) ==
    IF member.currTerm # term THEN "INCONSISTENT_TERM"
    ELSE IF ~member.isLeader THEN "NOT_LEADER"
    ELSE IF fallBehind >= maxWaitIndex THEN "FALL_BEHIND_TOO_MUCH"
    ELSE IF member.hasTransferee THEN "LEADER_TRANSFERRING"
    ELSE "SUCCESS"

\* TakeLeadershipTask.check: the answer of a transferee, which is to lead the term `toTake`, when its role
\* becomes `role` in `term`.  "NONE": nothing yet, or nobody waits for it.
TakeLeadershipCode(toTake, term, role) ==
    IF toTake = -1 THEN "NONE"
    ELSE IF term > toTake THEN "EXPIRED_TERM"
    ELSE IF term = toTake
    THEN CASE role = "LEADER" -> "SUCCESS"
           [] role = "FOLLOWER" -> "TAKE_LEADERSHIP_FAILED"
           [] role = "CANDIDATE" -> "NONE"
    ELSE IF role = "FOLLOWER" THEN "TAKE_LEADERSHIP_FAILED" ELSE "INTERNAL_ERROR"

=============================================================================
