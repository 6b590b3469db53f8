"""The models are sensitive: a rule taken out of the spec breaks a property by name.

Each mutant is one edit of a module of the spec, with the model and the property that fails there. A rule that no
property needs could be wrong without anyone knowing. `make test` has the compiled spec find one of each chapter;
`make nightly` has it find all of them, and TLC as well. Each of the few rules that no property can see has its reason.
"""

from __future__ import annotations

import functools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from lockstep.base.package_data import spec_dir
from lockstep.base.verdict import Verdict
from lockstep.models.model_manifest import Manifest, load_manifest, run_model
from lockstep.systems.dledger.codes import CODES
from lockstep.systems.registry import manifest, manifests, model_named
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables
from lockstep.tlc.tlc_output import cfg_section

#: The lists of a cfg that name what is checked. In these models they come last.
INVARIANTS, STEPS = ("INVARIANT", "INVARIANTS"), ("PROPERTY", "PROPERTIES")


@dataclass(frozen=True)
class Mutant:
    """A rule that is missing: `old` becomes `new`, and in `model` the property `violates` fails.

    Where not `reached`, the property is a witness, which fails in the spec as it is, and holds in the mutant.
    """

    name: str
    module: str
    old: str
    new: str
    model: str
    violates: str
    reached: bool = True


@dataclass(frozen=True)
class Unseen:
    """A rule that no property of this spec can see, and why; without it `model` has the graph that it has with it."""

    name: str
    module: str
    old: str
    new: str
    model: str
    why: str


