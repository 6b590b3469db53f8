-------------------------- MODULE MCReplicatedLog ---------------------------
(***************************************************************************)
(* hashicorp/raft implements a replicated log.  The reader learns what is  *)
(* left of a state when all is hidden but the entries that leaders         *)
(* committed.                                                              *)
(***************************************************************************)
EXTENDS MCHashicorpRaft

Chosen == INSTANCE ReplicatedLog WITH
    First  <- 1,
    chosen <- {[index |-> c.index, entry |-> c.entry] : c \in committed}

\* PROP RefinesReplicatedLog: every step chooses the next entries, or changes nothing that is chosen.
RefinesReplicatedLog == Chosen!Spec

=============================================================================
