------------------------------ MODULE Reached -------------------------------
(***************************************************************************)
(* What a trace reaches of hashicorp/raft.  A check that a trace is a      *)
(* behaviour cannot see a step that is never taken: this says which parts  *)
(* of the protocol there are, and which of them a step reaches.  No        *)
(* property and no model reads it; the check evaluates it where coverage   *)
(* is asked for.                                                           *)
(*                                                                         *)
(* A part is <<kind, name>>:                                               *)
(*                                                                         *)
(*   answer   a response that a server sends                               *)
(*   outcome  a write of an action that fails, or is the process's last    *)
(*   role     a change of role                                             *)
(*   log      a change of logs, of the leader and of the group, and what a *)
(*            client is answered who asks who leads                        *)
(*                                                                         *)
(* The actions are parts, too: the check counts them itself, those in      *)
(* Faults apart.                                                           *)
(***************************************************************************)
EXTENDS HashicorpRaft

\* The actions that are faults, of the network or of a server.
Faults == {"Lose", "Duplicate", "RPCError", "Crash"}

Parts(kind, names) == {<<kind, name>> : name \in names}

-----------------------------------------------------------------------------
(* Answers.  A refusal of AppendEntries is one that the leader has to      *)
(* expect ("no backoff"), or not.                                          *)

\* The responses that a step of n sends.  A response that equals one under way is a message put beside it.
SentResponses(n) ==
    UNION {LET before == network[n][p]
               after  == network'[n][p]
           IN  IF before = after THEN {}
               ELSE {m \in MessagesIn(after) :
                        m.kind = "response" /\ (m \notin MessagesIn(before) \/ after = Put(before, m))} :
           p \in Peers(n)}

Answer(m) ==
    CASE m.type \in {"RequestVote", "RequestPreVote"} -> IF m.granted THEN "granted" ELSE "refused"
      [] m.type = "TimeoutNow" -> "received"
      [] m.type = "AppendEntries" ->
             IF m.success THEN "success" ELSE IF m.noRetryBackoff THEN "refused, no backoff" ELSE "refused"
      [] m.type \in {"Heartbeat", "InstallSnapshot"} -> IF m.success THEN "success" ELSE "refused"

AnswersReached(n) ==
    IF network[n] = network'[n] THEN {}
    ELSE {<<"answer", m.type \o " " \o Answer(m)>> : m \in SentResponses(n)}

AnswersOf(types, answers) == {<<"answer", type \o " " \o answer>> : type \in types, answer \in answers}

AllAnswers ==
    AnswersOf({"RequestVote", "RequestPreVote"}, {"granted", "refused"})
    \cup AnswersOf({"AppendEntries"}, {"success", "refused", "refused, no backoff"})
    \cup AnswersOf({"Heartbeat", "InstallSnapshot"}, {"success", "refused"})
    \cup AnswersOf({"TimeoutNow"}, {"received"})

-----------------------------------------------------------------------------
(* Outcomes.                                                               *)

OutcomesReached(action, args) ==
    IF "outcome" \notin DOMAIN args \/ args.outcome = Done THEN {}
    ELSE {<<"outcome", action \o " " \o args.outcome.result>>}

\* The actions that write.
Writing == {"RequestVote", "ElectSelf", "HandleRequestVoteResponse", "HandleRequestPreVoteResponse",
            "DispatchNoop", "DispatchLogs", "AppendEntries", "InstallSnapshot", "PersistSnapshot",
            "CompactLogs", "AppendConfigurationEntry"}

AllOutcomes == {<<"outcome", action \o " " \o result>> : action \in Writing, result \in {"FAIL", "CRASH"}}

-----------------------------------------------------------------------------
(* Roles.                                                                  *)

RoleChange(before, after) == <<"role", before \o " -> " \o after>>

RolesReached(before, after) ==
    IF before.role = after.role THEN {} ELSE {RoleChange(before.role, after.role)}

AllRoleChanges == UNION {{RoleChange(one, other) : other \in Role \ {one}} : one \in Role}

-----------------------------------------------------------------------------
(* Leaders, logs, the group.                                               *)

First(log) == IF DOMAIN log = {} THEN 0 ELSE Min(DOMAIN log)

HasGap(log) == DOMAIN log # {} /\ Cardinality(DOMAIN log) < Max(DOMAIN log) - Min(DOMAIN log) + 1

\* An entry is another one, or gone.
LosesEntries(before, after) ==
    /\ before.log # after.log
    /\ \E i \in DOMAIN before.log : ~HasEntry(after, i) \/ after.log[i] # before.log[i]

LogChanges(action, before, after) ==
    (IF action = "AppendEntries" /\ LosesEntries(before, after) THEN {"entries cut"} ELSE {})
    \cup (IF DOMAIN before.log # {} /\ First(after.log) > First(before.log) THEN {"log compacted"} ELSE {})
    \cup (IF HasGap(after.log) THEN {"gap in a log"} ELSE {})

\* Of a process that dies in the step the FSM is gone, not set back.
SnapshotChanges(action, before, after) ==
    (IF action = "PersistSnapshot" /\ after.snapshots # before.snapshots THEN {"snapshot saved"} ELSE {})
    \cup (IF action = "InstallSnapshot" /\ after.role # "Shutdown" /\ after.fsm.index < before.fsm.index
          THEN {"FSM set back"} ELSE {})
    \cup (IF action = "Restart" /\ after.snapshots # << >> THEN {"start from a snapshot"} ELSE {})

Commits(action, before, after) ==
    (IF after.commitIndex > before.commitIndex
     THEN {IF action = "ProcessLogs" THEN "entries committed" ELSE "commit learnt"} ELSE {})
    \cup (IF action = "ProcessLogs"
                /\ after.configurations.committedIndex > before.configurations.committedIndex
          THEN {"configuration committed"} ELSE {})

\* n is elected: it leads from this step on.
IsElected(before, after) == before.role # "Leader" /\ after.role = "Leader"

\* `reached` has the parts of the whole trace so far.
Elections(before, after, reached) ==
    IF ~IsElected(before, after) THEN {}
    ELSE {"leader elected"} \cup (IF <<"log", "leader elected">> \in reached THEN {"another leader"} ELSE {})

Leaders(action, before, after) ==
    (IF action = "ProcessLogs" /\ before.role = "Leader" /\ after.role # "Leader"
     THEN {"leader removed"} ELSE {})
    \cup (IF action = "HandleVerify"
          THEN {IF after.role = "Leader" THEN "leader verified" ELSE "leader refuted"} ELSE {})

\* The one of the two keys of a vote is written, and the other is still that of an earlier vote.
TornVotes(action, args, before, after) ==
    LET candidate == CASE action = "RequestVote" -> args.m.src
                       [] action = "RequestVoteAroundHeartbeat" -> args.request.src
                       [] OTHER -> args.n
    IN  IF before.lastVoteTerm < after.lastVoteTerm /\ after.lastVoteCand # candidate
        THEN {"vote torn"} ELSE {}

LogsReached(action, args, before, after, reached) ==
    Parts("log", LogChanges(action, before, after)
                 \cup SnapshotChanges(action, before, after)
                 \cup Commits(action, before, after)
                 \cup Elections(before, after, reached)
                 \cup Leaders(action, before, after)
                 \cup TornVotes(action, args, before, after))

AllLogs ==
    Parts("log", {"leader elected", "another leader", "entries committed", "commit learnt", "entries cut",
                  "log compacted", "gap in a log", "snapshot saved", "FSM set back", "start from a snapshot",
                  "configuration committed", "leader removed", "leader verified", "leader refuted",
                  "vote torn"})

-----------------------------------------------------------------------------
(* The parts that a step reaches, given its action with the arguments, and *)
(* the parts that the trace has reached before it; and all that there are. *)

Reached(action, args, reached) ==
    LET n      == args.n
        before == node[n]
        after  == node'[n]
    IN  AnswersReached(n)
        \cup OutcomesReached(action, args)
        \cup RolesReached(before, after)
        \cup LogsReached(action, args, before, after, reached)

Reachable == AllAnswers \cup AllOutcomes \cup AllRoleChanges \cup AllLogs

=============================================================================