MUTANTS = [
    Mutant(
        "votes_whatever_the_log",
        "ElectionRules",
        'IF LedgerCode(voter, m) # "NONE" THEN LedgerCode(voter, m)\n    ELSE ',
        "",
        "votes_log",
        "LeaderCompleteness",
    ),
    Mutant(
        "elects_whatever_the_log",
        "RoleElections",
        '                         /\\ LedgerAnswer(q, n) = "NONE"\n',
        "",
        "lossy",
        "LeaderCompleteness",
    ),
    Mutant(
        "votes_twice_in_a_term",
        "ElectionRules",
        "ELSE IF voter.hasVoted /\\ voter.currVoteFor # m.src\n",
        "ELSE IF FALSE\n",
        "votes_small",
        "VoteOncePerTermProp",
    ),
    Mutant(
        "forgets_its_vote_in_a_crash",
        "Failures",
        "!.currTerm = before.currTerm, !.currVoteFor = before.currVoteFor,",
        "!.currTerm = before.currTerm,",
        "votes_small",
        "VoteOncePerTermProp",
    ),
    Mutant(
        "half_is_a_quorum",
        "RoleElections",
        "    /\\ IsQuorum(voters, Node)\n",
        "",
        "crash",
        "ElectionSafety",
    ),
    Mutant(
        "commits_by_the_best_watermark",
        "Commit",
        "LET index == QuorumIndexBySorting(state.peerWaterMarks) IN",
        "LET index == Max({state.peerWaterMarks[p] : p \\in Node}) IN",
        "lossy",
        "LeaderCompleteness",
    ),
    Mutant(
        "commits_past_the_end",
        "Store",
        "!.committedIndex = Min({newIndex, EndIndex(before.log)})",
        "!.committedIndex = newIndex",
        "one_leader",
        "IndexOrder",
    ),
    Mutant(
        "believes_a_commit_of_a_lower_term",
        "Store",
        "       \\/ term < before.currTerm\n",
        "",
        "stale_push",
        "LowerTermCommitsNothingProp",
    ),
    Mutant(
        "checks_the_term_of_a_commit_as_published",
        "Follower",
        "IF Obeys(before, m) THEN Learnt(before, m)",
        "IF FromItsLeader(before, m) THEN Learnt(before, m)",
        "witness_stale_commit",
        "NoStaleCommitProp",
        reached=False,
    ),
    Mutant(
        "keeps_the_watermarks_of_an_old_term",
        "RoleElections",
        "!.votes = {},\n                        !.peerWaterMarks = NoMarks]",
        "!.votes = {}]",
        "crash",
        "FollowersKnowNoWatermark",
    ),
    Mutant(
        "believes_a_watermark_of_another_term",
        "State",
        "IF term = before.currTerm /\\ before.peerWaterMarks[peer] < index",
        "IF before.peerWaterMarks[peer] < index",
        "crash",
        "FollowersKnowNoWatermark",
    ),
    Mutant(
        "appends_what_another_leader_sent",
        "Follower",
        "StoreEntries(before, EntriesOf(m))\n    IN  IF FromItsLeader(before, m)",
        "StoreEntries(before, EntriesOf(m))\n    IN  IF TRUE",
        "stale_append",
        "StoresFromItsLeaderProp",
    ),
    Mutant(
        "truncates_for_another_leader",
        "Follower",
        "IF MayTruncate(before, m)",
        "IF TRUE",
        "lossy",
        "LeaderCompleteness",
    ),
    Mutant(
        "appends_behind_what_was_not_cut",
        "Leader",
        '[] m.code = "SUCCESS" /\\ m.endIndex = index ->',
        '[] m.code = "SUCCESS" ->',
        "rival",
        "AppendsBeginAtTheEndProp",
    ),
    Mutant(
        "restarts_with_what_it_knew",
        "Failures",
        "UpdateCommittedIndex(found, found.currTerm, found.checkPoint)",
        "UpdateCommittedIndex(found, found.currTerm, node[n].committedIndex)",
        "crash",
        "RestartsFromCheckPointProp",
    ),
    Mutant(
        "takes_the_answer_to_another_call",
        "Steps",
        "SentAll(Abandoned(Received(network, m), n, m.src, Gone), handled.out)",
        "SentAll(Received(network, m), handled.out)",
        "ordered",
        "AnswersAreAwaited",
    ),
    Mutant(
        "recovers_what_terms_forbid",
        "Failures",
        "\\/ k > 1 /\\ file[k].term < file[k - 1].term",
        "\\/ FALSE",
        "rival",
        "TermsNeverFall",
    ),
    Mutant(
        "takes_a_commit_back",
        "Store",
        "newIndex < before.committedIndex \\/ newIndex < BeginIndex(before.log)",
        "newIndex < BeginIndex(before.log)",
        "unordered_log",
        "CommittedMonotonicProp",
    ),
    Mutant(
        "takes_a_watermark_back",
        "State",
        "IF term = before.currTerm /\\ before.peerWaterMarks[peer] < index",
        "IF term = before.currTerm /\\ before.peerWaterMarks[peer] # index",
        "unordered_log",
        "WatermarkMonotonicWithinTermProp",
    ),
    Mutant(
        "overwrites_what_it_appends_to",
        "Store",
        "([before EXCEPT !.log = @ \\o entries,",
        "([before EXCEPT !.log = SubSeq(@, 1, Len(@) - 1) \\o entries,",
        "replication",
        "LeaderAppendOnlyProp",
    ),
    Mutant(
        "lets_a_leader_handle_what_is_pushed",
        "Follower",
        'Handles(n, m, type) == node[n].role = "FOLLOWER" /\\ IsRequest(m, type)',
        'Handles(n, m, type) == node[n].role # "DOWN" /\\ IsRequest(m, type)',
        "crash",
        "FollowersAnswerProp",
    ),
    Mutant(
        "keeps_no_history",
        "Commit",
        "committed' = committed \\cup NewlyCommitted(before, handled.node, pass.term)",
        "committed' = committed",
        "crash",
        "CommittedByLeaders",
    ),
    Mutant(
        "answers_an_older_log_with_a_vote",
        "ElectionRules",
        'IF m.ledgerEndTerm < voter.ledgerEndTerm THEN "REJECT_EXPIRED_LEDGER_TERM"\n    ELSE ',
        "",
        "vote_messages_log",
        "LeaderCompleteness",
    ),
    Mutant(
        "answers_a_shorter_log_with_a_vote",
        "ElectionRules",
        "m.ledgerEndIndex < voter.ledgerEndIndex\n",
        "FALSE\n",
        "short_log",
        "LeaderCompleteness",
    ),
    Mutant(
        "answers_two_candidates_with_a_vote",
        "ElectionRules",
        "ELSE IF voter.hasVoted /\\ voter.currVoteFor # m.src\n",
        "ELSE IF FALSE\n",
        "vote_messages_small",
        "VoteOncePerTermProp",
    ),
    Mutant(
        "answers_another_candidate_of_a_term_that_is_over_with_a_vote",
        "ElectionRules",
        'ELSE IF m.term < voter.currTerm THEN "REJECT_EXPIRED_VOTE_TERM"\n    ',
        "",
        "vote_messages_small",
        "VotesAreOfTheirTerm",
    ),
    Mutant(
        "puts_off_nobody_while_it_takes_over",
        "ElectionRules",
        "/\\ ~self /\\ voter.isTakingLeadership\n",
        "/\\ FALSE\n",
        "transfer_preferred",
        "TransfereeKeepsItsVoteProp",
    ),
    Mutant(
        "passes_with_any_vote",
        "ElectionRules",
        'IsQuorum(accepted, members) THEN "ACCEPTED"',
        'accepted # {} THEN "ACCEPTED"',
        "vote_messages",
        "ElectionSafety",
    ),
    Mutant(
        "asks_no_higher_term",
        "ElectionRules",
        'IF maxTerm > term THEN "HIGHER_TERM"\n        ELSE IF Gave(answers, {"REJECT_ALREADY_HAS_LEADER"})',
        'IF Gave(answers, {"REJECT_ALREADY_HAS_LEADER"})',
        "vote_messages_small",
        "HigherTermIsKnownProp",
    ),
    Mutant(
        "minds_no_longer_logs",
        "ElectionRules",
        'ELSE IF ~IsQuorum(valid \\ bigger, members) THEN "BIGGER_LEDGERS"\n        ',
        "",
        "vote_messages_log",
        "OutrunKeepsItsTermProp",
    ),
    Mutant(
        "follows_a_leader_of_a_term_that_is_over",
        "ElectionRules",
        'ELSE IF m.term < member.currTerm THEN "EXPIRED_TERM"\n    ',
        "",
        "vote_messages_terms",
        "FollowerHasLeader",
    ),
    Mutant(
        "raises_its_term_in_every_round",
        "MessageElections",
        "RaisesTerm(state) == state.election.voteNext",
        "RaisesTerm(state) == TRUE",
        "vote_messages_small",
        "TermsRiseForAReasonProp",
    ),
    Mutant(
        "counts_answers_to_the_round_before",
        "MessageElections",
        "SentAll(AllAbandoned(network, n, Gone), handled.out)",
        'SentAll(IF type = "VOTE" THEN network ELSE AllAbandoned(network, n, Gone), handled.out)',
        "vote_messages_small",
        "AnswersAreToTheRound",
    ),
    Mutant(
        "asks_for_votes_before_it_goes_to_a_term_it_has_heard_of",
        "MessageElections",
        "        /\\ ~node[n].election.needIncrease\n",
        "",
        "vote_messages_small",
        "AsksInNoPastTermProp",
    ),
    Mutant(
        "takes_appends_while_it_hands_over",
        "Clients",
        '\\E value \\in Value :\n    /\\ node[n].role = "LEADER"\n    /\\ node[n].election.transferee = NoNode\n',
        '\\E value \\in Value :\n    /\\ node[n].role = "LEADER"\n',
        "vote_messages_transfer",
        "TransfereeNeedsAll",
    ),
    Mutant(
        "takes_over_from_anyone",
        "Transfer",
        "IF before.leaderId = m.src THEN Quietly",
        "IF TRUE THEN Quietly",
        "vote_messages_transfer",
        "TakesOverFromItsLeaderProp",
    ),
    Mutant(
        "keeps_what_it_has_handled",
        "Steps",
        "[received EXCEPT ![n].writeRequestMap = @ \\ {m}]",
        "received",
        "receipt",
        "StoredWaitsNoMoreProp",
    ),
    Mutant(
        "keeps_the_appends_when_a_compare_comes",
        "Follower",
        'IF m.type = "COMMIT" THEN before.writeRequestMap ELSE {}',
        "before.writeRequestMap",
        "receipt",
        "ComparesAfreshProp",
    ),
    Mutant(
        "handles_an_append_before_a_compare",
        "Steps",
        "THEN {Head(queues.compareOrTruncateRequests)}\n    ELSE queues.writeRequestMap",
        "THEN {Head(queues.compareOrTruncateRequests)} \\cup queues.writeRequestMap\n    ELSE queues.writeRequestMap",
        "receipt",
        "ComparesFirstProp",
    ),
    Mutant(
        "takes_an_answered_push_for_pending",
        "Pushing",
        "!.dispatchers[m.src].pendings = {p \\in @ : p.index # m.index}",
        "!.dispatchers[m.src].pendings = @",
        "receipt",
        "StoredPendsNoMoreProp",
    ),
    Mutant(
        "counts_one_entry_too_many_of_a_batch",
        "Pushing",
        "m.index + m.count - 1",
        "m.index + m.count",
        "batches",
        "AcknowledgedIsDurable",
    ),
    Mutant(
        "pushes_one_entry_of_an_unanswered_batch",
        "Pushing",
        "        /\\ Act(n, [node |-> node[n], out |-> <<AppendRequest(n, peer, node[n], index, count)",
        "        /\\ Act(n, [node |-> node[n], out |-> <<AppendRequest(n, peer, node[n], index, 1)",
        "batches",
        "PushedIsStoredOrPends",
    ),
    Mutant(
        "leaves_clients_below_a_gap_unanswered",
        "Clients",
        "elapsed == IF whole THEN {} ELSE {i \\in mine : i < to}",
        "elapsed == {}",
        "batches",
        "OldRuleAnswersNoMore",
    ),
    Mutant(
        "refuses_what_it_is_pushed_as_a_follower",
        "Follower",
        'NotFollower\n    /\\ node[n].role \\notin {"FOLLOWER", "DOWN"}',
        'NotFollower\n    /\\ node[n].role # "DOWN"',
        "not_follower",
        "FollowersAnswerProp",
    ),
    Mutant(
        "answers_clients_whose_entry_no_quorum_stores",
        "Clients",
        "state.lastQuorumIndex < i /\\ i <= to /\\ \\A k",
        "\\A k",
        "clients",
        "AcknowledgedIsDurable",
    ),
    Mutant(
        "loses_what_was_forced",
        "Failures",
        "SubSeq(file, 1, kept) \\o SubSeq(before.disk, kept + 1, Len(before.disk))",
        "SubSeq(file, 1, kept)",
        "async_flush",
        "LeaderCompleteness",
    ),
    Mutant(
        "lets_clients_of_an_old_term_wait",
        "Clients",
        "CleanFutures(before) == [before EXCEPT !.futures = FuturesOf(before, before.currTerm)]",
        "CleanFutures(before) == before",
        "ack_by_quorum_index",
        "OldClientsAreToldProp",
    ),
    Mutant(
        "compares_indexes_and_no_entries",
        "Follower",
        "HasEntry(state.log, m.index) /\\ Entry(state.log, m.index) = m.entry",
        "HasEntry(state.log, m.index)",
        "lossy",
        "SuccessIsStoredProp",
    ),
    Mutant(
        "jumps_over_what_an_empty_follower_lacks",
        "Leader",
        "\\/ index < m.beginIndex\n                THEN Becomes(ToTruncate(dispatcher, begin))",
        "\\/ index < m.beginIndex\n                THEN Becomes(ToTruncate(dispatcher, index))",
        "ordered",
        "TruncatesWhereItCanBeStoredProp",
    ),
    Mutant(
        "stores_what_a_truncate_brings_above_its_index",
        "Store",
        "[k \\in 1..index |-> At(k)]",
        "[k \\in 1..index + 1 |-> At(k)]",
        "ordered",
        "NoHoles",
    ),
    Mutant(
        "brings_an_empty_follower_the_last_entry_first",
        "Leader",
        "\\/ index < m.beginIndex\n                THEN Becomes(ToTruncate(dispatcher, begin))",
        "\\/ index < m.beginIndex\n                THEN Becomes(ToTruncate(dispatcher, EndIndex(before.log)))",
        "ordered",
        "TruncatesWhereItCanBeStoredProp",
    ),
    Mutant(
        "tells_of_a_gap_that_will_be_filled",
        "Follower",
        "        /\\ \\A x \\in received[n].writeRequestMap : x.index # end + 1\n",
        "",
        "receipt",
        "NoGapIsFilledProp",
    ),
    Mutant(
        "lets_any_number_of_clients_wait",
        "Clients",
        "    /\\ ~IsPendingFull(node[n])\n",
        "",
        "pending_full",
        "FewClientsWait",
    ),
    Mutant(
        "forgets_whom_it_waits_for",
        "Transfer",
        "    /\\ node[n].election.waiting = NobodyWaits\n",
        "",
        "transfer_again",
        "WaitsForOneProp",
    ),
    Mutant(
        "confirms_an_append_of_another_leader",
        "Follower",
        "(AppendTermCheck \\/ FromItsLeader(node[n], m)) /\\ ",
        "",
        "append_term_check",
        "LeaderCompleteness",
    ),
    Mutant(
        "truncates_when_deposed",
        "Leader",
        "        /\\ DeposedTruncate \\/ Serves(node[n], dispatcher)\n",
        "",
        "deposed_truncate",
        "LogMatching",
    ),
]

