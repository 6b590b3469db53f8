package recorder

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// The rest before a request is offered to the main loop again.
const offerRest = 20 * time.Microsecond

type transport struct {
	raft.Transport
	r        *recorder
	requests chan raft.RPC
	// heartbeats is how many were handled beside the main loop.
	heartbeats atomic.Uint64
}

// transport records the calls of a server and those to it. The library asks for pre-votes if the transport has them.
func (r *recorder) transport(inner raft.Transport) raft.Transport {
	t := &transport{Transport: inner, r: r, requests: make(chan raft.RPC)}
	go t.forward()
	if asking, asks := inner.(raft.WithPreVote); asks {
		return &preVoteTransport{t, asking}
	}
	return t
}

type preVoteTransport struct {
	*transport
	asking raft.WithPreVote
}

// Consumer returns the channel of requests.
func (t *transport) Consumer() <-chan raft.RPC { return t.requests }

// Close is called once the library has shut down.
func (t *transport) Close() error {
	t.r.end()
	if closing, closes := t.Transport.(raft.WithClose); closes {
		return closing.Close()
	}
	return nil
}

// SetHeartbeatHandler records the heartbeats that the library handles beside its main loop.
func (t *transport) SetHeartbeatHandler(handle func(raft.RPC)) {
	if handle == nil {
		t.Transport.SetHeartbeatHandler(nil)
		return
	}
	t.Transport.SetHeartbeatHandler(func(rpc raft.RPC) { t.handleBeside(rpc, handle) })
}

// handleBeside lets a heartbeat be handled in the routine of its connection. The lines of the handler stand between
// those of the request and its answer; others may stand there, too: of the main loop, and of other heartbeats. So both
// lines have the heartbeat's own number; a request that the main loop handles has 0.
func (t *transport) handleBeside(rpc raft.RPC, handle func(raft.RPC)) {
	caller := rpc.RespChan
	message, from, body := t.r.request(rpc.Command)
	answers := make(chan raft.RPCResponse, 1)
	rpc.RespChan = answers
	number := t.heartbeats.Add(1)
	t.r.line("recv", fields{"copy": 0, "rpc": number, "msg": message, "from": from, "body": body, "beside": true})
	handle(rpc)
	var answered raft.RPCResponse
	select {
	case answered = <-answers:
	case <-t.r.stopped: // one that shuts down does not answer
		return
	}
	line := fields{"copy": 0, "rpc": number, "msg": message, "to": from, "body": answer(answered.Response), "beside": true}
	if answered.Error != nil {
		line["err"] = answered.Error.Error()
	}
	t.r.line("respond", line)
	caller <- answered
}

// ---- Requests to this server ----

// forward gives the main loop one request after the other, each with a channel of its own for the answer.
func (t *transport) forward() {
	for {
		select {
		case rpc := <-t.Transport.Consumer():
			if !t.handle(rpc) {
				return
			}
		case <-t.r.stopped:
			return
		}
	}
}

func (t *transport) handle(rpc raft.RPC) bool {
	r, caller := t.r, rpc.RespChan
	message, from, body := r.request(rpc.Command)
	answers := make(chan raft.RPCResponse)
	rpc.RespChan = answers
	for !t.offer(rpc, fields{"copy": 0, "rpc": 0, "msg": message, "from": from, "body": body}) {
		select {
		case <-r.stopped:
			return false
		case <-time.After(offerRest):
		}
	}
	select {
	case answered := <-answers:
		line := fields{"copy": 0, "rpc": 0, "msg": message, "to": from, "body": answer(answered.Response)}
		if answered.Error != nil {
			line["err"] = answered.Error.Error()
		}
		r.mutex.Lock()
		r.write("respond", line)
		r.isHandling = false
		r.answered.Broadcast()
		r.mutex.Unlock()
		caller <- answered
		return true
	case <-r.stopped:
		return false
	}
}

// offer passes a request on if the main loop waits for one, and writes its line before the main loop can write another.
func (t *transport) offer(rpc raft.RPC, line fields) bool {
	t.r.mutex.Lock()
	defer t.r.mutex.Unlock()
	select {
	case t.requests <- rpc:
		t.r.isHandling = true
		t.r.write("recv", line)
		return true
	default:
		return false
	}
}

// ---- Calls of this server ----

func (t *transport) call(to raft.ServerID, command any, do func() error, response any) error {
	number := t.r.sends(to, command, false)
	err := do()
	t.r.ended(number, to, command, response, err)
	return err
}

