// Package recorder records what a server of hashicorp/raft does, through the library's public interface alone: its
// stores, its state machine, its transport, its observers and its log. Nothing of the library is changed. NewRaft stands
// for the library's NewRaft.
//
// Each server writes a file of lines of JSON, each with the moment `at` by the clock that all processes of a machine
// share. `lockstep merge` makes one recording of the files of a group.
package recorder

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

type fields = map[string]any

// recorder writes the lines of one life of a server.
type recorder struct {
	id string
	// mutex guards all that follows, and orders the lines.
	mutex sync.Mutex
	file  *os.File
	// text is the last line that was written, whose room the next one takes.
	text []byte
	// names has the id of each server that was heard of, by its address.
	names map[raft.ServerAddress]string
	raft  *raft.Raft
	// isHandling is whether the main loop has taken a request whose answer is not written yet; answered is signalled
	// when that is.
	isHandling bool
	answered   *sync.Cond
	// hasStarted is whether this life has its first line: the transport may log before that, as peers connect.
	hasStarted bool
	// isOver is whether this life has its last line; stopped is closed then.
	isOver    bool
	stopped   chan struct{}
	calls     int
	questions int
	logs      raft.LogStore
	stable    raft.StableStore
	snapshots raft.SnapshotStore
	fsm       fsmState
	// restores is whether the library keeps its commit index in the log store, and starts from that.
	restores bool
	// opened is the snapshot that was opened last: the one that the state machine is restored from.
	opened place
}

// open begins or continues the file of a server.
func open(path, id string) (*recorder, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	if err := endLine(file); err != nil {
		return nil, err
	}
	r := &recorder{id: id, names: map[raft.ServerAddress]string{}, file: file, stopped: make(chan struct{})}
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

// write writes a line, unless this life has its last one; the mutex is held.
func (r *recorder) write(kind string, line fields) {
	if r.isOver {
		return
	}
	line["kind"], line["at"], line["node"] = kind, now(), r.id
	if r.raft != nil {
		line["obs"] = fields{"role": r.raft.State().String(), "term": r.raft.CurrentTerm(), "commit": r.raft.CommitIndex(),
			"last": r.raft.LastIndex(), "applied": r.raft.AppliedIndex()}
	}
	text, err := appendObject(r.text[:0], line)
	if err == nil {
		r.text = append(text, '\n')
		_, err = r.file.Write(r.text)
	}
	if err != nil {
		panic(fmt.Sprintf("the recording cannot be written: %v", err))
	}
}

// line writes a line of any routine but the main loop's.
func (r *recorder) line(kind string, line fields) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.write(kind, line)
}

// written writes a line that names the functions under way. One of the main loop that belongs to no request waits until
// the answer to the last request is written.
func (r *recorder) written(kind string, line fields) {
	by := callers()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.awaitAnswer(by)
	line["by"] = by.names
	r.write(kind, line)
}

func (r *recorder) awaitAnswer(by functions) {
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

// stack has the return addresses of the functions under way.
type stack [48]uintptr

// known are the functions of each stack that was seen: their names are looked up once.
var known sync.Map

func callers() functions {
	var under stack
	count := runtime.Callers(3, under[:])
	if found, isKnown := known.Load(under); isKnown {
		return found.(functions)
	}
	found := named(under[:count])
	known.Store(under, found)
	return found
}

func named(addresses []uintptr) functions {
	frames := runtime.CallersFrames(addresses)
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