#: Rules of the ladders, from DLedger by Dispatcher and from hashicorp/raft by Figure2 to ReplicatedLog: each layer
#: without one is no step of the next.
LADDER = [
    Mutant(
        "dispatcher_commits_what_a_minority_stores",
        "Dispatcher",
        "QuorumIndexBySorting(state.peerWaterMarks)",
        "Max({state.peerWaterMarks[p] : p \\in Node})",
        "dispatcher_elections",
        "RefinesReplicatedLog",
    ),
    Mutant(
        "dispatcher_truncates_behind_an_entry_of_its_own",
        "Dispatcher",
        "Append(SubSeq(@, 1, m.index), m.entry)",
        "IF m.index < Len(@) THEN SubSeq(@, 1, m.index + 1) ELSE Append(@, m.entry)",
        "dispatcher_prior_term",
        "LogMatching",
    ),
    Mutant(
        "dispatcher_commits_past_the_end",
        "Dispatcher",
        "Max({@, Min({m.commitIndex, End(state)})})",
        "Max({@, m.commitIndex})",
        "dispatcher_three",
        "IndexOrder",
    ),
    Mutant(
        "dispatcher_elects_in_a_term_that_a_voter_is_in",
        "Dispatcher",
        "LET term == 1 + Max({node[q].currTerm : q \\in voters}) IN",
        "LET term == Max({1} \\cup {node[q].currTerm : q \\in voters}) IN",
        "dispatcher_three",
        "ElectionSafety",
    ),
    Mutant(
        "dispatcher_elects_whatever_the_log",
        "Dispatcher",
        " /\\ \\A q \\in voters : ~IsBetter(node[q], node[n])",
        "",
        "dispatcher_prior_term",
        "LeaderCompleteness",
    ),
    Mutant(
        "dispatcher_confirms_an_append_of_another_leader",
        "Dispatcher",
        """IsOf(n, m, "APPEND") /\\ Answer""",
        """m.type = "APPEND" /\\ Answer""",
        "dispatcher_three_leaders",
        "LeaderCompleteness",
    ),
    Mutant(
        "dispatcher_answers_a_compare_of_another_term",
        "Dispatcher",
        """IsOf(n, m, "COMPARE") /\\ Answer""",
        """m.type = "COMPARE" /\\ Answer""",
        "dispatcher_old_leader",
        "LogMatching",
    ),
    Mutant(
        "dispatcher_obeys_a_truncate_of_another_term",
        "Dispatcher",
        '/\\ IsOf(n, m, "TRUNCATE")',
        '/\\ m.type = "TRUNCATE"',
        "dispatcher_old_leader",
        "CommittedIsStored",
    ),
    Mutant(
        "dispatcher_obeys_a_commit_of_another_term",
        "Dispatcher",
        """IsOf(n, m, "COMMIT") /\\ Step""",
        """m.type = "COMMIT" /\\ Step""",
        "dispatcher",
        "LearnsInItsTermProp",
    ),
    Mutant(
        "dispatcher_counts_an_answer_of_another_term",
        "Dispatcher",
        " /\\ m.dst = n /\\ m.term = node[n].currTerm\n",
        " /\\ m.dst = n\n",
        "dispatcher_late_answer",
        "CommittedIsStored",
    ),
    Mutant(
        "dispatcher_commits_an_entry_of_an_earlier_term_alone",
        "Dispatcher",
        "IF TermAt(state, quorum) = state.currTerm THEN quorum ELSE -1",
        "quorum",
        "dispatcher_prior_term",
        "LeaderCompleteness",
    ),
    Mutant(
        "dispatcher_cuts_nothing",
        "Dispatcher",
        "[state EXCEPT !.log = Append(SubSeq(@, 1, m.index), m.entry)]",
        "[state EXCEPT !.log = Append(@, m.entry)]",
        "refines_dispatcher_cut",
        "RefinesStepsOfDispatcher",
    ),
    Mutant(
        "dispatcher_takes_no_truncate_for_late",
        "Dispatcher",
        "late  == Holds(state, m.index, m.entry) /\\ TermAt(state, End(state)) = m.term",
        "late  == FALSE",
        "refines_dispatcher_cut",
        "RefinesStepsOfDispatcher",
    ),
    Mutant(
        "dispatcher_appends_where_the_peer_holds_more",
        "Dispatcher",
        "        ELSE IF m.endIndex > m.index THEN Becomes(state, p, Truncating(m.index))\n",
        "",
        "refines_dispatcher_cut",
        "RefinesStepsOfDispatcher",
    ),
    Mutant(
        "the_book_commits_what_a_minority_stores",
        "Commit",
        "LET index == QuorumIndexBySorting(state.peerWaterMarks) IN",
        "LET index == Max({state.peerWaterMarks[p] : p \\in Node}) IN",
        "refines_dispatcher",
        "RefinesDispatcher",
    ),
    Mutant(
        "the_book_truncates_at_the_entry_above",
        "Follower",
        "TruncateStore(before, m.index, m.entry)",
        "TruncateStore(before, m.index + 1, m.entry)",
        "refines_dispatcher",
        "RefinesDispatcher",
    ),
    Mutant(
        "the_book_commits_all_that_a_follower_holds",
        "Store",
        "!.committedIndex = Min({newIndex, EndIndex(before.log)})]",
        "!.committedIndex = EndIndex(before.log)]",
        "refines_dispatcher",
        "RefinesDispatcher",
    ),
    Mutant(
        "the_book_truncates_when_deposed",
        "Leader",
        "        /\\ DeposedTruncate \\/ Serves(node[n], dispatcher)\n",
        "",
        "refines_dispatcher",
        "RefinesDispatcher",
    ),
    Mutant(
        "figure_2_commits_what_a_minority_stores",
        "Figure2",
        "QuorumIndexBySorting(state.matchIndexes)",
        "Max({state.matchIndexes[p] : p \\in Node})",
        "figure2_elections",
        "RefinesReplicatedLog",
    ),
    Mutant(
        "figure_2_commits_an_entry_of_an_earlier_term_alone",
        "Figure2",
        "IF quorum >= state.startIndex THEN quorum ELSE 0",
        "quorum",
        "figure2_prior_term",
        "LeaderCompleteness",
    ),
    Mutant(
        "figure_2_commits_what_the_leader_may_not_hold",
        "Figure2",
        "Min({m.leaderCommitIndex, EndOf(m)})",
        "Min({m.leaderCommitIndex, LastIndex(state)})",
        "figure2_elections",
        "LearntIsCommitted",
    ),
    Mutant(
        "figure_2_commits_past_the_end",
        "Figure2",
        "Min({m.leaderCommitIndex, EndOf(m)})",
        "m.leaderCommitIndex",
        "figure2_three",
        "IndexOrder",
    ),
    Mutant(
        "figure_2_votes_whatever_the_log",
        "Figure2",
        " /\\ ~HasBetterLog(voter, m)",
        "",
        "figure2_elections",
        "LeaderCompleteness",
    ),
    Mutant(
        "figure_2_votes_twice_in_a_term",
        "Figure2",
        "voter.votedFor \\in {NoNode, m.src} /\\ ",
        "",
        "figure2_three",
        "ElectionSafety",
    ),
    Mutant(
        "figure_2_stores_behind_another_entry",
        "Figure2",
        "holds == TermAt(state, m.prevLogEntry) = m.prevLogTerm",
        "holds == m.prevLogEntry <= LastIndex(state)",
        "figure2_prior_term",
        "LogMatching",
    ),
    Mutant(
        "raft_commits_what_a_minority_stores",
        "Leader",
        "sorted[(IF HalfCommits THEN size \\div 2 ELSE (size - 1) \\div 2) + 1]",
        "sorted[size]",
        "refines_figure2",
        "RefinesFigure2",
    ),
    Mutant(
        "raft_commits_an_entry_of_an_earlier_term_alone",
        "Leader",
        " /\\ index >= before.leaderState.startIndex",
        "",
        "refines_figure2_prior_term",
        "RefinesFigure2",
    ),
    Mutant(
        "raft_commits_what_the_leader_may_not_hold",
        "Follower",
        "IF CommitsUnverified THEN LastIndex(state) ELSE EndOfRequest(m)",
        "LastIndex(state)",
        "refines_figure2_terms",
        "RefinesFigure2",
    ),
    Mutant(
        "raft_deletes_entries_that_do_not_conflict",
        "Follower",
        "    \\/ TruncatesAlways\n",
        "    \\/ TRUE\n",
        "refines_figure2_lossy",
        "RefinesFigure2",
    ),
    Mutant(
        "raft_votes_whatever_the_log",
        "ElectionRules",
        '    ELSE IF HasBetterLog(voter, m) THEN "BETTER_LOG"\n    ELSE "VOTES"\n\nLeavesTerm',
        '    ELSE "VOTES"\n\nLeavesTerm',
        "refines_figure2_prior_term",
        "RefinesFigure2",
    ),
]
MUTANTS += LADDER


