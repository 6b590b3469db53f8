----------------------------- MODULE MCRewrite ------------------------------
(***************************************************************************)
(* The dispatcher of DLedger 0.4.0, written anew in #298, and in all that  *)
(* matters here the same up to the last commit of its repository.  The     *)
(* reader learns what of the protocol it changed, and which flaws went     *)
(* with that.  README.md has the verdicts.                                 *)
(*                                                                         *)
(*   COMPARE   carries index and term of the entry before writeIndex, and  *)
(*             the follower compares terms alone; at -1 every log agrees.  *)
(*             A refusal says where the leader looks next: at the first    *)
(*             entry of the follower's term there, or at its end.          *)
(*   TRUNCATE  follows every COMPARE that succeeds, and carries an index   *)
(*             and no entry: what is there and behind it goes.             *)
(*   APPEND    begins at writeIndex; pushing again sets writeIndex back.   *)
(*   COMMIT    never lowers committedIndex.                                *)
(*                                                                         *)
(* A watermark counts in the term of the entry that it stands for, not in  *)
(* that of the request.  The leader commits what a majority has reached,   *)
(* and only while it leads that term.  Nothing is answered by the quorum   *)
(* index, so lastQuorumIndex stays -1; committedIndex is in no file.       *)
(*                                                                         *)
(* Each cfg replaces operators of the spec by those below; without Batches *)
(* an APPEND has one entry.  Of the dispatcher's fields writeIndex takes   *)
(* the part of compareIndex, and truncateIndex is matchIndex + 1.          *)
(* Snapshots are left out.                                                 *)
(***************************************************************************)
EXTENDS MCRepairs

-----------------------------------------------------------------------------
(* The leader.                                                             *)

\* changeState(COMPARE): only a dispatcher that leaves APPEND begins anew at the end of the log.
RewriteToCompare(dispatcher) == [dispatcher EXCEPT !.type = "COMPARE", !.truncateIndex = -1]

Leaves(before, dispatcher) ==
    IF dispatcher.type # "APPEND" THEN ToCompare(dispatcher)
    ELSE [ToCompare(dispatcher) EXCEPT !.writeIndex = Len(before.log), !.pendings = {}]

\* EntryDispatcher.checkNotLeaderAndFreshState.  As published (StaleCompareIndex), a dispatcher of a new
\* leadership compares from where it stopped, or from where the process began.
RewriteCheckAndFreshState(before, peer) ==
    LET old   == before.dispatchers[peer]
        fresh == [Leaves(before, old) EXCEPT !.term = before.currTerm,
                                             !.writeIndex = IF StaleCompareIndex THEN @ ELSE Len(before.log)]
    IN  IF old.term = before.currTerm THEN before ELSE [before EXCEPT !.dispatchers[peer] = fresh]

CompareRequest(n, peer, state) ==
    LET index == state.dispatchers[peer].writeIndex - 1
    IN  [kind |-> "request", type |-> "COMPARE", src |-> n, dst |-> peer,
         term |-> state.dispatchers[peer].term, index |-> index, preLogTerm |-> TermAt(state.log, index),
         commitIndex |-> state.committedIndex, awaited |-> TRUE]

\* Source: EntryDispatcher.doCompare, up to the push.  An index behind the end of the log throws.
RewriteDoCompare(n) ==
    \E peer \in Peers(n) :
    LET fresh == CheckAndFreshState(node[n], peer)
        after == [fresh EXCEPT !.dispatchers[peer].awaiting = "COMPARE"]
    IN  /\ fresh.role = "LEADER"
        /\ fresh.dispatchers[peer].type = "COMPARE"
        /\ Awaits(fresh, peer, "NOTHING")
        /\ fresh.log # << >>
        /\ fresh.dispatchers[peer].writeIndex <= Len(fresh.log)
        /\ MaySend(n, peer)
        /\ Act(n, [node |-> after, out |-> <<CompareRequest(n, peer, after)>>])

\* A watermark of the entry's term; it counts if that is the leader's.  Were it of the request's term, as
\* before, it would count for the leader, whatever entry it stands for.
Marked(before, peer, term, index)        == UpdatePeerWaterMark(before, peer, term, index)
MarkedAsBefore(before, peer, term, index) == UpdatePeerWaterMark(before, peer, before.currTerm, index)

\* Source: EntryDispatcher.doCompare, from the answer on.
RewriteCompared(before, m) ==
    LET dispatcher    == [before.dispatchers[m.src] EXCEPT !.awaiting = "NOTHING"]
        Becomes(next) == [before EXCEPT !.dispatchers[m.src] = next]
    IN  CASE m.code = "SUCCESS" ->
                Marked(Becomes([dispatcher EXCEPT !.type = "TRUNCATE", !.truncateIndex = m.index + 1]),
                       m.src, m.preLogTerm, m.index)
          [] m.code = "INCONSISTENT_STATE" -> Becomes([dispatcher EXCEPT !.writeIndex = m.endIndex + 1])
          [] m.code \notin {"SUCCESS", "INCONSISTENT_STATE"} -> Becomes(ToCompare(dispatcher))

TruncateRequest(n, peer, state) ==
    [kind |-> "request", type |-> "TRUNCATE", src |-> n, dst |-> peer,
     term |-> state.dispatchers[peer].term, index |-> state.dispatchers[peer].truncateIndex,
     commitIndex |-> state.committedIndex, awaited |-> TRUE]

\* Source: EntryDispatcher.doTruncate, up to the push.
RewriteDoTruncate(n) ==
    \E peer \in Peers(n) :
    LET dispatcher == node[n].dispatchers[peer]
        after      == [node[n] EXCEPT !.dispatchers[peer].awaiting = "TRUNCATE"]
    IN  /\ node[n].role # "DOWN"
        /\ dispatcher.type = "TRUNCATE"
        /\ DeposedTruncate \/ Serves(node[n], dispatcher)
        /\ dispatcher.awaiting = "NOTHING"
        /\ MaySend(n, peer)
        /\ Act(n, [node |-> after, out |-> <<TruncateRequest(n, peer, after)>>])

\* Source: EntryDispatcher.doTruncate, from the answer on.
RewriteTruncated(before, m) ==
    LET dispatcher == [before.dispatchers[m.src] EXCEPT !.awaiting = "NOTHING"]
    IN  [before EXCEPT !.dispatchers[m.src] =
            IF m.code = "SUCCESS"
            THEN [dispatcher EXCEPT !.type = "APPEND", !.truncateIndex = -1, !.writeIndex = m.index]
            ELSE ToCompare(dispatcher)]

\* Source: EntryDispatcher.doCheckAppendResponse: writeIndex is set back, and pushing goes on from there.
RewritePushAgain(n, peer) ==
    LET index == node[n].peerWaterMarks[peer] + 1
    IN  /\ Appending(n, peer)
        /\ \E p \in node[n].dispatchers[peer].pendings : p.index = index
        /\ node[n].dispatchers[peer].writeIndex # index
        /\ Step(n, [node[n] EXCEPT !.dispatchers[peer].writeIndex = index])

\* Source: EntryDispatcher.sendBatchAppendEntryRequest, the callback.  As long as the leader is in the
\* term of its request, it holds the entry that it pushed.
RewriteAnswered(before, m) ==
    LET ticked == [before EXCEPT !.dispatchers[m.src].pendings = {p \in @ : p.index # m.index}]
    IN  CASE m.code = "SUCCESS" ->
                IF m.term # before.currTerm THEN ticked
                ELSE Marked(ticked, m.src, TermAt(before.log, m.index), m.index)
          [] m.code = "INCONSISTENT_STATE" -> [before EXCEPT !.dispatchers[m.src] = Leaves(before, @)]
          [] m.code = "REPEATED_PUSH" -> before

-----------------------------------------------------------------------------
(* Commit.                                                                 *)

\* QuorumAckChecker.doWork: a pass marks the end of the leader's own log first.
RewriteQuorumIndex(state) ==
    QuorumIndexBySorting([state.peerWaterMarks EXCEPT ![state.leaderId] = EndIndex(state.log)])

\* MemberState.leaderUpdateCommittedIndex.
RewritePassed(before, pass) ==
    LET commits == /\ before.role = "LEADER"
                   /\ pass.term = before.currTerm
                   /\ pass.index > before.committedIndex
        after   == IF commits THEN LetApply([before EXCEPT !.committedIndex = pass.index], pass.index)
                   ELSE before
    IN  [node |-> [after EXCEPT !.checking = NoPass], acknowledged |-> {}]

\* MemberState.followerUpdateCommittedIndex, behind the clamp that each of its callers has.
RewriteUpdateCommittedIndex(before, term, newIndex) ==
    [before EXCEPT !.committedIndex = Max({@, Min({newIndex, EndIndex(before.log)})})]

\* What the state machine of a follower is to apply is what that made of the index.
RewriteLearnCommitted(before, term, index) ==
    LET after == UpdateCommittedIndex(before, term, index) IN LetApply(after, after.committedIndex)

-----------------------------------------------------------------------------
(* The follower.                                                           *)

\* DLedgerStore.getFirstLogOfTargetTerm: the first of the entries of one term that end at the index.
FirstOfTerm(log, index) ==
    Min({i \in 0..index : \A k \in i..index : TermAt(log, k) = TermAt(log, index)})

\* Where the leader looks next is the index behind the endIndex of a refusal.
CompareResponse(n, m, state, code, next) ==
    IF ~m.awaited THEN << >>
    ELSE <<[kind |-> "response", type |-> "COMPARE", src |-> n, dst |-> m.src, term |-> m.term,
            index |-> m.index, preLogTerm |-> m.preLogTerm, code |-> code, endIndex |-> next - 1]>>

\* Source: EntryHandler.handleDoCompare.
RewriteCompareHandled(n, before, m) ==
    LET end == EndIndex(before.log)
    IN  [node |-> before,
         out |-> CASE ~Obeys(before, m) -> CompareResponse(n, m, before, "INCONSISTENT_TERM", 0)
                   [] Obeys(before, m) /\ m.index > end ->
                         CompareResponse(n, m, before, "INCONSISTENT_STATE", end + 1)
                   [] Obeys(before, m) /\ m.index <= end /\ TermAt(before.log, m.index) = m.preLogTerm ->
                         CompareResponse(n, m, before, "SUCCESS", 0)
                   [] Obeys(before, m) /\ m.index <= end /\ TermAt(before.log, m.index) # m.preLogTerm ->
                         CompareResponse(n, m, before, "INCONSISTENT_STATE",
                                         FirstOfTerm(before.log, m.index))]

\* Repaired (LateTruncate), nothing is cut behind an entry of the leader's own term.
IsLate(state, m) == ~LateTruncate /\ EndTerm(state.log) = m.term

\* As published (PushTermCheck), a TRUNCATE is obeyed whatever its term, too.
Cuts(state, m) ==
    /\ Obeys(state, m)
    /\ m.index <= EndIndex(state.log) + 1
    /\ CommitPastEnd \/ m.index > CommittedEnd(state) \/ IsLate(state, m)

\* DLedgerMmapFileStore.truncate(index).
CutStore(before, index) ==
    LET file == before.log \o before.tail
        log  == SubSeq(before.log, 1, index)
    IN  Written([before EXCEPT !.log = log, !.tail = Behind(SubSeq(file, index + 1, Len(file))),
                               !.ledgerEndTerm = EndTerm(log)])

\* Source: EntryHandler.handleDoTruncate.
RewriteTruncateHandled(n, before, m) ==
    LET cut == IF IsLate(before, m) THEN before ELSE CutStore(before, m.index)
    IN  IF Cuts(before, m)
        THEN [node |-> Learnt(cut, m), out |-> Reply(n, m, cut, "SUCCESS")]
        ELSE [node |-> before, out |-> Reply(n, m, before, "INCONSISTENT_STATE")]

-----------------------------------------------------------------------------
(* The messages.                                                           *)

RewriteRequestMessage ==
    [kind: {"request"}, type: {"COMPARE"}, src: Node, dst: Node, term: Nat, index: Index,
     preLogTerm: Index, commitIndex: Index, awaited: BOOLEAN]
    \cup [kind: {"request"}, type: {"TRUNCATE"}, src: Node, dst: Node, term: Nat, index: Nat,
          commitIndex: Index, awaited: BOOLEAN]
    \cup [kind: {"request"}, type: {"APPEND"}, src: Node, dst: Node, term: Nat, index: Nat,
          entry: LogEntry, commitIndex: Index, awaited: BOOLEAN]

RewriteResponseMessage ==
    [kind: {"response"}, type: {"COMPARE"}, src: Node, dst: Node, term: Nat, index: Index,
     preLogTerm: Index, code: {"SUCCESS", "INCONSISTENT_TERM", "INCONSISTENT_STATE"}, endIndex: Index]
    \cup [kind: {"response"}, type: {"TRUNCATE", "APPEND"}, src: Node, dst: Node, term: Nat, index: Nat,
          code: {"SUCCESS", "INCONSISTENT_STATE", "REPEATED_PUSH"}, beginIndex: Index, endIndex: Index]

=============================================================================
