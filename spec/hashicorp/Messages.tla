------------------------------ MODULE Messages ------------------------------
(***************************************************************************)
(* Messages between servers.  The reader learns the fields of each         *)
(* message, and who waits for an answer.                                   *)
(*                                                                         *)
(* All messages are requests and their responses.  A call blocks the       *)
(* routine that makes it, so of a routine there is one call to a peer at a *)
(* time, except in a pipeline.  When the routine ends, or gives up         *)
(* waiting, the request may still arrive and be handled, but its answer    *)
(* goes to nobody: `awaited` is FALSE (see Channels).                      *)
(*                                                                         *)
(* A heartbeat is an AppendEntries request with a term and nothing else.   *)
(* Here it has a type of its own, since it is sent by a routine of its own *)
(* and the answer is that routine's.  The receiver handles both alike.     *)
(***************************************************************************)
EXTENDS State

\* The messages that may reach n next.
Inbox(n) == UNION {Deliverable(network[p][n]) : p \in Peers(n)}

\* The messages from n, except requests that n gave up.  A step of n adds here exactly the messages that it
\* sends, except requests whose answers nobody will await.
Outbox(n) ==
    {m \in UNION {MessagesIn(network[n][p]) : p \in Peers(n)} : m.kind = "request" => m.awaited}

IsRequest(m, type)  == m.kind = "request" /\ m.type = type
IsResponse(m, type) == m.kind = "response" /\ m.type = type

\* The requests of a pipeline come on one connection.  Each begins behind the entries of the one before.  Of
\* those that begin at one place only the last has entries, and the commit index rises.
IsEarlier(r, m) ==
    \/ r.prevLogEntry < m.prevLogEntry
    \/ /\ r.prevLogEntry = m.prevLogEntry
       /\ \/ Len(r.entries) < Len(m.entries)
          \/ Len(r.entries) = Len(m.entries) /\ r.leaderCommitIndex < m.leaderCommitIndex

\* n handles the requests of a pipeline in their order; one that is awaited is of the pipeline that is open.
IsNext(n, m) ==
    Pipeline /\ m.type = "AppendEntries" /\ m.awaited
      => \A r \in Inbox(n) :
            IsRequest(r, "AppendEntries") /\ r.src = m.src /\ r.awaited => ~IsEarlier(r, m)

-----------------------------------------------------------------------------
(* Requests.                                                               *)

RequestVoteRequest(n, peer, state) ==
    [kind |-> "request", type |-> "RequestVote", src |-> n, dst |-> peer, term |-> state.currentTerm,
     lastLogIndex |-> LastEntry(state).index, lastLogTerm |-> LastEntry(state).term,
     leadershipTransfer |-> state.campaign.transfer, awaited |-> TRUE]

\* It proposes the next term, which the candidate does not enter yet.
RequestPreVoteRequest(n, peer, state) ==
    [kind |-> "request", type |-> "RequestPreVote", src |-> n, dst |-> peer, term |-> state.currentTerm + 1,
     lastLogIndex |-> LastEntry(state).index, lastLogTerm |-> LastEntry(state).term, awaited |-> TRUE]

AppendEntriesRequest(n, peer, state, term, prev, entries) ==
    [kind |-> "request", type |-> "AppendEntries", src |-> n, dst |-> peer, term |-> term,
     prevLogEntry |-> prev.index, prevLogTerm |-> prev.term, entries |-> entries,
     leaderCommitIndex |-> state.commitIndex, awaited |-> TRUE]

HeartbeatRequest(n, peer, term) ==
    [kind |-> "request", type |-> "Heartbeat", src |-> n, dst |-> peer, term |-> term, awaited |-> TRUE]

InstallSnapshotRequest(n, peer, term, snapshot) ==
    [kind |-> "request", type |-> "InstallSnapshot", src |-> n, dst |-> peer, term |-> term,
     snapshot |-> snapshot, awaited |-> TRUE]

TimeoutNowRequest(n, peer) ==
    [kind |-> "request", type |-> "TimeoutNow", src |-> n, dst |-> peer, awaited |-> TRUE]

\* A heartbeat as an AppendEntries request; an AppendEntries request as it is.
AsAppendEntries(m) ==
    IF m.type = "AppendEntries" THEN m
    ELSE [kind |-> "request", type |-> "AppendEntries", src |-> m.src, dst |-> m.dst, term |-> m.term,
          prevLogEntry |-> 0, prevLogTerm |-> 0, entries |-> << >>, leaderCommitIndex |-> 0,
          awaited |-> m.awaited]

\* Requests whose answers nobody awaits.
Unawaited(out) == {[m EXCEPT !.awaited = FALSE] : m \in out}

-----------------------------------------------------------------------------
(* Responses, to the request m.  A request that nobody awaits gets none.   *)

Reply(m, response) == IF m.awaited THEN {response} ELSE {}

\* To RequestVote and RequestPreVote.
VoteResponse(m, term, granted) ==
    Reply(m, [kind |-> "response", type |-> m.type, src |-> m.dst, dst |-> m.src, term |-> term,
              granted |-> granted])

\* The last index of the entries of a request, 0 if it has none.
SentIndex(m) == IF m.entries = << >> THEN 0 ELSE m.prevLogEntry + Len(m.entries)

\* With the pipeline an answer says which request it is to: the answers of a connection come in order.
WithSentIndex(m, answer) ==
    IF ~Pipeline THEN answer
    ELSE [f \in DOMAIN answer \cup {"sentIndex"} |-> IF f = "sentIndex" THEN SentIndex(m) ELSE answer[f]]

AppendEntriesResponse(m, term, lastLog, success, noRetryBackoff) ==
    Reply(m, IF m.type = "Heartbeat"
             THEN [kind |-> "response", type |-> "Heartbeat", src |-> m.dst, dst |-> m.src, term |-> term,
                   success |-> success]
             ELSE WithSentIndex(m,
                  [kind |-> "response", type |-> "AppendEntries", src |-> m.dst, dst |-> m.src, term |-> term,
                   lastLog |-> lastLog, success |-> success, noRetryBackoff |-> noRetryBackoff]))

InstallSnapshotResponse(m, term, success) ==
    Reply(m, [kind |-> "response", type |-> "InstallSnapshot", src |-> m.dst, dst |-> m.src, term |-> term,
              success |-> success])

TimeoutNowResponse(m) ==
    Reply(m, [kind |-> "response", type |-> "TimeoutNow", src |-> m.dst, dst |-> m.src])

-----------------------------------------------------------------------------
(* Types.                                                                  *)

IsMessage(m) ==
    IF m.kind = "request"
    THEN CASE m.type = "RequestVote" ->
                m \in [kind: {"request"}, type: {"RequestVote"}, src: Node, dst: Node, term: Nat,
                       lastLogIndex: Nat, lastLogTerm: Nat, leadershipTransfer: BOOLEAN, awaited: BOOLEAN]
           [] m.type = "RequestPreVote" ->
                m \in [kind: {"request"}, type: {"RequestPreVote"}, src: Node, dst: Node, term: Nat,
                       lastLogIndex: Nat, lastLogTerm: Nat, awaited: BOOLEAN]
           [] m.type = "AppendEntries" ->
                m \in [kind: {"request"}, type: {"AppendEntries"}, src: Node, dst: Node, term: Nat,
                       prevLogEntry: Nat, prevLogTerm: Nat, entries: Seq(Entry), leaderCommitIndex: Nat,
                       awaited: BOOLEAN]
           [] m.type = "Heartbeat" ->
                m \in [kind: {"request"}, type: {"Heartbeat"}, src: Node, dst: Node, term: Nat,
                       awaited: BOOLEAN]
           [] m.type = "InstallSnapshot" ->
                m \in [kind: {"request"}, type: {"InstallSnapshot"}, src: Node, dst: Node, term: Nat,
                       snapshot: Snapshot, awaited: BOOLEAN]
           [] m.type = "TimeoutNow" ->
                m \in [kind: {"request"}, type: {"TimeoutNow"}, src: Node, dst: Node, awaited: BOOLEAN]
    ELSE CASE m.type \in {"RequestVote", "RequestPreVote"} ->
                m \in [kind: {"response"}, type: {"RequestVote", "RequestPreVote"}, src: Node, dst: Node,
                       term: Nat, granted: BOOLEAN]
           [] m.type = "AppendEntries" /\ ~Pipeline ->
                m \in [kind: {"response"}, type: {"AppendEntries"}, src: Node, dst: Node, term: Nat,
                       lastLog: Nat, success: BOOLEAN, noRetryBackoff: BOOLEAN]
           [] m.type = "AppendEntries" /\ Pipeline ->
                m \in [kind: {"response"}, type: {"AppendEntries"}, src: Node, dst: Node, term: Nat,
                       lastLog: Nat, success: BOOLEAN, noRetryBackoff: BOOLEAN, sentIndex: Nat]
           [] m.type \in {"Heartbeat", "InstallSnapshot"} ->
                m \in [kind: {"response"}, type: {"Heartbeat", "InstallSnapshot"}, src: Node, dst: Node,
                       term: Nat, success: BOOLEAN]
           [] m.type = "TimeoutNow" ->
                m \in [kind: {"response"}, type: {"TimeoutNow"}, src: Node, dst: Node]

=============================================================================
