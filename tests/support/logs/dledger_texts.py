"""The texts of DLedger's own log lines, as 0.2.7 and 0.3.1 write them: one function for each, with the logger's name.

Logs that are made from a recording or from a simulated cluster consist of these.
"""

from __future__ import annotations

from collections.abc import Mapping

ELECTOR, PUSHER, STORE, MAIN = "DLedgerLeaderElector", "DLedgerEntryPusher", "DLedgerMmapFileStore", "DLedger"

Marks = Mapping[int, Mapping[str, int]]


def started(node: str) -> str:
    return f"{MAIN} - [{node}] group g start ok with config {{}}"


# ---- DLedgerLeaderElector ----


def to_candidate(node: str, heard: int, term: int) -> str:
    return f"{ELECTOR} - [{node}] [ChangeRoleToCandidate] from term: {heard} and currTerm: {term}"


def to_follower(node: str, asked: int, leader: str, term: int) -> str:
    return f"{ELECTOR} - [{node}][ChangeRoleToFollower] from term: {asked} leaderId: {leader} and currTerm: {term}"


def to_leader(node: str, asked: int, term: int) -> str:
    return f"{ELECTOR} - [{node}] [ChangeRoleToLeader] from term: {asked} and currTerm: {term}"


def increase_term(node: str, before: int, term: int) -> str:
    return f"{ELECTOR} - {node}_[INCREASE_TERM] from {before} to {term}"


def heart_beat_timeout(node: str, leader: str | None) -> str:
    fields = "lastLeaderHeartBeatTime: 2026-11-21 03:15:31.079 heartBeatTimeIntervalMs: 2000"
    return f"{ELECTOR} - [{node}][HeartBeatTimeOut] {fields} lastLeader={leader or 'null'}"


def got_vote_response(node: str) -> str:
    return f"{ELECTOR} - [{node}][GetVoteResponse] io.openmessaging.storage.dledger.protocol.VoteResponse@7d954e68"


def vote_result(node: str, term: int, members: int, accepted: int) -> str:
    counts = f"memberNum={members} allNum={members} acceptedNum={accepted} notReadyTermNum=0 biggerLedgerNum=0"
    fields = f"cost=5 term={term} {counts} alreadyHasLeader=false maxTerm={term} result=PASSED"
    return f"{ELECTOR} - [{node}] [PARSE_VOTE_RESULT] {fields}"


# ---- EntryDispatcher ----


def change_state(peer: str, source: str, target: str, index: int) -> str:
    return f"{PUSHER} - [Push-{peer}]Change state from {source} to {target} at {index}"


def start_to_compare(peer: str) -> str:
    return f"{PUSHER} - [Push-{peer}][DoCompare] compareIndex=-1 means start to compare"


def push_truncate(peer: str, index: int, position: int) -> str:
    return f"{PUSHER} - [Push-{peer}]Will push data to truncate truncateIndex={index} pos={position}"


def retry(peer: str, index: int) -> str:
    return f"{PUSHER} - [Push-{peer}]Retry to push entry at {index}"


def retry_batch(peer: str, first: int, last: int) -> str:
    return f"{PUSHER} - [Push-{peer}]Retry to push entry from {first} to {last}"


def dispatcher_error(node: str, peer: str, write: int, compare: int, problem: str) -> str:
    head = f"{PUSHER} - [Push-{peer}]Error in EntryDispatcher-{node}-{peer} writeIndex={write} compareIndex={compare}"
    return f"{head}\n{_exception(problem)}"


# ---- EntryHandler ----


def handle_compare(index: int, begin: int, end: int) -> str:
    """A comparison that finds the logs different, and its exception, which says where the log ends if it is there."""
    problem = "[code=406,name=INCONSISTENT_STATE,desc=]"
    if index > end:
        problem = f"[code=410,name=INDEX_OUT_OF_RANGE,desc=] {index} should between {begin}-{end}"
    return f"{PUSHER} - [HandleDoCompare] compareIndex={index}\n{_exception(problem)}"


def handle_truncate(index: int, position: int) -> str:
    return f"{PUSHER} - [HandleDoTruncate] truncateIndex={index} pos={position}"


def failed_truncate(index: int) -> str:
    """The line behind that of a truncation that is refused."""
    problem = "[code=407,name=INCONSISTENT_LEADER,desc=]"
    return f"{PUSHER} - [HandleDoTruncate] truncateIndex={index}\n{_exception(problem)}"


def _exception(problem: str) -> str:
    at = "      at io.openmessaging.storage.dledger.utils.PreConditions.check(PreConditions.java:40)"
    return f"    io.openmessaging.storage.dledger.exception.DLedgerException: {problem}\n{at}"


# ---- QuorumAckChecker ----


def status(node: str, role: str, term: int, ends: tuple[int, int, int], marks: Marks, *, as_json: bool = False) -> str:
    """The line of every three seconds; `ends` are ledgerBegin, ledgerEnd and committed."""
    begin, end, committed = ends
    fields = f"term={term} ledgerBegin={begin} ledgerEnd={end} committed={committed}"
    return f"{PUSHER} - [{node}][{role}] {fields} watermarks={(_json if as_json else _java)(marks)}"


def _java(marks: Marks) -> str:
    of_terms = (f"{term}={{{', '.join(f'{n}={i}' for n, i in each.items())}}}" for term, each in marks.items())
    return f"{{{', '.join(of_terms)}}}"


def _json(marks: Marks) -> str:
    of_terms = (
        f"{term}:{{" + ",".join(f'"{node}":{index}' for node, index in each.items()) + "}"
        for term, each in marks.items()
    )
    return f"{{{','.join(of_terms)}}}"


# ---- DLedgerMmapFileStore ----


def skip_commit(new: int, old: int, begin: int) -> str:
    return f"{STORE} - [MONITOR]Skip update committed index for new={new} < old={old} or new={new} < beginIndex={begin}"


def recovered_end(end: int, offset: int) -> str:
    return f"{STORE} - Recover data to the end entryIndex={end} processOffset={offset} lastFileOffset=0 cha={offset}"


def recovered_committed(committed: int) -> str:
    return f"{STORE} - Recover to get committed index={committed} from checkpoint"
