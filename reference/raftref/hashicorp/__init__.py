"""hashicorp/raft v1.7.3, sans-IO, at the grain of spec/hashicorp/HashicorpRaft.tla.

`Raft` is one server. Each action of the spec is a method of it by the same name (`HandleRequestVoteResponse` is
`handle_request_vote_response`), which changes that server only and returns what it asks of the world outside. The names
of its parts are those of the library.
"""
