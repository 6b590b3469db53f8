// Package recorder records what a server of hashicorp/raft does, through the library's public interface alone: its
// stores, its state machine, its transport, its observers and its log. Nothing of the library is changed.
//
// Each process writes a file of lines of JSON, each with the moment `at` by the clock that all processes of a machine
// share. `lockstep merge` makes one recording of the files of a group.
package recorder

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

type fields = map[string]any

// Recorder writes the lines of one server, in one process.
type Recorder struct {
	id    string
	names map[raft.ServerAddress]string
	// mutex guards all that follows, and orders the lines.
	mutex sync.Mutex
	file  *os.File
	raft  *raft.Raft
	// isHandling is whether the main loop has taken a request whose answer is not written yet; answered is signalled
	// when that is.
	isHandling bool
	answered   *sync.Cond
	// hasStarted is whether this life has its first line: the transport may log before that, as peers connect.
	hasStarted bool
	isStopping bool
	stopped    chan struct{}
	calls      int
	logs       raft.LogStore
	stable     raft.StableStore
	snapshots  raft.SnapshotStore
	fsm        fsmState
	// opened is the snapshot that was opened last: the one that the state machine is restored from.
	opened place
}

// Open begins or continues the file of a server. names has the id of each server by its address.
func Open(path, id string, names map[raft.ServerAddress]string) (*Recorder, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	if err := endLine(file); err != nil {
		return nil, err
	}
	r := &Recorder{id: id, names: names, file: file, stopped: make(chan struct{})}
	r.answered = sync.NewCond(&r.mutex)
	return r, nil
}

// endLine ends the last line of a file, which a process that died may not have finished.
func endLine(file *os.File) error {
	about, err := file.Stat()
	if err != nil || about.Size() == 0 {
		return err
	}
	var last [1]byte
	if _, err = file.ReadAt(last[:], about.Size()-1); err == nil && last[0] != '\n' {
		_, err = file.Write([]byte{'\n'})
	}
	return err
}

// now returns the moment by the monotonic clock of the machine, in seconds.
func now() float64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		panic(err)
	}
	return float64(at.Sec) + float64(at.Nsec)/1e9
}

// write writes a line; the mutex is held.
func (r *Recorder) write(kind string, line fields) {
	line["kind"], line["at"], line["node"] = kind, now(), r.id
	if r.raft != nil {
		line["obs"] = fields{"role": r.raft.State().String(), "term": r.raft.CurrentTerm(), "commit": r.raft.CommitIndex(),
			"last": r.raft.LastIndex(), "applied": r.raft.AppliedIndex()}
	}
	data, err := json.Marshal(line)
	if err == nil {
		_, err = r.file.Write(append(data, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("the recording cannot be written: %v", err))
	}
}

// Line writes a line of any routine but the main loop's.
func (r *Recorder) Line(kind string, line map[string]any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if !r.isStopping {
		r.write(kind, line)
	}
}

// written writes a line that names the functions under way. One of the main loop that belongs to no request waits until
// the answer to the last request is written.
func (r *Recorder) written(kind string, line fields) {
	by := callers()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.awaitAnswer(by)
	line["by"] = by.names
	r.write(kind, line)
}

func (r *Recorder) awaitAnswer(by functions) {
	for by.inMainLoop && !by.inRequest && r.isHandling {
		r.answered.Wait()
	}
}

// functions are those of the library that are under way: the two innermost ones, joined by `<`.
type functions struct {
	names                 string
	inMainLoop, inRequest bool
}

// helpers are functions of the library that say nothing about why something is done.
var helpers = map[string]bool{"setCurrentTerm": true, "persistVote": true, "setState": true, "setLeader": true,
	"observe": true, "goFunc": true, "deleteRange": true}

var mainLoop = map[string]bool{"run": true, "runFollower": true, "runCandidate": true, "runLeader": true, "leaderLoop": true}

func callers() functions {
	var pcs [48]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var found functions
	var names []string
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		rest, isLibrary := strings.CutPrefix(frame.Function, "github.com/hashicorp/raft.")
		if !isLibrary {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(rest, "(*Raft)."), ".func")
		found.inMainLoop = found.inMainLoop || mainLoop[name]
		found.inRequest = found.inRequest || name == "processRPC"
		isRepeated := len(names) > 0 && names[len(names)-1] == name
		if len(names) < 2 && !helpers[name] && !strings.HasPrefix(name, "(*") && !isRepeated {
			names = append(names, name)
		}
	}
	if found.names = strings.Join(names, "<"); found.names == "" {
		found.names = "?"
	}
	return found
}

// ---- The life of a server ----