// sends writes the line of a request, and returns its number.
func (r *recorder) sends(to raft.ServerID, command any, isPipelined bool) int {
	message, _, body := r.request(command)
	line := fields{"msg": message, "to": string(to), "body": body}
	if isPipelined {
		line["pipelined"] = true
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.calls++
	line["rpc"] = r.calls
	r.write("send", line)
	return r.calls
}

// ended writes the line of the answer to a request, or of its failure.
func (r *recorder) ended(number int, to raft.ServerID, command, response any, err error) {
	message, _, _ := r.request(command)
	if err != nil {
		r.line("rpc_error", fields{"rpc": number, "msg": message, "peer": string(to), "err": err.Error()})
	} else {
		r.line("reply_recv", fields{"rpc": number, "msg": message, "from": string(to), "body": answer(response)})
	}
}

func (t *transport) AppendEntries(id raft.ServerID, at raft.ServerAddress, q *raft.AppendEntriesRequest, p *raft.AppendEntriesResponse) error {
	return t.call(id, q, func() error { return t.Transport.AppendEntries(id, at, q, p) }, p)
}

func (t *transport) RequestVote(id raft.ServerID, at raft.ServerAddress, q *raft.RequestVoteRequest, p *raft.RequestVoteResponse) error {
	return t.call(id, q, func() error { return t.Transport.RequestVote(id, at, q, p) }, p)
}

func (t *preVoteTransport) RequestPreVote(id raft.ServerID, at raft.ServerAddress, q *raft.RequestPreVoteRequest, p *raft.RequestPreVoteResponse) error {
	return t.call(id, q, func() error { return t.asking.RequestPreVote(id, at, q, p) }, p)
}

func (t *transport) InstallSnapshot(id raft.ServerID, at raft.ServerAddress, q *raft.InstallSnapshotRequest, p *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.call(id, q, func() error { return t.Transport.InstallSnapshot(id, at, q, p, data) }, p)
}

func (t *transport) TimeoutNow(id raft.ServerID, at raft.ServerAddress, q *raft.TimeoutNowRequest, p *raft.TimeoutNowResponse) error {
	return t.call(id, q, func() error { return t.Transport.TimeoutNow(id, at, q, p) }, p)
}

// ---- Messages ----

func (r *recorder) request(command any) (message, from string, body fields) {
	if call, hasHeader := command.(raft.WithRPCHeader); hasHeader {
		header := call.GetRPCHeader()
		r.learn(raft.ServerAddress(header.Addr), raft.ServerID(header.ID))
	}
	switch q := command.(type) {
	case *raft.AppendEntriesRequest:
		from = string(q.ID)
		return "AppendEntries", from, fields{"term": q.Term, "leader": from, "prev_index": q.PrevLogEntry,
			"prev_term": q.PrevLogTerm, "commit": q.LeaderCommitIndex, "entries": r.entries(q.Entries)}
	case *raft.RequestVoteRequest:
		from = string(q.ID)
		return "RequestVote", from, fields{"term": q.Term, "cand": from, "last_index": q.LastLogIndex,
			"last_term": q.LastLogTerm, "transfer": q.LeadershipTransfer}
	case *raft.RequestPreVoteRequest:
		from = string(q.ID)
		return "RequestPreVote", from, fields{"term": q.Term, "cand": from, "last_index": q.LastLogIndex, "last_term": q.LastLogTerm}
	case *raft.InstallSnapshotRequest:
		from = string(q.ID)
		return "InstallSnapshot", from, fields{"term": q.Term, "leader": from, "last_index": q.LastLogIndex,
			"last_term": q.LastLogTerm, "size": q.Size, "config": members(raft.DecodeConfiguration(q.Configuration)),
			"config_index": q.ConfigurationIndex}
	case *raft.TimeoutNowRequest:
		return "TimeoutNow", string(q.ID), fields{"leader": string(q.ID)}
	}
	panic("a request of no known type")
}

func answer(response any) fields {
	switch p := response.(type) {
	case *raft.AppendEntriesResponse:
		return fields{"term": p.Term, "success": p.Success, "last_log": p.LastLog, "no_retry_backoff": p.NoRetryBackoff}
	case *raft.RequestVoteResponse:
		return fields{"term": p.Term, "granted": p.Granted}
	case *raft.RequestPreVoteResponse:
		return fields{"term": p.Term, "granted": p.Granted}
	case *raft.InstallSnapshotResponse:
		return fields{"term": p.Term, "success": p.Success}
	}
	return fields{}
}
