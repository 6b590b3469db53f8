"""hashicorp/raft v1.7.3, sans-IO, at the grain of spec/hashicorp/HashicorpRaft.tla.

A `Server` is what one server stores and knows. Each action of the spec is a function by the same name
(`HandleRequestVoteResponse` is `votes.handle_request_vote_response`) in the module of the spec's chapter. It changes
that server only and returns its effects on the world outside.
"""