// Starting writes the library's configuration and the content of the stores. It is called before raft.NewRaft. The first
// line has its moment by the wall clock, too: the hosts of a group have no other clock in common.
// hasPipeline is whether the transport has a pipeline: NetworkTransport has one unless MaxRPCsInFlight is 1.
func (r *Recorder) Starting(config *raft.Config, version string, hasPipeline bool) {
	r.Line("header", fields{"library_version": version, "go": runtime.Version(), "prevote": !config.PreVoteDisabled,
		"pipeline": hasPipeline, "fast_path": true, "wall_ms": time.Now().UnixMilli(), "config": fields{
			"heartbeat_timeout_ms": config.HeartbeatTimeout.Milliseconds(), "election_timeout_ms": config.ElectionTimeout.Milliseconds(),
			"leader_lease_ms": config.LeaderLeaseTimeout.Milliseconds(), "commit_timeout_ms": config.CommitTimeout.Milliseconds(),
			"max_append_entries": config.MaxAppendEntries, "snapshot_interval_ms": config.SnapshotInterval.Milliseconds(),
			"snapshot_threshold": config.SnapshotThreshold, "trailing_logs": config.TrailingLogs}})
	r.Line("start", fields{"persisted": r.persisted(), "heartbeat_timeout_ms": config.HeartbeatTimeout.Milliseconds()})
	r.mutex.Lock()
	r.hasStarted = true
	r.mutex.Unlock()
}

// Started is called with what raft.NewRaft returned.
func (r *Recorder) Started(library *raft.Raft) {
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

// Stop shuts the server down, and writes what is in its stores then.
func (r *Recorder) Stop() error {
	r.Line("stop_begin", fields{"why": "asked to"})
	err := r.raft.Shutdown().Error()
	close(r.stopped)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.isHandling, r.isStopping = false, true
	r.answered.Broadcast()
	r.write("stopped", fields{"persisted": r.persisted()})
	r.raft = nil
	return err
}

func (r *Recorder) persisted() fields {
	term, _ := r.stable.GetUint64([]byte("CurrentTerm"))
	voteTerm, _ := r.stable.GetUint64([]byte("LastVoteTerm"))
	candidate, _ := r.stable.Get([]byte("LastVoteCand"))
	first, _ := r.logs.FirstIndex()
	last, _ := r.logs.LastIndex()
	entries := []fields{}
	for index := first; index > 0 && index <= last; index++ {
		var log raft.Log
		if r.logs.GetLog(index, &log) == nil {
			entries = append(entries, entry(&log))
		}
	}
	found := fields{"CurrentTerm": term, "LastVoteTerm": voteTerm, "LastVoteCand": r.nameOf(candidate), "first": first,
		"last": last, "log": entries}
	if all, err := r.snapshots.List(); err == nil && len(all) > 0 {
		found["snapshot"] = fields{"last_index": all[0].Index, "last_term": all[0].Term}
	}
	return found
}

// ---- Values ----

func (r *Recorder) nameOf(address []byte) string { return r.names[raft.ServerAddress(address)] }

func entry(log *raft.Log) fields {
	line := fields{"i": log.Index, "t": log.Term, "type": strings.TrimPrefix(log.Type.String(), "Log")}
	switch log.Type {
	case raft.LogCommand:
		line["v"] = string(log.Data)
	case raft.LogConfiguration:
		line["v"] = members(raft.DecodeConfiguration(log.Data))
	}
	return line
}

func entries(logs []*raft.Log) []fields {
	found := []fields{}
	for _, log := range logs {
		found = append(found, entry(log))
	}
	return found
}

// members lists the servers of a configuration: the voters, and behind ~ those without a vote.
func members(configuration raft.Configuration) string {
	var voters, nonvoters []string
	for _, each := range configuration.Servers {
		if each.Suffrage == raft.Voter {
			voters = append(voters, string(each.ID))
		} else {
			nonvoters = append(nonvoters, "~"+string(each.ID))
		}
	}
	sort.Strings(voters)
	sort.Strings(nonvoters)
	return strings.Join(append(voters, nonvoters...), ",")
}

// ---- The library's log ----

type logSink struct{ *Recorder }

// Accept writes a line of the library's log.
func (s logSink) Accept(_ string, level hclog.Level, text string, args ...any) {
	by := callers()
	named := fields{}
	for k := 0; k+1 < len(args); k += 2 {
		named[fmt.Sprint(args[k])] = fmt.Sprint(args[k+1])
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.awaitAnswer(by)
	if s.hasStarted && !s.isStopping {
		s.write("liblog", fields{"level": level.String(), "text": text, "args": named})
	}
}

// Logger returns a logger for the library whose lines are recorded as well.
func (r *Recorder) Logger(options *hclog.LoggerOptions) hclog.Logger {
	logger := hclog.NewInterceptLogger(options)
	logger.RegisterSink(logSink{r})
	return logger
}
