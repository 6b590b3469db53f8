"""The compiled specs have the state graphs that TLC finds: state for state, edge for edge, action for action."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import pytest

from lockstep.systems.dledger import DLEDGER
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.registry import manifest, manifests, model_named
from lockstep.systems.system import System
from lockstep.tla.exploration import Exploration
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.symmetry import state_equivalence
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc import TlcGraph, dump_state_graph
from tests.support.places import SPECS
from tests.support.sampling import sampled
from tests.support.tla.spec_book import chapters

#: The most distinct states of a model whose whole graph is compared.
LARGEST = 50_000
#: A model of elections, smaller than any of the manifest.
ELECTIONS = "votes_of_one_term"
#: Models that every run compares, of replication and of elections by messages; the others are for the night.
SAMPLE = ("ordered", ELECTIONS)
#: The same of hashicorp/raft: pre-votes, votes, replication and commit, under SYMMETRY.
OF_RAFT = ("raft_prevote",)
#: The actions that are taken in no graph so small, and the models whose graphs show them at night.
AT_NIGHT = {
    "apply_unclamped": ["ActOnQuorumIndex", "DoCommitted"],
    "batches": ["AppendInBatch", "DoBatchAppend", "DoCheckBatchAppendResponse", "HandleDoBatchAppend"],
    "clients": ["LosePower", "RefuseAppend"],
    "crash": ["PersistCheckPoint"],
    "disks": [
        *("CheckResponseFuturesTimeout", "CrashInPersistCheckPoint", "CrashInPersistTerm", "FlushDataService"),
        "Shutdown",
    ],
    "late_resend": ["PushAnsweredAgain"],
    "late_role": ["FailStore", "SkipCommit"],
    "not_follower": ["ClearCompareOrTruncateRequests"],
    "refines_coarse": ["CheckLeak", "HandlePush"],
    "transfer_again": [
        *("SendHeartbeats", "HandleHeartBeat", "HandleHeartBeatResponse", "ParseHeartBeatResponses"),
        *("HandleLeadershipTransfer", "WaitToTakeLeadership", "HandleTakeLeadership", "HandleTransferResponse"),
        *("TakeLeadershipTimeOut", "TransferTimeOut"),
    ],
    "vote_messages_small": ["HeartBeatTimeOut"],
    "vote_messages_transfer": [
        *("IncreaseTerm", "VoteForQuorumResponses", "HandleOwnVote", "HandleVote", "HandleVoteResponse"),
        "ParseVoteResponses",
    ],
}
MODELS = [each for of_one in manifests() for each in of_one.models]
#: Models of hashicorp/raft that between them take every action.
RAFT_ACTIONS = (
    "raft_prevote",
    "raft_lossy",
    "raft_crash",
    "raft_snapshots",
    "raft_membership",
    "raft_transfer",
    "raft_zombies",
    "raft_queue",
    "verify_counts_nonvoters",
    "transfer_flag_left",
    "stale_install",
)
GREEN = {each.name: each.distinct for each in MODELS if each.distinct and each.distinct < LARGEST}
LARGE = tuple(name for name in GREEN if name not in (*SAMPLE, *OF_RAFT))
#: Models with a violation whose search stays small: TLC sees fewer states than these before it stops.
FLAWED = [
    each
    for each in MODELS
    if each.violates
    and each.name
    not in {
        "prior_term_commit_bug",
        "truncated_tail_bug",
        "truncated_tail_commit_bug",
        "push_term_check_bug",
        "stale_compare_index_bug",
    }
]
#: Every run searches for a witness that is a property of steps.
FOUND = ("witness_time_out",)
VIOLATED = sampled((each.name for each in FLAWED), FOUND)
#: The tests of a model stand together (scope="module"): processes that share them mostly search a model once.
ALL = [*SAMPLE, *OF_RAFT, *(pytest.param(name, marks=pytest.mark.nightly) for name in LARGE)]


def files(name: str) -> tuple[Path, Path]:
    if name == ELECTIONS:
        pinned = manifest()
        return pinned.files(pinned.model("votes_small"))[0], SPECS / "models" / f"{name}.cfg"
    of_one, entry = model_named(name)
    return of_one.files(entry)


@functools.cache
def compiled(name: str) -> tuple[Spec, Exploration]:
    spec = load_spec(*files(name))
    return spec, explore(spec, SearchOptions(keep_edges=True, check_deadlock=False))


@functools.cache
def dumped(name: str) -> TlcGraph:
    return dump_state_graph(*files(name))


@functools.cache
def numbered(name: str) -> dict[int, int]:
    """Number TLC's states by ours; TLC keeps one of the states that SYMMETRY makes the same."""
    spec, found = compiled(name)
    same = state_equivalence(spec)
    numbers = {key: number for number, state in enumerate(found.states) for key in same.keys(state)}
    names = tuple(spec.model_values)
    printed = dumped(name).nodes.items()
    value = functools.cache(lambda text: parse_value(text, names))  # most states share most of their variables
    states = {node: spec.state({each: value(text) for each, text in variables.items()}) for node, variables in printed}
    return {node: numbers[same.key(state)] for node, state in states.items()}


