"""Lemma: of a server whose flaws are repaired the order of indexes holds that the spec calls IndexOrder.

lastSnapshot <= lastApplied <= last and commitIndex <= last, where last is the larger of lastLog and lastSnapshot. A
server is a small machine here, whatever the others do: it leads, appends, hears what is stored, commits, and leads no
more; it takes a snapshot, saves it, and installs one; it stores what a leader sends; it starts again. Each may happen
in any order and any number of times.

The order alone is not inductive. With it are: commitIndex is at most lastApplied, marks and what a quorum of them has
reached are within the log, and a snapshot that was taken and is not saved yet is not past lastApplied.

Two things are assumed, since one server cannot know them: what a leader lets it delete from its log has not been
applied (Leader Completeness), and a peer stores only what the leader that it answers has sent it. The controls
leave out the first, and each range; they put SnapshotRegress and StaleInstall back; and one is the order that a sketch
of the library states, with commitIndex in the middle.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import z3

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, Proof
from lockstep.models.proofs.quorum_rules_equal import element, middle
from lockstep.models.proofs.z3_questions import NODE_COUNTS, Branch, SizedClaim, integers, one_step, prove

NAME = "applied_order_inductive"
STATEMENT = (
    "Of a server with every flaw repaired, lastSnapshot <= lastApplied <= max(lastLog, lastSnapshot) and commitIndex "
    "<= max(lastLog, lastSnapshot) are inductive, together with: commitIndex <= lastApplied; matchIndexes, and what a "
    "majority of them has reached, are within the log; a snapshot being saved is not past lastApplied. Assumed: no "
    "entry that was applied is deleted from a log, and peers store no more than they were sent."
)
WITHOUT_STATEMENT = "The same without the range of {range} (wrong)."
FLAW_STATEMENT = "The same with the flaw {flaw} (wrong)."
DELETED_STATEMENT = "The same if entries that were applied can be deleted (wrong)."
SKETCH_STATEMENT = "lastSnapshot <= lastApplied <= commitIndex <= lastLog, with the same ranges (wrong)."

ACTIONS = (
    *("DispatchNoop", "DispatchLogs", "match", "ProcessLogs", "leadsNoMore", "TakeSnapshot", "PersistSnapshot"),
    *("AppendEntries", "InstallSnapshot", "Restart"),
)
"""The machine's steps; `match` is any answer that raises a mark, `leadsNoMore` any end of a leadership."""

RANGES = ("commitIndex", "matchIndexes", "leaderCommit", "snapshotting")
"""The ranges that hold beside the order."""


@dataclass(frozen=True, slots=True)
class ServerVariant:
    """A server and a claim about it; the defaults make the lemma."""

    snapshot_regress: bool = False
    """Whether a snapshot that is saved late takes the place of a newer one."""
    stale_install: bool = False
    """Whether a snapshot of what was applied long ago is installed."""
    commit_unverified: bool = False
    """Whether a follower commits up to the end of its log. (The order does not mind.)"""
    deletes_applied: bool = False
    """Whether what a leader sends may delete entries that were applied."""
    sketch: bool = False
    """Whether the order is that of the sketch."""
    ranges: tuple[str, ...] = RANGES
    """The ranges that are assumed, and must hold afterwards."""


