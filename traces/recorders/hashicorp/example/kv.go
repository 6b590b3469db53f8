// Package kv is an application on hashicorp/raft: a map whose state a group of servers agrees on. Nothing in it knows
// of lockstep; its test records it.
package kv

import (
	"encoding/json"
	"io"
	"strings"
	"sync"

	"github.com/hashicorp/raft"
)

// Store is the state machine: commands are `key=value`.
type Store struct {
	mutex  sync.Mutex
	values map[string]string
}

// Get returns the value of a key, empty if it has none.
func (s *Store) Get(key string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.values[key]
}

// Apply sets a key.
func (s *Store) Apply(log *raft.Log) any {
	key, value, _ := strings.Cut(string(log.Data), "=")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.values == nil {
		s.values = map[string]string{}
	}
	s.values[key] = value
	return nil
}

// Snapshot returns the state as JSON.
func (s *Store) Snapshot() (raft.FSMSnapshot, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	data, err := json.Marshal(s.values)
	return snapshot(data), err
}

// Restore takes the state of a snapshot.
func (s *Store) Restore(reader io.ReadCloser) error {
	defer reader.Close()
	values := map[string]string{}
	err := json.NewDecoder(reader).Decode(&values)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.values = values
	return err
}

type snapshot []byte

// Persist writes the state.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

// Release has nothing to release.
func (snapshot) Release() {}
