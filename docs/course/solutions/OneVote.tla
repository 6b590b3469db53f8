------------------------------ MODULE OneVote -------------------------------
(***************************************************************************)
(* Exercise 2-guard.  Three nodes elect a leader of term 1, vote by vote.  *)
(* When a node may vote for a candidate is left open: as it stands, a node *)
(* votes for whoever asks.  Write the rule in place of TRUE.  Change       *)
(* nothing outside the two lines that mark the place.                      *)
(*                                                                         *)
(* node[n].currVoteFor is whom n voted for in its term; NoNode is nobody.  *)
(***************************************************************************)
EXTENDS MCDLedger

MayVoteFor(n, candidate) ==
    \* -- your guard begins
    node[n].currVoteFor \in {NoNode, candidate}
    \* -- your guard ends

\* n accepts the candidate of its own term.  The cfg puts this in the place of Accepts.
AcceptsIf(n, candidate) ==
    /\ node[n].role # "DOWN"
    /\ node[candidate].role = "CANDIDATE"
    /\ node[candidate].currTerm = node[n].currTerm
    /\ MayVoteFor(n, candidate)

\* What must still happen.
SomebodyLeads == \E n \in Node : node[n].role = "LEADER"

=============================================================================
