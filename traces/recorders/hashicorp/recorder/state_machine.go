package recorder

import (
	"io"

	"github.com/hashicorp/raft"
)

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
	r *recorder
}

// stateMachine records what a state machine applies, and where it is read or begins anew. The library finds the
// interfaces that the state machine has, and no others.
func (r *recorder) stateMachine(machine raft.FSM) raft.FSM {
	f := &recordedFSM{machine, r}
	r.fsm.count = f.count()
	batching, takesBatches := machine.(raft.BatchingFSM)
	store, takesConfigurations := machine.(raft.ConfigurationStore)
	switch {
	case takesBatches && takesConfigurations:
		return struct {
			*recordedFSM
			batches
			configurations
		}{f, batches{batching, f}, configurations{store}}
	case takesBatches:
		return struct {
			*recordedFSM
			batches
		}{f, batches{batching, f}}
	case takesConfigurations:
		return struct {
			*recordedFSM
			configurations
		}{f, configurations{store}}
	}
	return f
}

// batches records the commands of a batch once all are applied.
type batches struct {
	machine raft.BatchingFSM
	f       *recordedFSM
}

// ApplyBatch lets the state machine apply a batch.
func (b batches) ApplyBatch(logs []*raft.Log) []any {
	answers := b.machine.ApplyBatch(logs)
	b.f.r.mutex.Lock()
	defer b.f.r.mutex.Unlock()
	for k, log := range logs {
		if log.Type != raft.LogCommand {
			continue
		}
		var count any // of the state in between nobody knows it
		if k == len(logs)-1 {
			count = b.f.count()
		}
		b.f.applied(log, count)
	}
	return answers
}

// configurations passes on what the library stores of configurations.
type configurations struct{ store raft.ConfigurationStore }

// StoreConfiguration gives the state machine a configuration.
func (c configurations) StoreConfiguration(index uint64, configuration raft.Configuration) {
	c.store.StoreConfiguration(index, configuration)
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
	f.applied(log, f.count())
	return answer
}

// applied writes the line of a command; the mutex is held.
func (f *recordedFSM) applied(log *raft.Log, count any) {
	f.r.fsm = fsmState{count, place{log.Index, log.Term}}
	f.r.write("fsm_apply", fields{"i": log.Index, "t": log.Term, "v": shown(log.Data), "count": count, "digest": 0})
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