@dataclass(frozen=True, slots=True)
class ServerIndexes:
    """One state of a server, each field a term of z3; indexes count from 1, 0 means none."""

    match_indexes: Sequence[z3.ArithRef]
    """One a voter; the server's own is the first."""
    leads: z3.BoolRef
    last_log: z3.ArithRef
    last_snapshot: z3.ArithRef
    last_applied: z3.ArithRef
    commit_index: z3.ArithRef
    leader_commit: z3.ArithRef
    """The index that a majority of the marks has reached."""
    taken: z3.ArithRef
    """The end of the snapshot that is being saved."""

    @classmethod
    def fresh(cls, voter_count: int, step: int) -> "ServerIndexes":
        """Make a state of new variables, named after their step."""
        names = ("lastLog", "lastSnapshot", "lastApplied", "commitIndex", "leaderCommit", "taken")
        marks = z3.Ints([f"match{i}@{step}" for i in range(voter_count)])
        return cls(marks, z3.Bool(f"leads@{step}"), *(z3.Int(f"{name}@{step}") for name in names))

    @property
    def last(self) -> z3.ArithRef:
        """getLastIndex."""
        return largest(self.last_log, self.last_snapshot)

    @property
    def indexes(self) -> list[z3.ArithRef]:
        """Every index that there is."""
        own = [self.last_log, self.last_snapshot, self.last_applied, self.commit_index, self.leader_commit, self.taken]
        return [*own, *self.match_indexes]

    def read(self, model: z3.ModelRef) -> dict[str, object]:
        """Read the state out of a model, with the system's names."""
        names = ("lastLog", "lastSnapshot", "lastApplied", "commitIndex", "leaderCommit", "taken")
        values = integers(model, self.indexes)
        leads = z3.is_true(model.eval(self.leads, model_completion=True))
        return {**dict(zip(names, values, strict=False)), "matchIndexes": values[len(names) :], "leads": leads}


LEMMA = ServerVariant()
SNAPSHOT_REGRESS = ServerVariant(snapshot_regress=True)
STALE_INSTALL = ServerVariant(stale_install=True)
DELETES_APPLIED = ServerVariant(deletes_applied=True)
SKETCH = ServerVariant(sketch=True)


def largest(one: z3.ArithRef, other: z3.ArithRef) -> z3.ArithRef:
    """Build the larger of two terms."""
    return z3.If(one >= other, one, other)


def smallest(one: z3.ArithRef, other: z3.ArithRef) -> z3.ArithRef:
    """Build the smaller of two terms."""
    return z3.If(one <= other, one, other)


def applied_order_inductive(
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
    *,
    node_counts: Iterable[int] = NODE_COUNTS,
    variant: ServerVariant = LEMMA,
) -> Proof:
    """Prove that a server keeps its indexes in order.

    Args:
        timeout_ms: Milliseconds for each question to z3.
        node_counts: How many voters to prove it for.
        variant: Another server or invariant; it should be refuted.

    Returns:
        The proof, with the controls named in this module's text. A counterexample has the states `before` and `after`,
        and the `action` between them.
    """
    sizes = tuple(node_counts)

    def control(name: str, statement: str, wrong: ServerVariant) -> Proof:
        return prove(f"{NAME}/{name}", statement, sizes, _questions(sizes, wrong), timeout_ms)

    controls = [
        control("snapshot_regress", FLAW_STATEMENT.format(flaw="SnapshotRegress"), SNAPSHOT_REGRESS),
        control("stale_install", FLAW_STATEMENT.format(flaw="StaleInstall"), STALE_INSTALL),
        control("deletes_applied", DELETED_STATEMENT, DELETES_APPLIED),
        control("sketch", SKETCH_STATEMENT, SKETCH),
    ]
    for dropped in RANGES:
        kept = tuple(name for name in RANGES if name != dropped)
        controls.append(
            control(f"without_{dropped}", WITHOUT_STATEMENT.format(range=dropped), ServerVariant(ranges=kept))
        )
    return prove(NAME, STATEMENT, sizes, _questions(sizes, variant), timeout_ms, controls)


def in_order(server: ServerIndexes, variant: ServerVariant = LEMMA) -> z3.BoolRef:
    """Build the order that the lemma is about, or that of the sketch."""
    snapshot_first = server.last_snapshot <= server.last_applied
    if variant.sketch:
        behind = z3.And(server.last_applied <= server.commit_index, server.commit_index <= server.last_log)
        return z3.And(snapshot_first, behind)
    return z3.And(snapshot_first, server.last_applied <= server.last, server.commit_index <= server.last)