UNSEEN = [
    Unseen(
        "truncates_after_the_next_index",
        "Follower",
        "    /\\ LateTruncate \\/ m.index <= EndIndex(state.log) + 1\n",
        "",
        "late_truncate",
        "By reading, a TRUNCATE leaves a gap where an older one of the same leader comes between the answer to COMPARE"
        " and it. That takes logs of four entries of earlier terms and four messages under way:"
        " more than any model has.",
    ),
    Unseen(
        "takes_any_truncate_for_late_in_the_leaders_term",
        "Follower",
        "    /\\ HoldsEntryOf(state, m)\n    /\\ EndTerm",
        "    /\\ EndTerm",
        "late_truncate",
        "A log that ends with an entry of the leader's term came from that leader. Its TRUNCATE is at 0, or at an index"
        " that the follower held in this term, and in this term nothing is cut from a log that ends with an entry of"
        " it. So the follower holds the entry: the conjunct follows from the other one, except in a log with a hole.",
    ),
    Unseen(
        "truncates_at_what_was_cut_from_its_own_log",
        "Leader",
        "        /\\ HasEntry(node[n].log, dispatcher.truncateIndex)\n",
        "",
        "ordered",
        "In every model the guard is implied: where a TRUNCATE is to be sent, the log still has its entry. By reading,"
        " a leader that was deposed loses it with three nodes, four terms and logs of three; the request would then"
        " have no entry to carry, and both engines would end with an error, as the code does with an exception.",
    ),
]


