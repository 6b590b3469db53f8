package kv

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"lockstep/hashicorp/recorder"
)

func TestWhatTheLeaderHasAcknowledgedIsThere(t *testing.T) {
	stores, networks, group := map[raft.ServerID]*Store{}, map[raft.ServerID]*raft.NetworkTransport{}, raft.Configuration{}
	for _, id := range []raft.ServerID{"n1", "n2", "n3"} {
		network, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, time.Second, nil)
		if err != nil {
			t.Fatal(err)
		}
		stores[id], networks[id] = &Store{}, network
		group.Servers = append(group.Servers, raft.Server{ID: id, Address: network.LocalAddr()})
	}
	leads := make(chan *recorder.Raft, len(networks))
	for id, network := range networks {
		config, disk, snapshots := raft.DefaultConfig(), raft.NewInmemStore(), raft.NewInmemSnapshotStore()
		config.LocalID = id
		if err := raft.BootstrapCluster(config, disk, disk, snapshots, network, group); err != nil {
			t.Fatal(err)
		}
		server, err := recorder.NewRaft(string(id)+".ndjson", config, stores[id], disk, disk, snapshots, network)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { server.Shutdown().Error() }()
		go func() { <-server.LeaderCh(); leads <- server }()
	}
	leader := <-leads
	err := leader.Apply([]byte("color=blue"), time.Second).Error()
	if _, id := leader.LeaderWithID(); err != nil || stores[id].Get("color") != "blue" {
		t.Fatal(err, id)
	}
}