def in_range(server: ServerIndexes, ranges: Iterable[str] = RANGES) -> z3.BoolRef:
    """Build what has to hold beside the order to make it inductive."""
    terms = {
        "commitIndex": server.commit_index <= server.last_applied,
        "matchIndexes": z3.And(*(mark <= server.last for mark in server.match_indexes)),
        "leaderCommit": server.leader_commit <= server.last,
        "snapshotting": server.taken <= server.last_applied,
    }
    return z3.And(*(terms[name] for name in ranges))


def are_indexes(server: ServerIndexes) -> z3.BoolRef:
    """Build the statement that every index is one; a server that does not lead keeps no marks."""
    idle = z3.And(*(mark == 0 for mark in (*server.match_indexes, server.leader_commit)))
    return z3.And(*(index >= 0 for index in server.indexes), z3.Or(server.leads, idle))


def _questions(sizes: Iterable[int], variant: ServerVariant) -> Iterator[SizedClaim]:
    for voter_count in sizes:
        now, then = ServerIndexes.fresh(voter_count, 0), ServerIndexes.fresh(voter_count, 1)
        action = z3.Int("action")
        ranges = [name for name in variant.ranges if not (variant.sketch and name == "commitIndex")]
        holds = [in_order(now, variant), in_range(now, ranges), are_indexes(now)]
        step = one_step(branches(now, 0, variant), then, action)
        claim = z3.And(in_order(then, variant), in_range(then, ranges), are_indexes(then))
        yield SizedClaim(voter_count, [*holds, step], claim, _reading(now, then, action))


def _reading(
    now: ServerIndexes, then: ServerIndexes, action: z3.ArithRef
) -> Callable[[z3.ModelRef], dict[str, object]]:
    def read(model: z3.ModelRef) -> dict[str, object]:
        (number,) = integers(model, [action])
        return {"before": now.read(model), "after": then.read(model), "action": ACTIONS[number]}

    return read


def branches(now: ServerIndexes, step: int, variant: ServerVariant) -> Iterator[Branch[ServerIndexes]]:
    """Build the steps of the machine, in the order of `ACTIONS`.

    Args:
        now: The state before.
        step: Names the choices of this step.
        variant: Which server is meant.

    Yields:
        When each step can be taken, and the state after it.
    """
    nothing = [z3.IntVal(0)] * len(now.match_indexes)
    begun = replace(now, leads=z3.BoolVal(True), match_indexes=nothing, leader_commit=z3.IntVal(0))
    yield z3.Not(now.leads), _appended(begun, 1, step)
    yield now.leads, _appended(now, z3.Int(f"count@{step}"), step)
    yield _match(now, step)
    at = now.leader_commit
    committed = replace(now, commit_index=at, last_applied=largest(now.last_applied, at))
    yield z3.And(now.leads, at > now.commit_index), committed
    idle = replace(now, leads=z3.BoolVal(False), match_indexes=nothing, leader_commit=z3.IntVal(0))
    yield now.leads, idle
    taken = z3.Int(f"taken@{step}")
    yield z3.And(taken > 0, taken <= now.last_applied), replace(now, taken=taken)
    yield _persist(now, variant)
    yield _store(now, idle, step, variant)
    yield _install(now, idle, step, variant)
    yield _restart(now, idle, step)


def _appended(now: ServerIndexes, count: int | z3.ArithRef, step: int) -> ServerIndexes:
    """A leader appends; its own mark follows if it votes."""
    end = now.last + largest(z3.IntVal(1), z3.IntVal(count) if isinstance(count, int) else count)
    votes = z3.Bool(f"votes@{step}")
    own = z3.If(votes, end, now.match_indexes[0])
    return _recalculated(replace(now, last_log=end, match_indexes=[own, *now.match_indexes[1:]]), step)


