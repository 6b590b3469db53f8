------------------------------- MODULE Leader -------------------------------
(***************************************************************************)
(* The leader's EntryDispatchers, one for each peer.  The reader learns    *)
(* how a leader brings the log of a follower in line with its own.         *)
(*                                                                         *)
(* A dispatcher is in one of three states.                                 *)
(*                                                                         *)
(*   COMPARE   It asks at compareIndex, beginning at the end of the log.   *)
(*             If the follower holds the entry, and it is its last one,    *)
(*             go to APPEND; if the follower holds more, to TRUNCATE.      *)
(*             If not, ask again further down; below the first entry, go   *)
(*             to TRUNCATE with the first.                                 *)
(*   TRUNCATE  It sends the entry at truncateIndex, which becomes the      *)
(*             follower's last.  That is how an empty follower gets its    *)
(*             first entry.  Go to APPEND.                                 *)
(*   APPEND    It pushes from writeIndex on without waiting for answers,   *)
(*             pushes again what stays without, and says how far the log   *)
(*             is committed when it has nothing to push.  If an answer     *)
(*             says INCONSISTENT_STATE, go to COMPARE.                     *)
(*                                                                         *)
(* To enter APPEND after index i is to know that the follower stores the   *)
(* log up to i: the watermark is raised, and counts for commit.            *)
(*                                                                         *)
(* A push without Batches is a batch of one entry.                         *)
(***************************************************************************)
EXTENDS Steps

\* changeState(COMPARE): compareIndex begins anew only when APPEND is left.
ToCompare(dispatcher) ==
    LET leaves == dispatcher.type = "APPEND" IN
    [dispatcher EXCEPT !.type = "COMPARE", !.truncateIndex = -1,
                       !.compareIndex = IF leaves THEN -1 ELSE @,
                       !.pendings = IF leaves THEN {} ELSE @]

ToTruncate(dispatcher, index) ==
    [dispatcher EXCEPT !.type = "TRUNCATE", !.compareIndex = -1, !.truncateIndex = index]

ToAppend(before, peer, index) ==
    LET marked == UpdatePeerWaterMark(before, peer, before.dispatchers[peer].term, index)
    IN  [marked EXCEPT !.dispatchers[peer] =
            [@ EXCEPT !.type = "APPEND", !.compareIndex = -1, !.truncateIndex = -1,
                      !.writeIndex = index + 1]]

\* The node leads the term that the dispatcher is of.
Serves(state, dispatcher) == state.role = "LEADER" /\ dispatcher.term = state.currTerm

Awaits(state, peer, type) == state.dispatchers[peer].awaiting = type

-----------------------------------------------------------------------------
(* COMPARE.                                                                *)

\* EntryDispatcher.checkAndFreshState: a dispatcher of an earlier term begins with COMPARE.  As published, one
\* that was comparing goes on from its compareIndex.  The peer may hold more than that by now, and the
\* TRUNCATE that follows cuts it.  Repaired, it begins at the end of the log.
CheckAndFreshState(before, peer) ==
    LET old   == before.dispatchers[peer]
        fresh == [ToCompare(old) EXCEPT !.term = before.currTerm,
                                        !.compareIndex = IF StaleCompareIndex THEN @ ELSE -1]
    IN  IF old.term = before.currTerm THEN before ELSE [before EXCEPT !.dispatchers[peer] = fresh]

\* compareIndex, or the end of the log where that is no index of it.
IndexToCompare(state, peer) ==
    LET index == state.dispatchers[peer].compareIndex
        end   == EndIndex(state.log)
    IN  IF index > end \/ index < BeginIndex(state.log) THEN end ELSE index

Compare(n, before, peer) ==
    LET index == IndexToCompare(before, peer)
        after == [before EXCEPT !.dispatchers[peer] =
                     [@ EXCEPT !.compareIndex = index, !.awaiting = "COMPARE"]]
    IN  [node |-> after, out |-> <<Request(n, peer, after, "COMPARE", index)>>]

\* ACTION DoCompare: the leader asks whether the peer holds the entry at compareIndex.
\* Source: EntryDispatcher.doCompare, up to the push.
DoCompare(n) ==
    \E peer \in Peers(n) :
    LET fresh == CheckAndFreshState(node[n], peer)
    IN  /\ fresh.role = "LEADER"
        /\ fresh.dispatchers[peer].type = "COMPARE"
        /\ Awaits(fresh, peer, "NOTHING")
        /\ HasEntry(fresh.log, IndexToCompare(fresh, peer))
        /\ MaySend(n, peer)
        /\ Act(n, Compare(n, fresh, peer))

\* The dispatcher with the answer m: the six outcomes of EntryDispatcher.doCompare.
Compared(before, m) ==
    LET dispatcher    == [before.dispatchers[m.src] EXCEPT !.awaiting = "NOTHING"]
        index         == dispatcher.compareIndex
        begin         == BeginIndex(before.log)
        Becomes(next) == [before EXCEPT !.dispatchers[m.src] = next]
        Lower(next)   == Becomes(IF next < begin THEN ToTruncate(dispatcher, begin)
                                 ELSE [dispatcher EXCEPT !.compareIndex = next])
    IN  CASE m.code \notin {"SUCCESS", "INCONSISTENT_STATE"} -> Becomes(ToCompare(dispatcher))
          [] m.code = "SUCCESS" /\ m.endIndex = index -> ToAppend(Becomes(dispatcher), m.src, index)
          [] m.code = "SUCCESS" /\ m.endIndex # index -> Becomes(ToTruncate(dispatcher, index))
          [] m.code = "INCONSISTENT_STATE" ->
                IF \/ m.endIndex < begin \/ m.beginIndex > EndIndex(before.log)  \* the logs do not meet
                   \/ index < m.beginIndex
                THEN Becomes(ToTruncate(dispatcher, begin))
                ELSE IF index > m.endIndex THEN Lower(m.endIndex)
                ELSE Lower(index - 1)

\* ACTION HandleCompareResponse: the dispatcher learns what the peer answered.
\* Source: EntryDispatcher.doCompare, from the answer on.
HandleCompareResponse(n) ==
    \E m \in Inbox(n) :
    /\ node[n].role # "DOWN"
    /\ IsResponse(m, "COMPARE")
    /\ Awaits(node[n], m.src, "COMPARE")
    /\ TakeAnswer(n, m, Quietly(Compared(node[n], m)))

-----------------------------------------------------------------------------
(* TRUNCATE.                                                               *)

Truncate(n, before, peer) ==
    LET after == [before EXCEPT !.dispatchers[peer].awaiting = "TRUNCATE"]
        index == after.dispatchers[peer].truncateIndex
    IN  [node |-> after, out |-> <<Request(n, peer, after, "TRUNCATE", index)>>]

\* ACTION DoTruncate: the leader sends the peer the entry with which its log must end.
\* As published, neither role nor term are looked at again after the COMPARE.  A leader may be deposed by
\* then, and its log be that of its successor: it sends an entry that it never compared.
\* Source: EntryDispatcher.doTruncate, up to the push.
DoTruncate(n) ==
    \E peer \in Peers(n) :
    LET dispatcher == node[n].dispatchers[peer]
    IN  /\ node[n].role # "DOWN"
        /\ dispatcher.type = "TRUNCATE"
        /\ dispatcher.truncateIndex # -1
        /\ DeposedTruncate \/ Serves(node[n], dispatcher)
        /\ HasEntry(node[n].log, dispatcher.truncateIndex)
        /\ dispatcher.awaiting = "NOTHING"
        /\ MaySend(n, peer)
        /\ Act(n, Truncate(n, node[n], peer))

Truncated(before, m) ==
    LET answered == [before EXCEPT !.dispatchers[m.src].awaiting = "NOTHING"]
    IN  IF m.code = "SUCCESS" THEN ToAppend(answered, m.src, m.index)
        ELSE [answered EXCEPT !.dispatchers[m.src] = ToCompare(@)]

\* ACTION HandleTruncateResponse: success opens APPEND, anything else begins again.
\* Source: EntryDispatcher.doTruncate, from the answer on; doWork's handler of exceptions.
HandleTruncateResponse(n) ==
    \E m \in Inbox(n) :
    /\ node[n].role # "DOWN"
    /\ IsResponse(m, "TRUNCATE")
    /\ Awaits(node[n], m.src, "TRUNCATE")
    /\ TakeAnswer(n, m, Quietly(Truncated(node[n], m)))

\* ACTION PushTimeOut: a COMPARE or TRUNCATE gets no answer, and its dispatcher begins again.
\* Source: EntryDispatcher.doWork's handler of exceptions; a late answer is ignored.
PushTimeOut(n) ==
    \E peer \in Peers(n) :
    LET awaiting == node[n].dispatchers[peer].awaiting
        after    == [node[n] EXCEPT !.dispatchers[peer] = [ToCompare(@) EXCEPT !.awaiting = "NOTHING"]]
    IN  /\ TimeOuts /\ MayTimeOut(n, peer)
        /\ node[n].role # "DOWN"
        /\ awaiting # "NOTHING"
        /\ GiveUp(n, peer, awaiting, Quietly(after))

=============================================================================
