"""The models are sensitive: a rule taken out of the spec changes what TLC finds in one of them.

Each mutant is one edit of a module of the spec, and the model that notices it. A rule that no model notices could be
wrong without anyone knowing.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from lockstep.base.paths import spec_dir
from lockstep.models.manifest import compare, load_manifest, run_model
from lockstep.tlc import TlcVerdict


@dataclass(frozen=True)
class Mutant:
    """A rule that is missing: `old` becomes `new`; `model` must then violate `violates`, or differ from its pins."""

    name: str
    module: str
    old: str
    new: str
    model: str
    violates: str = ""


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
        '                         /\\ LedgerCode(Member(q, node[q]), Candidacy(n, node[n])) = "NONE"\n',
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
        "IF Obeys(before, m) THEN LearnCommitted(before, m)",
        "IF FromItsLeader(before, m) THEN LearnCommitted(before, m)",
        "witness_stale_commit",
    ),
    Mutant(
        "keeps_the_watermarks_of_an_old_term",
        "RoleElections",
        "!.votes = {},\n                        !.peerWaterMarks = NoMarks]",
        "!.votes = {}]",
        "crash",
    ),
    Mutant(
        "believes_a_watermark_of_another_term",
        "Clients",
        "IF term = before.currTerm /\\ before.peerWaterMarks[peer] < index",
        "IF before.peerWaterMarks[peer] < index",
        "lossy",
    ),
    Mutant(
        "appends_what_another_leader_sent",
        "Follower",
        "StoreEntries(before, EntriesOf(m))\n    IN  IF FromItsLeader(before, m)",
        "StoreEntries(before, EntriesOf(m))\n    IN  IF TRUE",
        "replication",
        "LeaderCompleteness",
    ),
    Mutant(
        "truncates_for_another_leader",
        "Follower",
        "IF MayTruncate(before, m)",
        "IF TRUE",
        "lossy",
        "LeaderCompleteness",
    ),
    # No safety is lost: an APPEND below the follower's end is not stored, but leads to COMPARE again, for ever.
    Mutant(
        "appends_behind_what_was_not_cut",
        "Leader",
        '[] m.code = "SUCCESS" /\\ m.endIndex = index ->',
        '[] m.code = "SUCCESS" ->',
        "replication",
    ),
    Mutant(
        "restarts_with_what_it_knew",
        "Failures",
        "UpdateCommittedIndex(found, found.currTerm, found.checkPoint)",
        "UpdateCommittedIndex(found, found.currTerm, node[n].committedIndex)",
        "crash",
    ),
    Mutant(
        "takes_the_answer_to_another_call",
        "Steps",
        "SentAll(Abandoned(Received(network, m), n, m.src, Gone), handled.out)",
        "SentAll(Received(network, m), handled.out)",
        "ordered_long",
        "LogMatching",
    ),
    Mutant(
        "recovers_what_terms_forbid",
        "Failures",
        "\\/ k > 1 /\\ file[k].term < file[k - 1].term",
        "\\/ FALSE",
        "resurrected_tail_bug",
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
        "Clients",
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
        "lossy",
    ),
    Mutant(
        "keeps_no_history",
        "Commit",
        "committed' = committed \\cup NewlyCommitted(before, handled.node, pass.term)",
        "committed' = committed",
        "crash",
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
        "witness_vote_ledger_end",
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
        "vote_messages_terms",
    ),
    Mutant(
        "puts_off_nobody_while_it_takes_over",
        "ElectionRules",
        "/\\ ~self /\\ voter.isTakingLeadership\n",
        "/\\ FALSE\n",
        "witness_vote_taking",
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
        "witness_parse_higher_term",
    ),
    Mutant(
        "minds_no_longer_logs",
        "ElectionRules",
        'ELSE IF ~IsQuorum(valid \\ bigger, members) THEN "BIGGER_LEDGERS"\n        ',
        "",
        "witness_parse_bigger_ledgers",
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
        "witness_second_election",
    ),
    Mutant(
        "counts_answers_to_the_round_before",
        "MessageElections",
        "SentAll(AllAbandoned(network, n, Gone), handled.out)",
        'SentAll(IF type = "VOTE" THEN network ELSE AllAbandoned(network, n, Gone), handled.out)',
        "vote_messages_small",
    ),
    Mutant(
        "asks_for_votes_before_it_goes_to_a_term_it_was_told_of",
        "MessageElections",
        "        /\\ ~node[n].election.needIncrease\n",
        "",
        "vote_messages_small",
    ),
    Mutant(
        "takes_appends_while_it_hands_over",
        "Clients",
        '\\E value \\in Value :\n    /\\ node[n].role = "LEADER"\n    /\\ node[n].election.transferee = NoNode\n',
        '\\E value \\in Value :\n    /\\ node[n].role = "LEADER"\n',
        "vote_messages_transfer",
    ),
    Mutant(
        "takes_over_from_anyone",
        "Transfer",
        "IF before.leaderId = m.src THEN Quietly",
        "IF TRUE THEN Quietly",
        "witness_transfer_of_another",
    ),
    Mutant(
        "keeps_what_it_has_handled",
        "Steps",
        "[received EXCEPT ![n].writeRequestMap = @ \\ {m}]",
        "received",
        "refines_coarse",
    ),
    Mutant(
        "keeps_the_appends_when_a_compare_comes",
        "Follower",
        'IF m.type = "COMMIT" THEN before.writeRequestMap ELSE {}',
        "before.writeRequestMap",
        "receipt",
    ),
    Mutant(
        "handles_an_append_before_a_compare",
        "Steps",
        "THEN {Head(queues.compareOrTruncateRequests)}\n    ELSE queues.writeRequestMap",
        "THEN {Head(queues.compareOrTruncateRequests)} \\cup queues.writeRequestMap\n    ELSE queues.writeRequestMap",
        "receipt",
    ),
    Mutant(
        "takes_an_answered_push_for_pending",
        "Pushing",
        "!.dispatchers[m.src].pendings = {p \\in @ : p.index # m.index}",
        "!.dispatchers[m.src].pendings = @",
        "receipt",
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
        "AppendRequest(n, peer, node[n], index, count)",
        "AppendRequest(n, peer, node[n], index, 1)",
        "batches",
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
        'node[n].role \\notin {"FOLLOWER", "DOWN"}',
        'node[n].role # "DOWN"',
        "not_follower",
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
    ),
]


def mutated(mutant: Mutant, folder: Path) -> Path:
    """Copy the spec with this one edit and return the manifest of the copy."""
    shutil.copytree(spec_dir(), folder / "spec")
    original = (spec_dir() / "dledger" / f"{mutant.module}.tla").read_text(encoding="utf-8")
    assert original.count(mutant.old) == 1
    text = original.replace(mutant.old, mutant.new)
    (folder / "spec" / "dledger" / f"{mutant.module}.tla").write_text(text, encoding="utf-8")
    return folder / "spec" / "dledger" / "models" / "manifest.toml"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_rule_taken_out_is_noticed_by_a_model(mutant: Mutant, tmp_path: Path) -> None:
    copy = load_manifest(mutated(mutant, tmp_path))
    entry = copy.model(mutant.model)
    result = run_model(copy, entry)
    assert result.verdict in (TlcVerdict.HOLDS, TlcVerdict.VIOLATED), result.reason
    assert compare(entry, result)
    if mutant.violates:
        assert result.violation is not None
        assert result.violation.label == mutant.violates
