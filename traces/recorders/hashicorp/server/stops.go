package main

import (
	"fmt"
	"sync"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// stops are places at which a script lets the server wait, or die, or a write fail: a write to its keys or its log, the
// writing of a snapshot, a line that the library logs. A place serves once. None are there unless the server was started with -stops.
type stops struct {
	mutex  sync.Mutex
	places map[string]*stop
}

type stop struct {
	action   string
	isTaken  bool
	reached  chan struct{}
	released chan struct{}
}

// arm sets what happens at a place: `kill`, `wait` or, at a write, `fail`.
func (s *stops) arm(place, action string) error {
	if s == nil {
		return fmt.Errorf("the server was started without -stops")
	}
	if action != "kill" && action != "wait" && action != "fail" {
		return fmt.Errorf("nothing at a place is %q", action)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.places[place] = &stop{action: action, reached: make(chan struct{}), released: make(chan struct{})}
	return nil
}

func (s *stops) named(place string) (*stop, error) {
	if s == nil {
		return nil, fmt.Errorf("the server was started without -stops")
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	found := s.places[place]
	if found == nil {
		return nil, fmt.Errorf("no place is %q", place)
	}
	return found, nil
}

// await returns once the server has come to a place.
func (s *stops) await(place string) error {
	found, err := s.named(place)
	if err == nil {
		<-found.reached
	}
	return err
}

// release lets the server go on from a place.
func (s *stops) release(place string) error {
	found, err := s.named(place)
	if err == nil {
		close(found.released)
	}
	return err
}

// at is called at a place, and returns when the server may go on, with an error if the write there fails.
func (s *stops) at(place string) error {
	if s == nil {
		return nil
	}
	s.mutex.Lock()
	found := s.places[place]
	if found == nil || found.isTaken {
		s.mutex.Unlock()
		return nil
	}
	found.isTaken = true
	s.mutex.Unlock()
	close(found.reached)
	switch found.action {
	case "fail":
		return fmt.Errorf("the script lets %q fail", place)
	case "kill":
		syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {}
	}
	<-found.released
	return nil
}

// ---- The places ----

// stableStore has a place before each write of a key: `set LastVoteCand`.
type stableStore struct {
	raft.StableStore
	stops *stops
}

func (s stableStore) Set(key, value []byte) error {
	if err := s.stops.at("set " + string(key)); err != nil {
		return err
	}
	return s.StableStore.Set(key, value)
}

func (s stableStore) SetUint64(key []byte, value uint64) error {
	if err := s.stops.at("set " + string(key)); err != nil {
		return err
	}
	return s.StableStore.SetUint64(key, value)
}

// logStore has a place before entries are stored: `store`.
type logStore struct {
	raft.LogStore
	stops *stops
}

func (s logStore) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s logStore) StoreLogs(logs []*raft.Log) error {
	if err := s.stops.at("store"); err != nil {
		return err
	}
	return s.LogStore.StoreLogs(logs)
}

// stopLogger has a place before each line of information that the library logs: `log election won`. The routine that is
// about to log waits, and no other.
type stopLogger struct {
	hclog.Logger
	stops *stops
}

// Info logs a line.
func (l stopLogger) Info(text string, args ...any) {
	l.stops.at("log " + text)
	l.Logger.Info(text, args...)
}

// providedAddresses are where this server reaches the others, which may be ports of a proxy.
type providedAddresses map[string]raft.ServerAddress

// ServerAddr returns the address for a server.
func (p providedAddresses) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	if found := p[string(id)]; found != "" {
		return found, nil
	}
	return "", fmt.Errorf("no address of %s is given", id)
}
