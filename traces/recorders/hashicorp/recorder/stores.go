package recorder

import (
	"io"
	"strings"

	"github.com/hashicorp/raft"
)

// ---- The log and the keys ----

type logStore struct {
	raft.LogStore
	r *Recorder
}

// LogStore records each write of a store, after the store has returned.
func (r *Recorder) LogStore(store raft.LogStore) raft.LogStore {
	r.logs = store
	return &logStore{store, r}
}

func (s *logStore) StoreLog(log *raft.Log) error { return s.StoreLogs([]*raft.Log{log}) }

func (s *logStore) StoreLogs(logs []*raft.Log) error {
	err := s.LogStore.StoreLogs(logs)
	if err == nil {
		s.r.written("store_logs", fields{"entries": entries(logs)})
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

type stableStore struct {
	raft.StableStore
	r *Recorder
}

// StableStore records each write of a store, after the store has returned.
func (r *Recorder) StableStore(store raft.StableStore) raft.StableStore {
	r.stable = store
	return &stableStore{store, r}
}

func (s *stableStore) wrote(key []byte, value any, err error) error {
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

type snapshotStore struct {
	raft.SnapshotStore
	r *Recorder
}

// SnapshotStore records each snapshot once it is durable.
func (r *Recorder) SnapshotStore(store raft.SnapshotStore) raft.SnapshotStore {
	r.snapshots = store
	return &snapshotStore{store, r}
}

func (s *snapshotStore) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, transport raft.Transport) (raft.SnapshotSink, error) {
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
	r        *Recorder
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

// ---- The state machine ----

// Counting is what a state machine may be as well: it knows how many commands its state has, those of a snapshot
// included. Without it a recording has no counts.
type Counting interface {
	Count() int
}

type fsmState struct {
	count any
	last  place
}

func (s fsmState) shown() fields {
	return fields{"count": s.count, "last_index": s.last.index, "last_term": s.last.term, "digest": 0}
}

type recordedFSM struct {
	raft.FSM
	r *Recorder
}

// FSM records what a state machine applies, and where it is read or begins anew.
func (r *Recorder) FSM(machine raft.FSM) raft.FSM {
	f := &recordedFSM{machine, r}
	r.fsm.count = f.count()
	return f
}

func (f *recordedFSM) count() any {
	if counting, isCounting := f.FSM.(Counting); isCounting {
		return counting.Count()
	}
	return nil
}

func (f *recordedFSM) Apply(log *raft.Log) any {
	answer := f.FSM.Apply(log)
	f.r.mutex.Lock()
	defer f.r.mutex.Unlock()
	f.r.fsm = fsmState{f.count(), place{log.Index, log.Term}}
	f.r.write("fsm_apply", fields{"i": log.Index, "t": log.Term, "v": string(log.Data), "count": f.r.fsm.count, "digest": 0})
	return answer
}

func (f *recordedFSM) Snapshot() (raft.FSMSnapshot, error) {
	snapshot, err := f.FSM.Snapshot()
	if err == nil {
		f.r.mutex.Lock()
		f.r.write("fsm_snapshot", fields{"state": f.r.fsm.shown()})
		f.r.mutex.Unlock()
	}
	return snapshot, err
}

func (f *recordedFSM) Restore(reader io.ReadCloser) error {
	if err := f.FSM.Restore(reader); err != nil {
		return err
	}
	f.r.mutex.Lock()
	defer f.r.mutex.Unlock()
	before := f.r.fsm
	f.r.fsm = fsmState{f.count(), f.r.opened}
	f.r.write("fsm_restore", fields{"before": before.shown(), "state": f.r.fsm.shown()})
	return nil
}
