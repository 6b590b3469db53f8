package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sort"
	"strconv"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/hashicorp/recorder"
)

const (
	maxLineBytes = 1 << 20
	// How long an entry waits for the main loop, and a change for the one before it.
	enqueueTimeout = 5 * time.Second
)

// A request and an answer of lockstep's protocol of clients: lines of JSON.
type clientRequest struct {
	Op      string `json:"op"`
	Value   string `json:"value"`
	Index   uint64 `json:"index"`
	To      string `json:"to"`
	Command string `json:"command"`
	Server  string `json:"server"`
}

type answer map[string]any

// The names that the library's errors have in its source.
var errorNames = map[error]string{
	raft.ErrNotLeader:                    "ErrNotLeader",
	raft.ErrLeadershipLost:               "ErrLeadershipLost",
	raft.ErrLeadershipTransferInProgress: "ErrLeadershipTransferInProgress",
	raft.ErrEnqueueTimeout:               "ErrEnqueueTimeout",
	raft.ErrNothingNewToSnapshot:         "ErrNothingNewToSnapshot",
	raft.ErrRaftShutdown:                 "ErrRaftShutdown",
}

func nameOf(err error) any {
	if err == nil {
		return nil
	}
	for known, name := range errorNames {
		if errors.Is(err, known) {
			return name
		}
	}
	return err.Error()
}

func (s *server) serveClient(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewScanner(connection)
	lines.Buffer(nil, maxLineBytes)
	encoder := json.NewEncoder(connection)
	for lines.Scan() {
		var request clientRequest
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			encoder.Encode(answer{"error": "a line is no request: " + err.Error(), "leader": nil})
			return
		}
		reply := s.answer(request)
		if encoder.Encode(reply) != nil {
			return
		}
	}
}

func (s *server) leader() any {
	if _, id := s.raft.LeaderWithID(); id != "" {
		return string(id)
	}
	return nil
}

func (s *server) answer(q clientRequest) answer {
	<-s.ready // a client may connect while the library still comes up
	fields, err := s.carryOut(q)
	if fields == nil {
		fields = answer{}
	}
	fields["error"], fields["leader"] = nameOf(err), s.leader()
	return fields
}

func (s *server) carryOut(q clientRequest) (answer, error) {
	switch q.Op {
	case "apply":
		return s.apply(q.Value)
	case "barrier":
		return nil, s.raft.Barrier(enqueueTimeout).Error()
	case "verify":
		return nil, s.asked.VerifyLeader().Error()
	case "read":
		log, found := s.machine.at(q.Index)
		if !found {
			return nil, fmt.Errorf("no command at index %d has been applied", q.Index)
		}
		return answer{"index": q.Index, "term": log.Entry.Term, "value": log.Entry.Value}, nil
	case "status":
		return s.status(), nil
	case "transfer":
		return nil, s.transfer(q.To)
	case "change":
		future, err := s.change(q.Command, q.Server)
		if err != nil {
			return nil, err
		}
		return answer{"index": future.Index()}, future.Error()
	case "snapshot":
		return s.snapshot()
	case "arm":
		return nil, s.stops.arm(q.Value, q.Command)
	case "await":
		return nil, s.stops.await(q.Value)
	case "release":
		return nil, s.stops.release(q.Value)
	}
	return nil, fmt.Errorf("no request is %q", q.Op)
}

func (s *server) apply(value string) (answer, error) {
	future := s.raft.Apply([]byte(value), enqueueTimeout)
	err := future.Error()
	fields := answer{"index": future.Index()}
	if err == nil {
		fields["response"] = future.Response()
		if log, found := s.machine.at(future.Index()); found {
			fields["term"] = log.Entry.Term
		}
	}
	return fields, err
}

func (s *server) transfer(to string) error {
	if to == "" {
		return s.asked.LeadershipTransfer().Error()
	}
	return s.asked.LeadershipTransferToServer(raft.ServerID(to), s.addresses[to]).Error()
}

func (s *server) change(command, name string) (raft.IndexFuture, error) {
	id, address := raft.ServerID(name), s.addresses[name]
	switch command {
	case "AddVoter":
		return s.raft.AddVoter(id, address, 0, enqueueTimeout), nil
	case "AddNonvoter":
		return s.raft.AddNonvoter(id, address, 0, enqueueTimeout), nil
	case "DemoteVoter":
		return s.raft.DemoteVoter(id, 0, enqueueTimeout), nil
	case "RemoveServer":
		return s.raft.RemoveServer(id, 0, enqueueTimeout), nil
	}
	return nil, fmt.Errorf("no change is %q", command)
}

func (s *server) snapshot() (answer, error) {
	future := s.raft.Snapshot()
	if err := future.Error(); err != nil {
		return nil, err
	}
	meta, reader, err := future.Open()
	if err != nil {
		return nil, err
	}
	reader.Close()
	return answer{"index": meta.Index, "term": meta.Term}, nil
}

func (s *server) status() answer {
	stats := s.raft.Stats()
	number := func(name string) uint64 {
		value, _ := strconv.ParseUint(stats[name], 10, 64)
		return value
	}
	voters, nonvoters := []string{}, []string{}
	for _, each := range s.raft.GetConfiguration().Configuration().Servers {
		if each.Suffrage == raft.Voter {
			voters = append(voters, string(each.ID))
		} else {
			nonvoters = append(nonvoters, string(each.ID))
		}
	}
	sort.Strings(voters)
	sort.Strings(nonvoters)
	place := func(index, term string) answer { return answer{"index": number(index), "term": number(term)} }
	return answer{
		"state": stats["state"], "term": number("term"),
		"lastLog": place("last_log_index", "last_log_term"), "lastSnapshot": place("last_snapshot_index", "last_snapshot_term"),
		"commitIndex": number("commit_index"), "appliedIndex": number("applied_index"),
		"voters": voters, "nonvoters": nonvoters, "library": recorder.LibraryVersion(),
	}
}
