---------------------------- MODULE MCWitnesses -----------------------------
(***************************************************************************)
(* Witnesses of what the models of MCDLedger reach.  Each name below says  *)
(* that something never happens, and TLC must violate it: without that, a  *)
(* model could be green because nothing happens in it.                     *)
(***************************************************************************)
EXTENDS MCDLedger

NoLeader             == \A n \in Node : node[n].role # "LEADER"
FollowerNeverCommits == \A n \in Node : node[n].role = "FOLLOWER" => node[n].committedIndex = -1
NeverAppends         == \A n \in Node : \A p \in Peers(n) : node[n].dispatchers[p].writeIndex < 1
NeverTellsCommit     == \A n \in Node : \A m \in Inbox(n) : m.type # "COMMIT"
NoLeaderOfTwoTerms   == \A n \in Node : node[n].role = "LEADER" => node[n].currTerm < 2
NoStaleRepeat        == \A n \in Node : \A m \in Inbox(n) :
                           IsRequest(m, "APPEND") /\ node[n].role = "FOLLOWER"
                              => m.index > EndIndex(node[n].log)
NothingTruncatedProp ==
    [][\A n \in Node : node[n].role # "DOWN" => Len(node'[n].log) >= Len(node[n].log)]_vars

\* A node comes back and knows from its checkpoint what is committed.
NoCheckPointReadProp ==
    [][\A n \in Node : node[n].role = "DOWN" /\ node'[n].role # "DOWN" => node'[n].committedIndex = -1]_vars

\* A dispatcher gives up waiting, and its request or answer is nowhere any more.
NoTimeOutProp ==
    [][\A n \in Node : \A p \in Peers(n) :
         node[n].dispatchers[p].awaiting = "COMPARE" /\ node'[n].dispatchers[p].awaiting = "NOTHING"
            => network'[p][n] # network[p][n]]_vars

\* A COMMIT of another term than the follower's own raises its committed index.
NoStaleCommitProp ==
    [][\A n \in Node : \A m \in Inbox(n) : Commits(n, m) => m.term = node[n].currTerm]_vars

\* An old leader commits though another one leads a later term.
NoCommitBesideNewLeaderProp ==
    [][committed' = committed \/ \A n \in Node : node[n].role = "LEADER" => node[n].currTerm < 2]_vars

\* A node that comes back still has a committed entry.
NothingKeptProp ==
    [][\A n \in Node : node[n].role = "DOWN" /\ node'[n].role # "DOWN"
         => \A c \in committed : Len(node'[n].log) <= c.index]_vars

\* The two rules of MCDLedger for whom a pass answers are not one rule.
OldRuleAnswersAlike ==
    \A n \in Node : \A pass \in Passes(n) :
        ToAnswer(pass.state, pass.state.currTerm, pass.to)
           = ToAnswerIn01(pass.state, pass.state.currTerm, pass.to)

-----------------------------------------------------------------------------
(* The answers of a follower.                                              *)

Answers(type, code) == \E p \in Node : \E q \in Peers(p) : \E m \in MessagesIn(network[p][q]) :
                          IsResponse(m, type) /\ m.code = code
NoInconsistentTerm     == ~Answers("COMPARE", "INCONSISTENT_TERM")
NoInconsistentCompare  == ~Answers("COMPARE", "INCONSISTENT_STATE")
NoInconsistentTruncate == ~Answers("TRUNCATE", "INCONSISTENT_STATE")
NoInconsistentAppend   == ~Answers("APPEND", "INCONSISTENT_STATE")
NoRepeatedPush         == ~Answers("APPEND", "REPEATED_PUSH")
NoRefusedCompare       == ~Answers("COMPARE", "NOT_FOLLOWER")
NoRefusedTruncate      == ~Answers("TRUNCATE", "NOT_FOLLOWER")

-----------------------------------------------------------------------------
(* Clients, batches, the state machine.                                    *)

NoClientTimesOut == \A n \in Node : \A f \in node[n].futures : ~f.done
NoPendingFull    == \A n \in Node : ~IsPendingFull(node[n])
NoClientTold     == acknowledged = {}
NothingApplied   == \A n \in Node : node[n].lastAppliedIndex = -1

\* A leader of a new term finds that clients wait for entries of an old one.
NoTermChangedProp ==
    [][\A n \in Node : \A f \in node[n].futures :
         f.entry.term = node[n].currTerm \/ node'[n].role # "LEADER" \/ f \in node'[n].futures]_vars

\* The entries of one APPEND are stored, and one answer says so of all of them.
NoBatchStored    == ~\E p \in Node : \E q \in Peers(p) : \E m \in MessagesIn(network[p][q]) :
                        IsResponse(m, "APPEND") /\ m.code = "SUCCESS" /\ m.count > 1

\* What has no answer is pushed again though more may be pushed.
NoEarlyResendProp ==
    [][\A n \in Node : \A p \in Peers(n) :
         node' = node /\ node[n].dispatchers[p].writeIndex <= EndIndex(node[n].log)
            => \A m \in MessagesIn(network'[n][p]) \ MessagesIn(network[n][p]) :
                   IsRequest(m, "APPEND") => m.index <= node[n].peerWaterMarks[p]]_vars

\* A node that follows no more refuses an APPEND.
NoFailedAppendProp ==
    [][\A n \in Node : \A p \in Peers(n) :
         node[n].role \notin {"FOLLOWER", "DOWN"}
            => \A m \in MessagesIn(network'[n][p]) \ MessagesIn(network[n][p]) :
                   ~(IsResponse(m, "APPEND") /\ m.code = "INCONSISTENT_STATE")]_vars

\* A dispatcher pushes again what its follower has answered.
NoAnsweredResendProp ==
    [][\A n \in Node : \A p \in Peers(n) :
         node' = node
            => \A m \in MessagesIn(network'[n][p]) \ MessagesIn(network[n][p]) :
                   IsRequest(m, "APPEND") => m.index > node[n].peerWaterMarks[p]]_vars

\* A batch begins before the end of the follower's log and ends behind it.
NoBatchAcrossEnd == \A n \in Node : \A m \in Inbox(n) :
                       IsRequest(m, "APPEND") /\ node[n].role = "FOLLOWER"
                          => m.index > EndIndex(node[n].log) \/ LastPushedIndex(m) <= EndIndex(node[n].log)

\* A client is answered, and none waited for the entry before: it is one of the same batch.
NoBatchAnswered  == \A a \in acknowledged : a.index > 0 => \E b \in acknowledged : b.index = a.index - 1

-----------------------------------------------------------------------------
(* The states of a dispatcher.                                             *)

NoChange(from, to) == \A n \in Node : \A p \in Peers(n) :
                         ~(node[n].dispatchers[p].type = from /\ node'[n].dispatchers[p].type = to)
NoCompareToTruncateProp == [][NoChange("COMPARE", "TRUNCATE")]_vars
NoCompareToAppendProp   == [][NoChange("COMPARE", "APPEND")]_vars
NoTruncateToAppendProp  == [][NoChange("TRUNCATE", "APPEND")]_vars
NoTruncateToCompareProp == [][NoChange("TRUNCATE", "COMPARE")]_vars

\* For a node that runs on; a crash begins anew, too.
NoAppendToCompareProp   ==
    [][\A n \in Node : \A p \in Peers(n) :
         ~(/\ KeepsRunning(n)
           /\ node[n].dispatchers[p].type = "APPEND" /\ node'[n].dispatchers[p].type = "COMPARE")]_vars

=============================================================================
