package recorder

import (
	"io"
	"strings"

	"github.com/hashicorp/raft"
)

// ---- The log and the keys ----

type logStore struct {
	raft.LogStore
	r *recorder
	// staged is the commit index that the store keeps with the next entries. The main loop alone uses it.
	staged uint64
}

// logStore records each write of a store, after the store has returned.
func (r *recorder) logStore(store raft.LogStore) raft.LogStore {
	recorded := &logStore{LogStore: store, r: r}
	if tracking, tracks := store.(commitTracking); tracks {
		return &trackingStore{recorded, tracking}
	}
	return recorded
}

// commitTracking is what the library's CommitTrackingLogStore has beside a LogStore; v1.7.3 does not have that.
type commitTracking interface {
	StageCommitIndex(uint64) error
	GetCommitIndex() (uint64, error)
}

type trackingStore struct {
	*logStore
	tracking commitTracking
}

// StageCommitIndex gives the store a commit index, to be kept with the next entries.
func (s *trackingStore) StageCommitIndex(index uint64) error {
	err := s.tracking.StageCommitIndex(index)
	if err == nil {
		s.staged = index
	}
	return err
}

// GetCommitIndex returns the commit index that the store keeps.
func (s *trackingStore) GetCommitIndex() (uint64, error) { return s.tracking.GetCommitIndex() }

// IsMonotonic is for the library what it is for the store: no if that does not say.
func (s *logStore) IsMonotonic() bool {
	store, says := s.LogStore.(raft.MonotonicLogStore)
	return says && store.IsMonotonic()
}

func (s *logStore) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s *logStore) StoreLogs(logs []*raft.Log) error {
	err := s.LogStore.StoreLogs(logs)
	if err == nil {
		line := fields{"entries": s.r.entries(logs)}
		if s.r.restores {
			line["commit"] = s.staged
		}
		s.r.written("store_logs", line)
	}
	return err
}

func (s *logStore) DeleteRange(min, max uint64) error {
	gone := []fields{}
	for index := min; index <= max; index++ {
		var log raft.Log
		if s.LogStore.GetLog(index, &log) == nil {
			gone = append(gone, fields{"i": log.Index, "t": log.Term})
		}
	}
	err := s.LogStore.DeleteRange(min, max)
	if err == nil {
		why := "compact"
		if strings.HasPrefix(callers().names, "appendEntries") {
			why = "truncate"
		}
		s.r.written("delete_range", fields{"min": min, "max": max, "why": why, "gone": gone})
	}
	return err
}

// stableStore records each write of one of the library's keys, after the store has returned.
type stableStore struct {
	raft.StableStore
	r *recorder
}

var keys = map[string]bool{"CurrentTerm": true, "LastVoteTerm": true, "LastVoteCand": true}

func (s *stableStore) wrote(key []byte, value any, err error) error {
	if !keys[string(key)] {
		return err // the application has put something of its own there
	}
	if err == nil {
		s.r.written("stable_set", fields{"key": string(key), "value": value})
	} else {
		s.r.written("stable_fail", fields{"key": string(key), "value": value, "err": err.Error()})
	}
	return err
}

func (s *stableStore) Set(key, value []byte) error {
	return s.wrote(key, s.r.nameOf(value), s.StableStore.Set(key, value))
}

func (s *stableStore) SetUint64(key []byte, value uint64) error {
	return s.wrote(key, value, s.StableStore.SetUint64(key, value))
}

// ---- Snapshots ----

type place struct{ index, term uint64 }

// snapshotStore records each snapshot once it is durable.
type snapshotStore struct {
	raft.SnapshotStore
	r *recorder
}

func (s *snapshotStore) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, transport raft.Transport) (raft.SnapshotSink, error) {
	s.r.learnMembers(configuration)
	sink, err := s.SnapshotStore.Create(version, index, term, configuration, configurationIndex, transport)
	if err != nil {
		return nil, err
	}
	return &snapshotSink{SnapshotSink: sink, r: s.r, place: place{index, term}}, nil
}

func (s *snapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, reader, err := s.SnapshotStore.Open(id)
	if err == nil {
		s.r.mutex.Lock()
		s.r.opened = place{meta.Index, meta.Term}
		s.r.mutex.Unlock()
	}
	return meta, reader, err
}

type snapshotSink struct {
	raft.SnapshotSink
	r        *recorder
	place    place
	isClosed bool
}

// Close is called by FSMSnapshot.Persist, and by takeSnapshot once more.
func (s *snapshotSink) Close() error {
	err := s.SnapshotSink.Close()
	if err == nil && !s.isClosed {
		s.isClosed = true
		s.r.written("snapshot_saved", fields{"last_index": s.place.index, "last_term": s.place.term})
	}
	return err
}
