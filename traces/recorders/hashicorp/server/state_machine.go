package main

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// A command at its index, as the snapshots of lockstep's own servers have it.
type appliedLog struct {
	Index uint64       `json:"index"`
	Entry appliedEntry `json:"entry"`
}

type appliedEntry struct {
	Term          uint64                         `json:"term"`
	Type          string                         `json:"type"`
	Value         string                         `json:"value"`
	Configuration map[string]map[string][]string `json:"configuration"`
}

// stateMachine is an FSM whose state is what it has applied. Its snapshots are those of lockstep's own servers, so that
// servers of either kind can install them.
type stateMachine struct {
	mutex   sync.Mutex
	applied []appliedLog
	stops   *stops
}

func noConfiguration() map[string]map[string][]string {
	return map[string]map[string][]string{"voters": {"#set": {}}, "nonvoters": {"#set": {}}}
}

// Apply remembers a command, and returns how many there are.
func (m *stateMachine) Apply(log *raft.Log) any {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	entry := appliedEntry{log.Term, "Command", string(log.Data), noConfiguration()}
	m.applied = append(m.applied, appliedLog{log.Index, entry})
	return len(m.applied)
}

// Snapshot returns what was applied so far.
func (m *stateMachine) Snapshot() (raft.FSMSnapshot, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return &stateSnapshot{append([]appliedLog{}, m.applied...), m.stops}, nil
}

// Restore begins anew with what another state machine had applied.
func (m *stateMachine) Restore(reader io.ReadCloser) error {
	defer reader.Close()
	var applied []appliedLog
	if err := json.NewDecoder(reader).Decode(&applied); err != nil {
		return err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.applied = applied
	return nil
}

// Count returns how many commands the state has.
func (m *stateMachine) Count() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return len(m.applied)
}

// at returns the command at an index, if it was applied.
func (m *stateMachine) at(index uint64) (appliedLog, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, log := range m.applied {
		if log.Index == index {
			return log, true
		}
	}
	return appliedLog{}, false
}

type stateSnapshot struct {
	applied []appliedLog
	stops   *stops
}

// Persist writes the snapshot. It has the place `persist`, before the first byte.
func (s *stateSnapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.stops.at("persist"); err != nil {
		return err
	}
	if err := json.NewEncoder(sink).Encode(s.applied); err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

func (s *stateSnapshot) Release() {}
