"""Reference implementations of replicated logs, written by hand at the grain of their TLA+ specifications.

`raftref.dledger` and `raftref.hashicorp` are protocol cores: no time, no randomness, no input or output.
`raftref.dledger.simulation` and `raftref.hashicorp.simulation` drive clusters of them from a seed.
`raftref.dledger.storage` keeps a log on files. Nothing here imports the checker.
"""
