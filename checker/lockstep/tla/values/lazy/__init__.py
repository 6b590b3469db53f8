"""Sets and functions that answer without being listed, as TLC has them: ``Nat``, ``Seq(S)``, ``SUBSET S``."""