@functools.cache
def manifest_paths() -> dict[str, Path]:
    """The manifest that has each model; to read all manifests for each mutant takes long."""
    return {entry.name: each.path for each in manifests() for entry in each.models}


def edited(mutant: Mutant | Unseen) -> Path:
    """The module that the edit changes: of the system whose model sees it, or one that systems share."""
    system = manifest_paths()[mutant.model].parent.parent
    (module,) = (each for place in (system, spec_dir() / "common") for each in place.glob(f"{mutant.module}.tla"))
    return module


def mutated(mutant: Mutant | Unseen, folder: Path) -> Manifest:
    """Copy the spec with this one edit and return the manifest of the copy."""
    shutil.copytree(spec_dir(), folder / "spec")
    original = edited(mutant).read_text(encoding="utf-8")
    assert original.count(mutant.old) == 1
    module = folder / "spec" / edited(mutant).relative_to(spec_dir())
    module.write_text(original.replace(mutant.old, mutant.new), encoding="utf-8")
    return load_manifest(folder / "spec" / manifest_paths()[mutant.model].relative_to(spec_dir()))


def checking(copy: Manifest, model: str, name: str | None) -> Path:
    """Write a cfg beside the model's own, in the copy, that checks one property alone, so that TLC names that one."""
    _, cfg = copy.files(copy.model(model))
    text = cfg.read_text(encoding="utf-8")
    alone = re.split("^(?:INVARIANT|PROPERT)", text, maxsplit=1, flags=re.MULTILINE)[0]
    if name is not None:
        alone += f"{'INVARIANTS' if name in cfg_section(text, *INVARIANTS) else 'PROPERTIES'}\n  {name}\n"
    file = cfg.with_name("alone.cfg")
    file.write_text(alone, encoding="utf-8")
    return file


