------------------------------ MODULE Reached -------------------------------
(***************************************************************************)
(* What a trace reaches of DLedger.  A check that a trace is a behaviour   *)
(* cannot see a step that is never taken: this says which parts of the     *)
(* protocol there are, and which of them a step reaches.  No property and  *)
(* no model reads it; the check evaluates it where coverage is asked for.  *)
(*                                                                         *)
(* A part is <<kind, name>>:                                               *)
(*                                                                         *)
(*   answer      a response that a node sends, by its type and code        *)
(*   dispatcher  a change of what a dispatcher does                        *)
(*   client      what a client is answered                                 *)
(*   log         a change of leaders and logs                              *)
(*                                                                         *)
(* The actions are parts, too: the check counts them itself, those in      *)
(* Faults apart.                                                           *)
(***************************************************************************)
EXTENDS DLedger

\* The actions that are faults, of the network or of a node.
Faults == {"Lose", "Duplicate", "PushTimeOut", "Crash", "Shutdown", "LosePower", "CrashInPersistTerm",
           "CrashInPersistCheckPoint"}

Parts(kind, names) == {<<kind, name>> : name \in names}

-----------------------------------------------------------------------------
(* Answers.                                                                *)

\* The responses that a step of n sends.  A response that equals one under way is a message put beside it.
SentResponses(n) ==
    UNION {LET before == network[n][p]
               after  == network'[n][p]
           IN  IF before = after THEN {}
               ELSE {m \in MessagesIn(after) :
                        m.kind = "response" /\ (m \notin MessagesIn(before) \/ after = Put(before, m))} :
           p \in Peers(n)}

AnswersReached(n) ==
    IF network[n] = network'[n] THEN {}
    ELSE {<<"answer", m.type \o " " \o m.code>> : m \in SentResponses(n)}

AnswersOf(types, codes) == {<<"answer", type \o " " \o code>> : type \in types, code \in codes}

AllAnswers ==
    AnswersOf({"COMPARE", "TRUNCATE", "APPEND"},
              {"SUCCESS", "INCONSISTENT_TERM", "INCONSISTENT_STATE", "REPEATED_PUSH", "NOT_FOLLOWER"})
    \cup AnswersOf({"VOTE"}, VoteCodes)
    \cup AnswersOf({"HEARTBEAT"}, HeartBeatCodes)
    \cup AnswersOf({"TRANSFER"}, TransferCodes)

-----------------------------------------------------------------------------
(* Dispatchers.                                                            *)

Change(before, after) == <<"dispatcher", before \o " -> " \o after>>

DispatchersReached(before, after) ==
    IF before.dispatchers = after.dispatchers THEN {}
    ELSE {Change(before.dispatchers[p].type, after.dispatchers[p].type) :
              p \in {q \in DOMAIN before.dispatchers :
                         before.dispatchers[q].type # after.dispatchers[q].type}}

AllDispatcherChanges ==
    LET types == {"COMPARE", "TRUNCATE", "APPEND"}
    IN  UNION {{Change(one, other) : other \in types \ {one}} : one \in types}

-----------------------------------------------------------------------------
(* Clients.                                                                *)

Refusals == {"NOT_LEADER", "LEADER_TRANSFERRING", "LEADER_PENDING_FULL", "REQUEST_WITH_EMPTY_BODYS"}

\* TERM_CHANGED: a pass finds clients that wait for entries of another term.
ClientsReached(action, args, before) ==
    Parts("client",
        (IF action = "RefuseAppend" THEN {args.code} ELSE {})
        \cup (IF action = "CheckResponseFuturesTimeout" THEN {"WAIT_QUORUM_ACK_TIMEOUT"} ELSE {})
        \cup (IF action = "QuorumAckChecker" /\ FuturesOf(before, before.currTerm) # before.futures
              THEN {"TERM_CHANGED"} ELSE {})
        \cup (IF acknowledged' # acknowledged THEN {"SUCCESS"} ELSE {}))

AllClientAnswers ==
    Parts("client", Refusals \cup {"SUCCESS", "TERM_CHANGED", "WAIT_QUORUM_ACK_TIMEOUT"})

-----------------------------------------------------------------------------
(* Leaders and logs.                                                       *)

\* n is elected: it leads from this step on.
IsElected(before, after) == before.role # "LEADER" /\ after.role = "LEADER"

\* A TRUNCATE comes late: behind its entry the log holds what the same leader has appended since.
\* IsLateTruncate is the repaired code's test, and never holds as published.
ComesLate(before, m) ==
    /\ m.index < EndIndex(before.log)
    /\ HoldsEntryOf(before, m)
    /\ FromItsLeader(before, m)
    /\ EndTerm(before.log) = m.term

IsCut(action, before, after) == action = "HandleDoTruncate" /\ EndIndex(after.log) < EndIndex(before.log)

LogChanges(action, args, before, after) ==
    LET ends == EndIndex(after.log) - EndIndex(before.log)
    IN  (IF action = "HandleDoTruncate" /\ ComesLate(before, args.m)
         THEN {IF ends < 0 THEN "late TRUNCATE cuts" ELSE "late TRUNCATE passes"} ELSE {})
        \cup (IF IsCut(action, before, after) THEN {"entries cut"} ELSE {})
        \cup (IF action = "Restart" /\ ends > 0 THEN {"cut entries back"} ELSE {})

Commits(action, before, after) ==
    (IF after.committedIndex > before.committedIndex /\ action # "Restart"
     THEN {IF action \in {"QuorumAckChecker", "ActOnQuorumIndex"} THEN "entries committed"
           ELSE "commit learnt"}
     ELSE {})
    \cup (IF after.committedIndex > EndIndex(after.log) THEN {"commit past the end"} ELSE {})

\* What follows from the whole trace so far, of which `reached` has the parts.
Leaders(action, before, after, reached) ==
    LET Was(name) == <<"log", name>> \in reached
        another   == IsElected(before, after) /\ Was("leader elected")
        cut       == IsCut(action, before, after)
    IN  (IF IsElected(before, after) THEN {"leader elected"} ELSE {})
        \cup (IF another THEN {"another leader"} ELSE {})
        \cup (IF (another /\ Was("entries cut")) \/ (cut /\ Was("another leader"))
              THEN {"leader change and cut"} ELSE {})

LogsReached(action, args, before, after, reached) ==
    Parts("log", LogChanges(action, args, before, after)
                 \cup Commits(action, before, after)
                 \cup Leaders(action, before, after, reached))

AllLogs ==
    Parts("log", {"leader elected", "another leader", "leader change and cut", "entries committed",
                  "commit learnt", "commit past the end", "entries cut", "cut entries back",
                  "late TRUNCATE cuts", "late TRUNCATE passes"})

-----------------------------------------------------------------------------
(* The parts that a step reaches, given its action with the arguments, and *)
(* the parts that the trace has reached before it; and all that there are. *)

Reached(action, args, reached) ==
    LET n      == args.n
        before == node[n]
        after  == node'[n]
    IN  AnswersReached(n)
        \cup DispatchersReached(before, after)
        \cup ClientsReached(action, args, before)
        \cup LogsReached(action, args, before, after, reached)

Reachable == AllAnswers \cup AllDispatcherChanges \cup AllClientAnswers \cup AllLogs

=============================================================================
