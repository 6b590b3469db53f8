package recorder

import (
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/hashicorp/raft"
)

// Raft is a server of the library that is recorded, with what its clients ask of it.
type Raft struct {
	*raft.Raft
	r *recorder
}

// NewRaft starts a server as raft.NewRaft does, and adds what it does to the file at `path`, which has all lives of this
// server and of no other. The last line of a life is written as the future of Shutdown is waited for.
func NewRaft(path string, config *raft.Config, machine raft.FSM, logs raft.LogStore, stable raft.StableStore,
	snapshots raft.SnapshotStore, network raft.Transport) (*Raft, error) {
	r, err := open(path, string(config.LocalID))
	if err != nil {
		return nil, err
	}
	r.logs, r.stable, r.snapshots = logs, stable, snapshots
	r.learn(raft.ServerAddress(network.EncodePeer(config.LocalID, network.LocalAddr())), config.LocalID)
	r.restores = restoresCommittedLogs(config)
	recorded := *config
	recorded.Logger = &logger{loggerOf(config), r}
	r.starting(config, network)
	library, err := raft.NewRaft(&recorded, r.stateMachine(machine), r.logStore(logs), &stableStore{stable, r},
		&snapshotStore{snapshots, r}, r.transport(network))
	if err != nil {
		r.end()
		return nil, err
	}
	r.started(library)
	return &Raft{library, r}, nil
}

// starting writes the library's configuration and the content of the stores. The first line has its moment by the wall
// clock, too: the hosts of a group have no other clock in common.
func (r *recorder) starting(config *raft.Config, network raft.Transport) {
	found := r.persisted()
	r.line("header", fields{"library_version": LibraryVersion(), "go": runtime.Version(), "prevote": asksForPreVotes(config, network),
		"pipeline": hasPipeline(network), "fast_path": true, "restore_committed_logs": r.restores, "wall_ms": time.Now().UnixMilli(), "config": fields{
			"heartbeat_timeout_ms": config.HeartbeatTimeout.Milliseconds(), "election_timeout_ms": config.ElectionTimeout.Milliseconds(),
			"leader_lease_ms": config.LeaderLeaseTimeout.Milliseconds(), "commit_timeout_ms": config.CommitTimeout.Milliseconds(),
			"max_append_entries": config.MaxAppendEntries, "snapshot_interval_ms": config.SnapshotInterval.Milliseconds(),
			"snapshot_threshold": config.SnapshotThreshold, "trailing_logs": config.TrailingLogs}})
	r.line("start", fields{"persisted": found, "heartbeat_timeout_ms": config.HeartbeatTimeout.Milliseconds()})
	r.mutex.Lock()
	r.hasStarted = true
	r.mutex.Unlock()
}

// started takes what raft.NewRaft returned.
func (r *recorder) started(library *raft.Raft) {
	r.mutex.Lock()
	r.raft = library
	r.write("started", fields{})
	r.mutex.Unlock()
	// A filter runs in the routine that makes the change, a channel would bring it later; nothing goes to the channel.
	library.RegisterObserver(raft.NewObserver(nil, false, func(o *raft.Observation) bool {
		switch data := o.Data.(type) {
		case raft.RaftState:
			r.written("state", fields{"state": data.String()})
		case raft.LeaderObservation:
			r.written("leader_obs", fields{"leader": string(data.LeaderID)})
		}
		return false
	}))
}

// end writes what is in the stores of a server that has shut down: whoever waits for that closes the transport then,
// and the stores later.
func (r *recorder) end() {
	found := r.persisted()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.isOver {
		return
	}
	r.write("stopped", fields{"persisted": found})
	r.raft, r.isHandling, r.isOver = nil, false, true
	r.answered.Broadcast()
	close(r.stopped)
	r.file.Close()
}