def _match(now: ServerIndexes, step: int) -> Branch[ServerIndexes]:
    peer, index = z3.Ints(f"peer@{step} index@{step}")
    marks = [z3.If(z3.And(peer == i, index > mine), index, mine) for i, mine in enumerate(now.match_indexes)]
    may_come = z3.And(now.leads, index >= 0, index <= now.last)
    return may_come, _recalculated(replace(now, match_indexes=marks), step)


def _recalculated(now: ServerIndexes, step: int) -> ServerIndexes:
    """Take what a majority has reached; or nothing, where the first index of the leadership is not reached."""
    quorum = element(now.match_indexes, middle(len(now.match_indexes)))
    counts = z3.And(z3.Bool(f"own@{step}"), quorum > now.leader_commit)
    return replace(now, leader_commit=z3.If(counts, quorum, now.leader_commit))


def _persist(now: ServerIndexes, variant: ServerVariant) -> Branch[ServerIndexes]:
    newest = now.taken if variant.snapshot_regress else largest(now.taken, now.last_snapshot)
    return now.taken > 0, replace(now, last_snapshot=newest, taken=z3.IntVal(0))


def _store(now: ServerIndexes, idle: ServerIndexes, step: int, variant: ServerVariant) -> Branch[ServerIndexes]:
    """A follower is sent entries up to `end`, deletes from `cut` on where they differ, stores them, and commits.

    Where it cannot store them (`fails`), its log ends before `cut`, or is empty behind a snapshot; it commits
    nothing.
    """
    end, cut, leader, rest = z3.Ints(f"end@{step} cut@{step} leader@{step} rest@{step}")
    stores, deletes, fails = z3.Bools(f"stores@{step} deletes@{step} fails@{step}")
    conflict = z3.And(deletes, cut > 0, cut <= now.last_log, cut <= end)
    if not variant.deletes_applied:
        conflict = z3.And(conflict, cut > now.last_applied)
    new = z3.If(stores, z3.Or(conflict, z3.And(z3.Not(deletes), end > now.last_log)), end <= now.last)
    left = z3.If(z3.And(rest == 0, cut - 1 <= now.last_snapshot), rest, cut - 1)
    unstored = z3.If(conflict, left, now.last_log)
    stored = replace(idle, last_log=z3.If(stores, z3.If(fails, unstored, end), now.last_log))
    upto = smallest(leader, stored.last if variant.commit_unverified else end)
    is_new = z3.And(z3.Not(z3.And(stores, fails)), leader > now.commit_index, upto > now.commit_index)
    committed = replace(
        stored,
        commit_index=z3.If(is_new, upto, now.commit_index),
        last_applied=z3.If(z3.And(is_new, upto > now.last_applied), upto, now.last_applied),
    )
    return z3.And(end >= 0, leader >= 0, new), committed


def _install(now: ServerIndexes, idle: ServerIndexes, step: int, variant: ServerVariant) -> Branch[ServerIndexes]:
    """A follower takes a snapshot; the log stays where it agrees with it, and goes where it does not."""
    index, agrees = z3.Int(f"index@{step}"), z3.Bool(f"agrees@{step}")
    keeps = z3.Or(agrees, index <= now.last_applied)
    installed = replace(
        idle, last_applied=index, last_snapshot=index, last_log=z3.If(keeps, now.last_log, z3.IntVal(0))
    )
    may_come = index > 0 if variant.stale_install else index > now.last_applied
    return may_come, installed


def _restart(now: ServerIndexes, idle: ServerIndexes, step: int) -> Branch[ServerIndexes]:
    """A server starts with a log and a snapshot that were stored, and has applied the snapshot."""
    log, snapshot = z3.Ints(f"log@{step} snapshot@{step}")
    began = replace(idle, last_log=log, last_snapshot=snapshot, last_applied=snapshot)
    return z3.And(log >= 0, snapshot >= 0), replace(began, commit_index=z3.IntVal(0), taken=z3.IntVal(0))
