package recorder_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/hashicorp/recorder"
)

// counter is a state machine that counts commands.
type counter struct{ count atomic.Int64 }

func (c *counter) Apply(*raft.Log) any                 { return c.count.Add(1) }
func (c *counter) Snapshot() (raft.FSMSnapshot, error) { return nil, errors.New("no snapshots here") }
func (c *counter) Restore(io.ReadCloser) error         { return errors.New("no snapshots here") }
func (c *counter) Count() int                          { return int(c.count.Load()) }

type node struct {
	*recorder.Raft
	machine *counter
	disk    *raft.InmemCommitTrackingStore
	address raft.ServerAddress
}

// start starts a server on what is on its disk, with the commit index that it finds there.
func (n *node) start(t *testing.T, id raft.ServerID, group *raft.Configuration) {
	t.Helper()
	network, err := raft.NewTCPTransport(string(n.address), nil, 3, time.Second, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	config, snapshots := raft.DefaultConfig(), raft.NewInmemSnapshotStore()
	config.LocalID, config.RestoreCommittedLogs, config.LogOutput = id, true, io.Discard
	if group != nil {
		if err := raft.BootstrapCluster(config, n.disk, n.disk, snapshots, network, *group); err != nil {
			t.Fatal(err)
		}
	}
	n.machine = &counter{}
	path := filepath.Join(folder(t), string(id)+".ndjson")
	if n.Raft, err = recorder.NewRaft(path, config, n.machine, n.disk, n.disk, snapshots, network); err != nil {
		t.Fatal(err)
	}
}

// folder is where the servers are recorded: RECORDED if that is set.
func folder(t *testing.T) string {
	if given := os.Getenv("RECORDED"); given != "" {
		return given
	}
	return t.TempDir()
}

// freeAddress returns an address that a server can have again when it comes back.
func freeAddress(t *testing.T) raft.ServerAddress {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return raft.ServerAddress(listener.Addr().String())
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
	}
}

func apply(t *testing.T, leader *node, count int) {
	t.Helper()
	for k := range count {
		if err := leader.Apply(fmt.Appendf(nil, "%d", k), 5*time.Second).Error(); err != nil {
			t.Fatal(err)
		}
	}
}

// A group that is bootstrapped as it runs, on a transport in memory.
func TestAGroupThatIsBootstrappedAsItRuns(t *testing.T) {
	group, networks := raft.Configuration{}, map[raft.ServerID]*raft.InmemTransport{}
	for _, id := range []raft.ServerID{"n1", "n2", "n3"} {
		_, networks[id] = raft.NewInmemTransport(raft.ServerAddress("at-" + id))
		group.Servers = append(group.Servers, raft.Server{ID: id, Address: networks[id].LocalAddr()})
	}
	nodes := []*recorder.Raft{}
	for id, network := range networks {
		for _, peer := range networks {
			network.Connect(peer.LocalAddr(), peer)
		}
		config, disk, snapshots := raft.DefaultConfig(), raft.NewInmemStore(), raft.NewInmemSnapshotStore()
		config.LocalID, config.LogOutput = id, io.Discard
		path := filepath.Join(folder(t), "live-"+string(id)+".ndjson")
		server, err := recorder.NewRaft(path, config, &counter{}, disk, disk, snapshots, network)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.BootstrapCluster(group).Error(); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, server)
	}
	var leader *recorder.Raft
	eventually(t, "a leader", func() bool {
		for _, each := range nodes {
			if each.State() == raft.Leader {
				leader = each
			}
		}
		return leader != nil
	})
	for k := range 5 {
		if err := leader.Apply([]byte{0xff, byte(k)}, 5*time.Second).Error(); err != nil { // no text
			t.Fatal(err)
		}
	}
	for _, each := range nodes {
		each.Shutdown().Error()
	}
}

// A server starts with the commit index that its log store keeps, and a leader is asked whether it leads.
func TestAGroupWithACommitTrackingLogStore(t *testing.T) {
	nodes, group := map[raft.ServerID]*node{}, raft.Configuration{}
	for _, id := range []raft.ServerID{"n1", "n2", "n3"} {
		address := freeAddress(t)
		nodes[id] = &node{disk: raft.NewInmemCommitTrackingStore(), address: address}
		group.Servers = append(group.Servers, raft.Server{ID: id, Address: address})
	}
	for id, each := range nodes {
		each.start(t, id, &group)
	}
	var leader, follower *node
	var name raft.ServerID
	eventually(t, "a leader", func() bool {
		for id, each := range nodes {
			if each.State() == raft.Leader {
				leader = each
			} else {
				name, follower = id, each
			}
		}
		return leader != nil
	})
	apply(t, leader, 5)
	if err := leader.VerifyLeader().Error(); err != nil {
		t.Fatal(err)
	}
	if err := follower.VerifyLeader().Error(); !errors.Is(err, raft.ErrNotLeader) {
		t.Fatal("a follower says that it leads: ", err)
	}
	eventually(t, "the follower has applied all", func() bool { return follower.machine.Count() == 5 })
	follower.Shutdown().Error()
	apply(t, leader, 3)
	kept, _ := follower.disk.GetCommitIndex()
	follower.start(t, name, nil)
	if commit := follower.CommitIndex(); kept < 2 || commit < kept {
		t.Fatalf("it starts with commit index %d, its log store keeps %d", commit, kept)
	}
	eventually(t, "the follower has applied all again", func() bool { return follower.machine.Count() == 8 })
	if err := leader.VerifyLeader().Error(); err != nil {
		t.Fatal(err)
	}
	for _, each := range nodes {
		each.Shutdown().Error()
	}
}

// A client may keep the future of an answer, and look for it when it has asked again.
func TestAnAnswerHasItsLineBeforeAClientLooksForIt(t *testing.T) {
	address, network := raft.NewInmemTransport("at-n1")
	config, disk, snapshots := raft.DefaultConfig(), raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	config.LocalID, config.LogOutput = "n1", io.Discard
	alone := raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: address}}}
	if err := raft.BootstrapCluster(config, disk, disk, snapshots, network, alone); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "n1.ndjson")
	server, err := recorder.NewRaft(path, config, &counter{}, disk, disk, snapshots, network)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { server.Shutdown().Error() }()
	eventually(t, "a leader", func() bool { return server.State() == raft.Leader })
	answer := server.VerifyLeader()
	eventually(t, "the line of the answer", func() bool {
		recorded, err := os.ReadFile(path)
		return err == nil && bytes.Contains(recorded, []byte(`"kind":"verify_resp","node":"n1"`)) &&
			bytes.Contains(recorded, []byte(`"ok":true`))
	})
	for range 2 { // it may be looked for twice
		if err := answer.Error(); err != nil {
			t.Fatal(err)
		}
	}
}
