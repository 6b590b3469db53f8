"""A reference implementation of replicated logs, written by hand at the grain of its TLA+ specification.

`raftref.dledger` is the protocol core: no time, no randomness, no input or output. `raftref.dledger.simulation`
drives clusters of it from a seed. `raftref.dledger.storage` keeps its log on files. Nothing here imports the checker.
"""