@pytest.mark.parametrize("name", ALL, scope="module")
def test_the_compiled_spec_has_exactly_the_states_that_tlc_finds(name: str) -> None:
    _, found = compiled(name)
    states = numbered(name)
    assert found.complete
    assert sorted(states.values()) == list(range(found.distinct))


@pytest.mark.parametrize("name", ALL, scope="module")
def test_the_compiled_spec_has_exactly_the_edges_that_tlc_finds_with_their_actions(name: str) -> None:
    spec, found = compiled(name)
    states = numbered(name)
    ours = Counter((edge.source, *spec.actions[edge.action].labels, edge.target) for edge in found.edges)
    theirs = Counter((states[edge.source], edge.action, states[edge.target]) for edge in dumped(name).edges)
    assert ours == theirs
    assert {edge.action for edge in found.edges} >= set(AT_NIGHT.get(name, ()))


@pytest.mark.parametrize("name", [each for each in ALL if each != ELECTIONS], scope="module")
def test_the_compiled_spec_has_the_counts_that_the_manifest_pins(name: str) -> None:
    _, found = compiled(name)
    _, entry = model_named(name)
    assert (found.distinct, found.generated, found.depth) == (entry.distinct, entry.generated, entry.depth)


@pytest.mark.parametrize("name", VIOLATED)
def test_the_compiled_spec_finds_the_pinned_violation_at_the_pinned_depth(name: str) -> None:
    found = explore(load_spec(*files(name)), SearchOptions(check_deadlock=False))
    _, entry = model_named(name)
    assert found.violation is not None
    assert found.violation.name == entry.violates
    if found.violation.back_to is None:  # of the fair loops that violate a temporal property any will do
        assert len(found.violation.trace) == entry.depth


def taken(*names: str) -> set[str]:
    return {edge.action for name in names for edge in compiled(name)[1].edges}


def test_every_action_of_the_spec_has_an_edge_in_a_compared_graph_or_in_one_at_night() -> None:
    at_night = {action for actions in AT_NIGHT.values() for action in actions}
    assert taken(*SAMPLE) == set(compiled("ordered")[0].actions) - at_night
    assert AT_NIGHT.keys() <= set(LARGE)


@pytest.mark.parametrize("name", sampled([*SAMPLE, *OF_RAFT, "transfer_again", "unordered"], [*SAMPLE, *OF_RAFT]))
def test_given_state_action_and_parameters_there_is_at_most_one_successor(name: str) -> None:
    _, found = compiled(name)
    targets: dict[tuple[object, ...], int] = {}
    for edge in found.edges:
        key = (edge.source, edge.action, tuple(sorted(edge.args.items(), key=lambda item: item[0])))
        assert targets.setdefault(key, edge.target) == edge.target, key


@pytest.mark.parametrize("name", ["ordered", ELECTIONS])
def test_a_named_step_leads_where_the_search_went(name: str) -> None:
    spec, found = compiled(name)
    for edge in found.edges[::7]:
        assert spec.step(found.states[edge.source], edge.action, edge.args) == found.states[edge.target]


#: The actions of hashicorp/raft that none of these graphs has an edge of, yet.
NOT_COMPARED = {"ZombieHeartbeat", "ZombieSendSnapshot", "PipelineSend", "PipelineAbort", "RunFollower"}


@pytest.mark.nightly
def test_every_action_of_hashicorp_raft_but_for_those_named_has_an_edge_in_a_compared_graph() -> None:
    """The models whose edges are compared above have every other action between them."""
    assert {*RAFT_ACTIONS} <= {*LARGE, *OF_RAFT}
    assert taken(*RAFT_ACTIONS) == set(compiled("raft_prevote")[0].actions) - NOT_COMPARED


@pytest.mark.nightly
def test_a_second_load_needs_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, cfg = files("ordered")
    first = load_spec(module, cfg, cache_dir=tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", "")
    assert load_spec(module, cfg, cache_dir=tmp_path).source == first.source


@pytest.mark.parametrize(("system", "model"), [(DLEDGER, "ordered"), (HASHICORP, "raft_prevote")])
def test_every_disjunct_of_next_is_an_action_of_one_node(system: System, model: str) -> None:
    text = system.module.read_text(encoding="utf-8")
    _, _, rest = text.partition("Next ==\n")
    disjuncts = rest.partition("\n\n")[0].splitlines()
    names = [line.removeprefix("    \\/ \\E n \\in Node : ").removesuffix("(n)") for line in disjuncts]
    assert set(names) == set(compiled(model)[0].actions)
    texts = "".join(chapter.read_text(encoding="utf-8") for chapter in chapters(system))
    for name in names:
        assert texts.count(f"\n\\* ACTION {name}: ") == 1, f"{name} has no banner"
