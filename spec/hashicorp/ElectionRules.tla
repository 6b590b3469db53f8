--------------------------- MODULE ElectionRules ----------------------------
(***************************************************************************)
(* The decisions of an election: the answers of a voter to a candidate,    *)
(* and their reasons.  The reader learns the tests in the library's order, *)
(* which matters here more than anywhere else.                             *)
(*                                                                         *)
(* There is no network here and nothing changes: each operator is one      *)
(* decision.  `voter` is the record of the server that decides, m the      *)
(* request.                                                                *)
(*                                                                         *)
(* Four things are worth a thought:                                        *)
(*                                                                         *)
(*   A voter that knows a leader refuses all others before it looks at the *)
(*   term.  So it does not even raise its own, and a server that was cut   *)
(*   off, and comes back with a high term, unseats nobody.                 *)
(*                                                                         *)
(*   A voter that finds its vote of this term on disk does not compare the *)
(*   logs again: it did that when it voted.  If a crash tore the record,   *)
(*   it did not (TornVote).                                                *)
(*                                                                         *)
(*   A leader that hands over says so in the request of the one it chose,  *)
(*   which is then voted for although a leader is known.                   *)
(*                                                                         *)
(*   A voter whose log is behind may know an old configuration.  If it     *)
(*   refuses a candidate that has no vote there, a group of which a        *)
(*   majority runs may be without a leader for ever                        *)
(*   (UnknownCandidateRejected).  It need not ask: the candidate counts    *)
(*   its votes in its own configuration, and its log must be as good.      *)
(***************************************************************************)
EXTENDS State

-----------------------------------------------------------------------------
(* The log rule: the voter's log is better than the candidate's.           *)
(* Example: the voter's last entry has index 4 and term 2.  A candidate    *)
(* with index 9 of term 1 is refused, one with index 3 of term 2 is, too,  *)
(* and one with index 1 of term 3 is not.                                  *)

HasBetterLog(voter, m) ==
    LET last == LastEntry(voter) IN
    \/ last.term > m.lastLogTerm
    \/ /\ last.term = m.lastLogTerm \/ RefusesShorterLog
       /\ last.index > m.lastLogIndex

-----------------------------------------------------------------------------
(* The candidate.                                                          *)

\* A server without any configuration knows no members, and turns nobody away; repaired, no server does.
KnowsMembers(voter) == RefusesUnknown /\ Members(voter.configurations.latest) # {}

IsStranger(voter, m) == KnowsMembers(voter) /\ m.src \notin Members(voter.configurations.latest)
HasNoVote(voter, m)  == KnowsMembers(voter) /\ m.src \notin voter.configurations.latest.voters

\* A leader is known, and it is not the candidate.
HasLeader(voter, m)  == voter.leader # NoNode /\ (voter.leader # m.src \/ RefusesItsLeader)

-----------------------------------------------------------------------------
(* Votes.  The first finding of the voter:                                 *)
(*   STRANGER, HAS_LEADER, OLDER_TERM  refused; its term stays             *)
(*   NO_VOTER                          refused, as the candidate has no    *)
(*                                     vote itself                         *)
(*   VOTED_FOR_IT, VOTED               it has voted in this term, for this *)
(*                                     candidate or another                *)
(*   BETTER_LOG                        refused                             *)
(*   VOTES                             granted, with a new vote            *)
(* From NO_VOTER on it is in the candidate's term.                         *)

VoteCodes == {"STRANGER", "HAS_LEADER", "OLDER_TERM", "NO_VOTER", "VOTED_FOR_IT", "VOTED", "BETTER_LOG",
              "VOTES"}

\* requestVote.
VoteCode(voter, m) ==
    IF IsStranger(voter, m) THEN "STRANGER"
    ELSE IF HasLeader(voter, m) /\ ~m.leadershipTransfer THEN "HAS_LEADER"
    ELSE IF m.term < voter.currentTerm THEN "OLDER_TERM"
    ELSE IF HasNoVote(voter, m) THEN "NO_VOTER"
    ELSE IF voter.lastVoteTerm = m.term /\ voter.lastVoteCand # NoNode
    THEN IF voter.lastVoteCand = m.src THEN "VOTED_FOR_IT" ELSE "VOTED"
    ELSE IF HasBetterLog(voter, m) THEN "BETTER_LOG"
    ELSE "VOTES"

LeavesTerm == {"STRANGER", "HAS_LEADER", "OLDER_TERM"}
Grants     == {"VOTED_FOR_IT", "VOTES"}

-----------------------------------------------------------------------------
(* Pre-votes: whether the voter would vote, were there an election.  It    *)
(* changes nothing, and does not look at the votes it has given.           *)

\* requestPreVote.
PreVoteCode(voter, m) ==
    IF IsStranger(voter, m) THEN "STRANGER"
    ELSE IF voter.leader # NoNode /\ voter.leader # m.src THEN "HAS_LEADER"
    ELSE IF m.term < voter.currentTerm THEN "OLDER_TERM"
    ELSE IF HasNoVote(voter, m) THEN "NO_VOTER"
    ELSE IF HasBetterLog(voter, m) THEN "BETTER_LOG"
    ELSE "VOTES"

=============================================================================
