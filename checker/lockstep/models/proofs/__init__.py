"""What z3 proves for all values, where a model checker sees only bounded ones."""

from lockstep.models.proofs.proof import DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, Proof, ProofVerdict
from lockstep.models.proofs.run import OF_QUORUMS, Lemmas, run_proofs

__all__ = ["DEFAULT_TIMEOUT_MS", "MAX_TIMEOUT_MS", "OF_QUORUMS", "Lemmas", "Proof", "ProofVerdict", "run_proofs"]