def searched(copy: Manifest, model: str, cfg: Path, cache: Path) -> TableExploration:
    module, _ = copy.files(copy.model(model))
    return explore_by_tables(
        load_spec(module, cfg, search_path=copy.library, cache_dir=cache), SearchOptions(check_deadlock=False)
    )


#: The mutant of every run: a leader of the ladder's Dispatcher counts without a quorum.
SAMPLE = [each for each in LADDER if each.name == "dispatcher_commits_what_a_minority_stores"]


def test_each_edit_changes_one_place_of_the_spec() -> None:
    """The mutants are searched by night; that a rule is gone from its place, or stands at two, is seen by day."""
    everything: list[Mutant | Unseen] = [*MUTANTS, *UNSEEN]
    places = {each.name: edited(each).read_text(encoding="utf-8").count(each.old) for each in everything}
    assert {name: count for name, count in places.items() if count != 1} == {}


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(each, id=each.name, marks=[] if each in SAMPLE else [pytest.mark.nightly]) for each in MUTANTS],
)
def test_a_rule_taken_out_breaks_a_named_property(mutant: Mutant, tmp_path: Path) -> None:
    copy = mutated(mutant, tmp_path)
    found = searched(copy, mutant.model, checking(copy, mutant.model, mutant.violates), tmp_path / "cache")
    if mutant.reached:
        assert found.violation is not None
        assert found.violation.name == mutant.violates
    else:
        assert found.complete