func (r *recorder) persisted() fields {
	term, _ := r.stable.GetUint64([]byte("CurrentTerm"))
	voteTerm, _ := r.stable.GetUint64([]byte("LastVoteTerm"))
	candidate, _ := r.stable.Get([]byte("LastVoteCand"))
	first, _ := r.logs.FirstIndex()
	last, _ := r.logs.LastIndex()
	stored := []fields{}
	for index := first; index > 0 && index <= last; index++ {
		var log raft.Log
		if r.logs.GetLog(index, &log) == nil {
			stored = append(stored, r.entry(&log))
		}
	}
	found := fields{"CurrentTerm": term, "LastVoteTerm": voteTerm, "first": first, "last": last, "log": stored}
	if store, keeps := r.logs.(commitTracking); keeps && r.restores {
		found["commit"], _ = store.GetCommitIndex()
	}
	if all, err := r.snapshots.List(); err == nil && len(all) > 0 {
		r.learnMembers(all[0].Configuration)
		found["snapshot"] = fields{"last_index": all[0].Index, "last_term": all[0].Term}
	}
	found["LastVoteCand"] = r.nameOf(candidate) // known from the configurations above
	return found
}

// restoresCommittedLogs returns RestoreCommittedLogs, which the library has since v1.8.0.
func restoresCommittedLogs(config *raft.Config) bool {
	field := reflect.ValueOf(config).Elem().FieldByName("RestoreCommittedLogs")
	return field.IsValid() && field.Bool()
}

// asksForPreVotes returns whether the library does: the transport must have them.
func asksForPreVotes(config *raft.Config, network raft.Transport) bool {
	_, has := network.(raft.WithPreVote)
	return has && !config.PreVoteDisabled
}

// hasPipeline returns whether a transport may have a pipeline. That of the library has one unless MaxRPCsInFlight is 1,
// which it shows nobody.
func hasPipeline(network raft.Transport) bool {
	librarys, isLibrarys := network.(*raft.NetworkTransport)
	if !isLibrarys {
		return true
	}
	field := reflect.ValueOf(librarys).Elem().FieldByName("maxInFlight")
	return !field.IsValid() || field.Int() > 1
}

var inModuleCache = regexp.MustCompile(`hashicorp/raft@([^/]+)/`)

// LibraryVersion returns the version of hashicorp/raft that this program was built with. The program of a test does not
// list its modules, but knows where the sources were.
func LibraryVersion() string {
	file, _ := runtime.FuncForPC(reflect.ValueOf(raft.NewRaft).Pointer()).FileLine(0)
	if found := inModuleCache.FindStringSubmatch(file); found != nil {
		return found[1]
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, each := range info.Deps {
			if each.Path == "github.com/hashicorp/raft" {
				return each.Version
			}
		}
	}
	return "unknown"
}

// ---- What clients ask ----

// VerifyLeader is recorded with its answer.
func (r *Raft) VerifyLeader() raft.Future { return r.r.asks("verify", fields{}, r.Raft.VerifyLeader) }

// LeadershipTransfer is recorded with its answer.
func (r *Raft) LeadershipTransfer() raft.Future {
	return r.r.asks("transfer", fields{"to": ""}, r.Raft.LeadershipTransfer)
}

// LeadershipTransferToServer is recorded with its answer.
func (r *Raft) LeadershipTransferToServer(id raft.ServerID, address raft.ServerAddress) raft.Future {
	ask := func() raft.Future { return r.Raft.LeadershipTransferToServer(id, address) }
	return r.r.asks("transfer", fields{"to": string(id)}, ask)
}

// asks writes a line, then lets a client ask. The answer is awaited at once, for a client may look for it much later.
func (r *recorder) asks(kind string, line fields, ask func() raft.Future) raft.Future {
	r.mutex.Lock()
	r.questions++
	line["k"] = r.questions
	r.write(kind+"_req", line)
	r.mutex.Unlock()
	q := &question{given: make(chan struct{})}
	go q.await(r, kind, line, ask())
	return q
}

// question is a future whose answer has a line before its client has it.
type question struct {
	given chan struct{}
	err   error
}

// Error waits for the answer.
func (q *question) Error() error {
	<-q.given
	return q.err
}

func (q *question) await(r *recorder, kind string, asked fields, future raft.Future) {
	q.err = future.Error()
	line := fields{"ok": q.err == nil}
	for _, name := range []string{"to", "k"} {
		if value, has := asked[name]; has {
			line[name] = value
		}
	}
	if q.err != nil {
		line["err"] = q.err.Error()
	}
	r.line(kind+"_resp", line)
	close(q.given)
}
