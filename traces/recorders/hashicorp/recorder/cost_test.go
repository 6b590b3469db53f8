package recorder_test

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"lockstep/hashicorp/recorder"
)

// server is what a client needs of a server, recorded or not.
type server interface {
	Apply(command []byte, timeout time.Duration) raft.ApplyFuture
	State() raft.RaftState
	Shutdown() raft.Future
}

// BenchmarkApply applies commands at groups of three servers on transports of TCP, with and without the recorder. Stores
// are boltdb's, which forces each write to the disk, or in memory, where nothing hides what lines cost; cpu-us/op is the
// processor time of all. Each is run many times in turn, as the machine may do other things:
//
//	go test -run - -bench Apply -benchtime 500x -count 10 ./recorder
func BenchmarkApply(b *testing.B) {
	for _, stores := range []string{"disk", "memory"} {
		for _, clients := range []int{1, 8} {
			for _, isRecorded := range []bool{false, true} {
				name := fmt.Sprintf("%s/clients=%d/recorded=%v", stores, clients, isRecorded)
				b.Run(name, func(b *testing.B) { applies(b, stores == "disk", clients, isRecorded) })
			}
		}
	}
}

func applies(b *testing.B, onDisk bool, clients int, isRecorded bool) {
	leader, stop := group(b, onDisk, isRecorded)
	defer stop()
	work(b, leader, clients, 200)
	before := processorTime()
	b.ResetTimer()
	work(b, leader, clients, b.N)
	b.StopTimer()
	b.ReportMetric(float64((processorTime()-before).Microseconds())/float64(b.N), "cpu-us/op")
}

// work applies commands, as many at once as there are clients.
func work(b *testing.B, leader server, clients, count int) {
	var next atomic.Int64
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for k := next.Add(1); k <= int64(count); k = next.Add(1) {
				if err := leader.Apply(fmt.Appendf(nil, "%d", k), 10*time.Second).Error(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}

func group(b *testing.B, onDisk, isRecorded bool) (leader server, stop func()) {
	var servers []server
	networks, members := map[raft.ServerID]*raft.NetworkTransport{}, raft.Configuration{}
	for _, id := range []raft.ServerID{"n1", "n2", "n3"} {
		network, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, time.Second, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		networks[id] = network
		members.Servers = append(members.Servers, raft.Server{ID: id, Address: network.LocalAddr()})
	}
	for id, network := range networks {
		config, snapshots := raft.DefaultConfig(), raft.NewInmemSnapshotStore()
		config.LocalID, config.LogOutput = id, io.Discard
		// Long, so that a group keeps its leader on a busy machine.
		config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = 5*time.Second, 5*time.Second, 5*time.Second
		disk := store(b, string(id), onDisk)
		if err := raft.BootstrapCluster(config, disk, disk, snapshots, network, members); err != nil {
			b.Fatal(err)
		}
		started, err := start(filepath.Join(b.TempDir(), string(id)), config, disk, snapshots, network, isRecorded)
		if err != nil {
			b.Fatal(err)
		}
		servers = append(servers, started)
	}
	for end := time.Now().Add(time.Minute); leader == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatal("no leader")
		}
		for _, each := range servers {
			if each.State() == raft.Leader {
				leader = each
			}
		}
	}
	return leader, func() {
		for _, each := range servers {
			each.Shutdown().Error()
		}
	}
}

// bothStores is what keeps a log and keys.
type bothStores interface {
	raft.LogStore
	raft.StableStore
}

func store(b *testing.B, name string, onDisk bool) bothStores {
	if !onDisk {
		return raft.NewInmemStore()
	}
	disk, err := raftboltdb.NewBoltStore(filepath.Join(b.TempDir(), name+".db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { disk.Close() })
	return disk
}

func start(path string, config *raft.Config, disk bothStores, snapshots raft.SnapshotStore, network raft.Transport,
	isRecorded bool) (server, error) {
	if isRecorded {
		return recorder.NewRaft(path, config, &counter{}, disk, disk, snapshots, network)
	}
	return raft.NewRaft(config, &counter{}, disk, disk, snapshots, network)
}

// processorTime returns that of this process so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