#: The modules that a refinement instances: TLC says where in them the violated step stands, and names no property.
INSTANCED = ("Dispatcher", "Figure2", "ReplicatedLog")


@pytest.mark.nightly
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_tlc_agrees_that_a_rule_taken_out_breaks_a_named_property(mutant: Mutant, tmp_path: Path) -> None:
    copy = mutated(mutant, tmp_path)
    alone = checking(copy, mutant.model, mutant.violates)
    result = run_model(
        copy, msgspec.structs.replace(copy.model(mutant.model), cfg=str(alone.relative_to(copy.path.parent)))
    )
    assert result.verdict is (Verdict.VIOLATED if mutant.reached else Verdict.HOLDS), result.reason
    if mutant.reached:
        assert result.violation is not None
        found = result.violation
        at = found.location.module if found.name is None and found.location is not None else None
        assert found.name == mutant.violates or (mutant.violates.startswith("Refines") and at in INSTANCED)


@pytest.mark.nightly
@pytest.mark.parametrize("mutant", UNSEEN, ids=lambda each: each.name)
def test_a_rule_that_no_property_sees_changes_nothing_in_a_model(mutant: Unseen, tmp_path: Path) -> None:
    copy = mutated(mutant, tmp_path)
    entry = copy.model(mutant.model)
    found = searched(copy, entry.name, checking(copy, entry.name, None), tmp_path / "cache")
    assert found.complete
    assert (found.distinct, found.generated, found.depth) == (entry.distinct, entry.generated, entry.depth)


