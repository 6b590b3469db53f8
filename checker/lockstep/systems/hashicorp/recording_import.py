"""Importing a recording of hashicorp/raft: from its lines to a trace of the spec's actions.

`import_recording` reads a recording and returns a header, the events and a summary. Each line is the effect of an
action, an observation within one, or noise; spec/hashicorp/README.md has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lockstep.base.progress import REPORT_INTERVAL, Say, silent
from lockstep.systems.hashicorp import recording_lines as s
from lockstep.systems.hashicorp import recording_messages as m
from lockstep.systems.hashicorp.observed_roles import ObservedRoles
from lockstep.systems.hashicorp.recorded_calls import Calls, RecordedCall, snapshot_place
from lockstep.systems.hashicorp.recorded_elections import Elections
from lockstep.systems.hashicorp.recorded_handlers import Handlers
from lockstep.systems.hashicorp.recorded_leaders import Leaders, latest_voters
from lockstep.systems.hashicorp.recorded_servers import RecordedServer, log_shown, persisted_shown
from lockstep.systems.hashicorp.recorded_snapshots import Snapshots
from lockstep.systems.hashicorp.recorded_uses import RecordedUses
from lockstep.systems.hashicorp.recording_lines import BEGINS_ANEW, DENIED, ServerLine
from lockstep.systems.hashicorp.recording_lookahead import Lookahead
from lockstep.systems.hashicorp.recording_reader import RECORDING
from lockstep.systems.hashicorp.recording_replay import NotAStepError, RecordingReplay
from lockstep.systems.hashicorp.recording_starts import first_voters
from lockstep.systems.hashicorp.recording_survey import SecondReading, Survey
from lockstep.systems.recording_file import RecordingLine
from lockstep.systems.system import Compile
from lockstep.tla.spec import Spec
from lockstep.trace import trace_format as trace
from lockstep.trace.imported_trace import Imported, Summary
from lockstep.trace.json_lines import TraceError, file_lines
from lockstep.trace.stored_events import StoredEvents
from lockstep.trace.trace_format import Event
from raftref.choices import PUBLISHED, REPAIRED
from raftref.hashicorp.choices import Feature, Flaw

SPEC = "HashicorpRaft"


def import_recording(path: Path, compile_: Compile, say: Say = silent) -> Imported:
    """Import the recording at `path`.

    Raises TraceError, naming file, line and field, where it is no whole recording; UnreadableError where it cannot be
    read.
    """
    return _imported(lambda: file_lines(path), str(path), compile_, say)


def import_lines(raw: Iterable[bytes], source: str, compile_: Compile) -> Imported:
    """Import the lines of a recording; `source` names them in messages."""
    lines = list(raw)
    return _imported(lambda: lines, source, compile_)


def _imported(raw: Callable[[], Iterable[bytes]], source: str, compile_: Compile, say: Say = silent) -> Imported:
    """Return the trace of a recording, whose lines are read twice: see recording_survey."""
    notes: list[str] = []
    header, lines = RECORDING.parse(raw(), source, notes.append)
    survey = Survey(source)
    survey.uses.add(header)
    for line in lines:
        survey.add(line)
    survey.refuse_starts()
    trace_of = trace_header(header, first_voters(header, survey.starts.first(), source))
    spec = compile_(trace_of, source)
    survey.refuse()
    reading = SecondReading(RECORDING.parse(raw(), source)[1], survey)
    reader = Reader(spec, header, reading.lookahead, source, survey)
    events = StoredEvents()
    last = reader.read(reading, events.append, lambda text: say(f"{source}: {text}"))
    return Imported(trace_of, events, _summary(reader, last, notes))


def trace_header(header: s.RecordingHeader, voters: int | None = None) -> trace.Header:
    """Return the header of the trace of a recording; the first `voters` of its servers vote at first, by default all.

    The flaws are those of v1.7.3, but for one where the recorder's transport gives heartbeats to the main loop.
    """
    constants: dict[str, bool | str | int] = {
        "MaxAppendEntries": header.config.max_append_entries,
        "TrailingLogs": header.config.trailing_logs,
        str(Feature.PRE_VOTE): header.prevote,
        str(Flaw.HEARTBEAT_RACE): PUBLISHED if header.fast_path else REPAIRED,
    }
    if header.pipeline:
        constants[str(Feature.PIPELINE)] = True
    if header.restore_committed_logs:
        constants[str(Feature.RESTORE_COMMITTED_LOGS)] = True
    if voters not in (None, len(header.nodes)):
        constants["Voters"] = voters
    return trace.Header(
        format=trace.FORMAT,
        system="hashicorp/raft",
        version=header.library_version,
        spec=SPEC,
        nodes=header.nodes,
        constants=constants,
        origin=f"recorded from hashicorp/raft {header.library_version}, {header.capture}",
        scenario=f"{header.capture}, seed {header.seed}",
    )


class Reader:
    """Reads a recording line by line."""

    def __init__(
        self,
        spec: Spec,
        header: s.RecordingHeader,
        lookahead: Lookahead,
        source: str,
        survey: Survey | None = None,
    ) -> None:
        """Take the spec with the constants of the recording, its header, its lookahead and its survey.

        A recording that is still written has none.
        """
        self.source, self.lookahead = source, lookahead
        self.servers = {name: RecordedServer(name) for name in header.nodes}
        self.uses = RecordedUses() if survey is None else survey.uses
        self.replay = RecordingReplay(spec, lambda node: log_shown(self.servers[node].log)["log"], self.uses)
        self.calls = Calls(header.pipeline, None if survey is None else survey.last_lines.last_line)
        self.leaders = Leaders(self.replay, self.calls, lookahead, self.servers)
        self.handlers = Handlers(self.replay, self.calls, self.leaders, self.servers)
        self.elections = Elections(
            self.replay, self.calls, lookahead, self.leaders, self.servers, prevote=header.prevote
        )
        self.snapshots = Snapshots(self.replay, lookahead, self.leaders, self.servers, source)
        self.roles = ObservedRoles(self.replay)
        self.denied: set[str] = set()

    def read(
        self, lines: Iterable[RecordingLine], take_event: Callable[[Event], None], say: Say = silent
    ) -> RecordingLine | None:
        """Read all lines; return the one at which the spec has no step, if there is one.

        Arguments: `take_event` is called with each event, `say` with the progress.
        """
        departed = None
        for line in lines:
            if line.number % REPORT_INTERVAL == 0:
                say(f"line {line.number:,}")
            try:
                self.read_line(line)
            except NotAStepError:
                departed = line
            self._pass_on(take_event)
            if departed is not None:
                return departed
        self.roles.end()
        self._pass_on(take_event)
        return None

    def _pass_on(self, take_event: Callable[[Event], None]) -> None:
        for event in self.replay.take_events():
            take_event(event)

    def read_line(self, line: RecordingLine) -> None:
        """Read the next line; raises NotAStepError where the spec has no step for it, once its event is recorded."""
        self.replay.line = line
        if not isinstance(line, ServerLine):
            return
        self.roles.read(line)
        if line.obs is not None:
            self.leaders.commit(line.node, line.obs.commit)
        self.lookahead.handlers.pop(line.seq, None)
        self._read_line(line)
        self.lookahead.parts.discard(line.seq)
        self.leaders.sent.difference_update(self.calls.forget_read(line.seq))

    def _read_line(self, line: ServerLine) -> None:
        handler = self.lookahead.steps.pop(line.seq, None)
        if handler is not None:
            if handler.precedes_campaign:
                self.elections.is_overtaken(line.node)
            self.handlers.handle(handler)
        reader = _READERS.get(type(line))
        if reader is not None:
            reader(self, line)
        self.leaders.verifications.take_up(line.node)

    # ---- The network ----

    def _send(self, line: m.Send) -> None:
        own = line.body.cand if isinstance(line.body, m.RequestVote | m.RequestPreVote) else line.body.leader
        if own != line.node:
            raise self._problem(line, "body", f"{own!r} asks in it, and {line.node} sends it")
        if line.msg == "RequestPreVote":
            self.elections.sends_prevote(line)
        elif line.msg == "RequestVote":
            self.elections.sends_vote(line)
        elif line.msg == "TimeoutNow":
            self.leaders.timeout_now(line)
        else:
            self.leaders.send(line)
        copied = self.lookahead.duplicates.get(line.rpc)
        if copied is not None:
            call = self._call(line)
            self.replay.take(call.dst, "Duplicate", {"m": self.handlers.under_way(call)}, line=copied)

    def _problem(self, line: RecordingLine, field: str, problem: str) -> TraceError:
        return TraceError(self.source, line.number, f"field `{field}`: {problem}")

    def _call(self, line: m.RpcLine) -> Any:
        call = self.calls.find(line)
        if call is None:
            raise self._problem(line, "rpc", f"no line above sends request {line.rpc}")
        return call

    def _duplicate(self, line: m.Duplicate) -> None:
        """The step was taken where the request was sent."""
        self._call(line)

    def _drop(self, line: m.Drop) -> None:
        call = self._call(line)
        self.replay.take(call.dst, "Lose", {"m": self.handlers.under_way(call)})

    def _reply_drop(self, line: m.ReplyDrop) -> None:
        """An answer is lost; of one that its caller waits for no more the spec knows nothing."""
        call = self._call(line)
        tree = call.answers.get(line.copy)
        if tree is not None and self.calls.is_current(call) and self.replay.message(tree) is not None:
            self.replay.take(call.src, "Lose", {"m": tree})
        else:
            self.uses.observed(line.number)

    def _reply_recv(self, line: m.ReplyRecv) -> None:
        call = self._call(line)
        if line.err is not None or line.body.err is not None:
            self._gives_up(call)
        else:
            self._answered(line, call)
        self.uses.observed(line.number)

    def _answered(self, line: m.ReplyRecv, call: RecordedCall) -> None:
        tree = self.calls.answer(call, line.body)
        if tree not in call.answers.values():
            raise self._problem(line, "body", "no line above gives this answer")
        if self.calls.is_current(call):
            reply = self.calls.take_reply(call, tree)
            if call.type == "TimeoutNow":
                self.leaders.act_on(reply)  # whose flag is cleared from then on

    def _rpc_error(self, line: m.RpcError) -> None:
        self._gives_up(self._call(line))

    def _gives_up(self, call: Any) -> None:
        """A call fails at its caller; if that has something else to do by now, the spec has given it up before."""
        current = self.calls.is_current(call)
        if call.pipelined:
            # It may be of a leadership that is over, and the present one has a pipeline of its own. And the routine
            # that sends may learn of it later.
            if current and not self.leaders.sends_on(call.src, call.dst):
                self.leaders.close_pipeline(call.src, call.dst)
            return
        self.calls.give_up(call)
        if not current or call.type == "TimeoutNow":
            return
        if self.replay.trial(call.src, "RPCError", {"peer": call.dst, "type": call.type}) is not None:
            self.replay.take(call.src, "RPCError", {"peer": call.dst, "type": call.type})

    # ---- Stores and roles ----

    def _part(self, line: Any) -> None:
        """Read a line of a handler or a campaign: the step is taken at one of them."""
        self.uses.observed(line.number)

    def _stable(self, line: s.StableSet | s.StableFail) -> None:
        if line.seq in self.lookahead.campaigns:
            self.elections.elects_itself(line)
        elif line.seq in self.lookahead.parts:
            self._part(line)
        elif line.function == "runCandidate" and isinstance(line, s.StableSet):
            self.elections.follow_higher_term(line)
        elif line.function in ("BootstrapCluster", "liveBootstrap", "NewRaft") and isinstance(line, s.StableSet):
            server = self.servers[line.node]
            is_other = server.keys[line.key] != line.value
            server.write(line)
            if line.function == "NewRaft" and is_other:  # it writes what it has read
                self.replay.observe(line.node, server.keys_shown())
            self._part(line)
        else:
            raise self._problem(line, "by", f"{line.by!r} is not known to write {line.key}")

    def _store_logs(self, line: s.StoreLogs) -> None:
        if line.seq in self.lookahead.parts:
            self._part(line)
        elif line.by == "dispatchLogs<runLeader":
            if line.node in self.leaders.noops:
                self.leaders.noop(line.node)
            self._part(line)
        elif line.by == "dispatchLogs<leaderLoop":
            self.leaders.dispatch(line)
        elif line.by == "dispatchLogs<appendConfigurationEntry":
            try:
                self.leaders.reconfigure(line)
            except ValueError as error:
                raise self._problem(line, "entries", str(error)) from error
        elif line.function == "BootstrapCluster":
            self.servers[line.node].write(line)
            self._part(line)
        else:
            raise self._problem(line, "by", f"{line.by!r} is not known to store entries")

    def _delete_range(self, line: s.DeleteRange) -> None:
        if line.seq in self.lookahead.parts:
            self._part(line)
        else:
            self.snapshots.compacts(line)

    def _state(self, line: s.StateLine) -> None:
        if line.seq in self.lookahead.parts or line.state == "Shutdown":
            self._part(line)
            return
        known = _CHANGES.get((line.state, line.function))
        if known is None:
            raise self._problem(line, "by", f"{line.by!r} is not known to make a {line.state}")
        self.servers[line.node].write(line)
        if line.state != "Leader":
            self.servers[line.node].leader = ""
        known(self, line)

    def _leader_obs(self, line: s.LeaderLine) -> None:
        node = line.node
        if line.seq in self.lookahead.parts:
            self._part(line)
            return
        self.servers[node].write(line)
        forgets = line.function == "runFollower" and not line.leader and self.replay.server(node)["role"] == "Follower"
        if forgets and node not in latest_voters(self.replay, node):
            self.elections.forget_leader(line)
        else:
            self._part(line)

    def _snapshot_saved(self, line: s.SnapshotSaved) -> None:
        if line.seq in self.lookahead.parts:
            self._part(line)
        else:
            self.snapshots.saves(line)

    def _liblog(self, line: s.LibLog) -> None:
        if line.text == BEGINS_ANEW and self.replay.server(line.node)["role"] == "Candidate":
            self.elections.restart_process(line.life)
        elif line.text == DENIED:
            self.denied.add(line.node)

    # ---- Clients ----

    def _transfer_req(self, line: s.TransferReq) -> None:
        self.leaders.asked_to_hand_over(line)
        self.uses.observed(line.number)

    def _transfer_resp(self, line: s.TransferResp) -> None:
        self.leaders.answered_transfer(line)
        self.uses.observed(line.number)

    def _verify_req(self, line: s.VerifyReq) -> None:
        self.uses.observed(line.number)
        self.leaders.verifications.asks(line)

    def _verify_resp(self, line: s.VerifyResp) -> None:
        self.uses.observed(line.number)
        self.leaders.verifications.answers(line)

    def _follows(self, line: s.StateLine) -> None:
        """A leader follows: a peer has denied that it leads, or an answer had a higher term."""
        if line.node in self.denied:
            self.denied.remove(line.node)
            self.leaders.denied(line.node)
        else:
            self.leaders.step_down(line.node)

    # ---- Lives ----

    def _start(self, line: s.StartLine) -> None:
        node = line.node
        self.leaders.lives[node] = line.life
        self.servers[node].start(line.persisted)
        shows = persisted_shown(line.persisted)
        if line.persisted.snapshot is not None:
            shows["lastSnapshot"] = snapshot_place(line.persisted.snapshot)
        if line.inc == 1:
            self.replay.observe(node, shows)
        else:
            self.replay.take(node, "Restart", shows=shows)
        if "lastSnapshot" in shows:
            self.replay.require_snapshot(node, shows["lastSnapshot"])

    def _stopped(self, line: s.StoppedLine) -> None:
        node = line.node
        self.calls.forget(node)
        self.snapshots.forget(node)
        self.leaders.noops.pop(node, None)
        self.leaders.verifications.forget(node)
        self.denied.discard(node)
        self._compare_stores(line)
        if self.replay.server(node)["role"] == "Shutdown":
            self.replay.observe(node, persisted_shown(line.persisted))
        else:
            self.replay.take(node, "Crash", shows=persisted_shown(line.persisted))

    def _compare_stores(self, line: s.StoppedLine | s.FinalLine) -> None:
        """Show what the stores hold where the lines above, or the spec, have led to something else.

        Of two logs that differ, the one by the lines above and the one that was read, the spec's is one at most.
        """
        recorded, newest = self.servers[line.node].log, line.persisted.snapshot
        if recorded != {each.i: each for each in line.persisted.log}:
            self.replay.observe(line.node, log_shown(recorded))
        saved = self.replay.tree(self.replay.server(line.node)["snapshots"])[:1]
        shown = [] if newest is None else [snapshot_place(newest)]
        if [{name: each[name] for name in ("index", "term")} for each in saved] != shown:
            self.replay.observe(line.node, {"snapshots": shown})

    def _final(self, line: s.FinalLine) -> None:
        self._compare_stores(line)
        self.snapshots.require_count(line, "fsm.count", line.fsm)
        shows = persisted_shown(line.persisted)
        if line.obs is not None:
            shows |= {"commitIndex": line.obs.commit, "lastIndex": line.obs.last, "role": line.obs.role}
        self.replay.observe(line.node, shows)


_CHANGES: dict[tuple[str, str], Callable[[Reader, s.StateLine], None]] = {
    ("Candidate", "runFollower"): lambda self, line: self.elections.campaign_on_timeout(line),
    ("Leader", "runCandidate"): lambda self, line: self.elections.wins(line),
    ("Follower", "runCandidate"): lambda self, line: self._part(line),
    ("Follower", "leaderLoop"): Reader._follows,
    ("Follower", "checkLeaderLease"): lambda self, line: self.leaders.lease(line.node),
}

_READERS: dict[type[RecordingLine], Callable[[Reader, Any], None]] = {
    m.Send: Reader._send,
    m.Duplicate: Reader._duplicate,
    m.Drop: Reader._drop,
    m.ReplyDrop: Reader._reply_drop,
    m.ReplyRecv: Reader._reply_recv,
    m.RpcError: Reader._rpc_error,
    m.Recv: Reader._part,
    m.Respond: Reader._part,
    s.StableSet: Reader._stable,
    s.StableFail: Reader._stable,
    s.StoreLogs: Reader._store_logs,
    s.DeleteRange: Reader._delete_range,
    s.StateLine: Reader._state,
    s.LeaderLine: Reader._leader_obs,
    s.FsmApply: lambda self, line: self.snapshots.applies(line),
    s.FsmSnapshot: lambda self, line: self.snapshots.reads(line),
    s.FsmRestore: lambda self, line: self.snapshots.restores(line),
    s.SnapshotSaved: Reader._snapshot_saved,
    s.LibLog: Reader._liblog,
    s.TransferReq: Reader._transfer_req,
    s.TransferResp: Reader._transfer_resp,
    s.VerifyReq: Reader._verify_req,
    s.VerifyResp: Reader._verify_resp,
    s.StartLine: Reader._start,
    s.StoppedLine: Reader._stopped,
    s.FinalLine: Reader._final,
}


def _summary(reader: Reader, departed: RecordingLine | None, notes: list[str]) -> Summary:
    replay = reader.replay
    if departed is not None:
        notes = [*notes, f"line {departed.number}: no such step; the lines after it were not read"]
    return Summary(
        uses=reader.uses.counted(),
        actions=dict(sorted(replay.actions.items())),
        moved=tuple(sorted(replay.moved)),
        forced=(),
        hidden=dict(sorted(replay.hidden.items())),
        refuted=None if departed is None else departed.number,
        notes=tuple(notes),
    )