@pytest.mark.nightly
def test_a_property_that_a_mutant_breaks_holds_of_the_spec_in_that_model() -> None:
    for mutant in MUTANTS:
        pinned, entry = model_named(mutant.model)
        text = pinned.files(entry)[1].read_text(encoding="utf-8")
        assert mutant.violates in cfg_section(text, *INVARIANTS, *STEPS), mutant.name
        assert entry.result == "holds" if mutant.reached else entry.witness, mutant.name


def properties(module: str) -> set[str]:
    """The properties of a module of models: the names under its lines with INV or PROP."""
    text = (spec_dir() / "dledger" / "models" / f"{module}.tla").read_text(encoding="utf-8")
    return set(re.findall(r"^\\\* (?:INV|PROP) (\w+):", text, re.MULTILINE))


#: The properties of the models without two that describe what nothing reaches; no rule is behind those.
OF_RULES = (properties("MCDLedger") | properties("MCRules") | properties("MCElection")) - {
    "NothingUnheard",
    "TermReachesLedger",
}


def test_every_property_is_seen_to_fail() -> None:
    """A property that no mutant and no model violates could be true of anything."""
    seen = {each.violates for each in MUTANTS} | {each.violates for each in manifest().models}
    assert {*CODES, *OF_RULES} - seen == {"TypeOK"}


def test_the_readme_of_the_spec_lists_the_models_that_check_what_a_rule_is_for() -> None:
    text = (spec_dir() / "dledger" / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| ((?:`\w+`(?:, )?)+) \|$", text, re.MULTILINE))
    pinned = manifest()
    for name in OF_RULES:
        for model in re.findall(r"`(\w+)`", rows[name]):
            cfg = pinned.files(pinned.model(model))[1].read_text(encoding="utf-8")
            assert name in cfg_section(cfg, *INVARIANTS, *STEPS), (name, model)
