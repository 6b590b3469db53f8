// Command server is a server of the real hashicorp/raft: its own transport and stores, on a port that it shares with
// clients of lockstep's protocol. It runs until SIGTERM.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"lockstep/hashicorp/recorder"
)

type server struct {
	raft      *raft.Raft
	asked     asked
	machine   *stateMachine
	addresses map[string]raft.ServerAddress
	stops     *stops
	ready     chan struct{}
}

// asked is what the recorder records of what clients ask: of the library, or of its recorded twin.
type asked interface {
	VerifyLeader() raft.Future
	LeadershipTransfer() raft.Future
	LeadershipTransferToServer(raft.ServerID, raft.ServerAddress) raft.Future
}

type options struct {
	id, peers, voters, dir  string
	through                 string
	hasStops                bool
	rpcTimeoutSeconds       float64
	record                  string
	preVote                 bool
	inFlight, maxAppend     int
	trailing, threshold     uint64
	timeScale               float64
	snapshotIntervalSeconds float64
}

func readOptions() options {
	var o options
	flag.StringVar(&o.id, "id", "", "the server")
	flag.StringVar(&o.peers, "peers", "", "all servers that there may be: n1=127.0.0.1:12001;n2=...")
	flag.StringVar(&o.voters, "voters", "", "the servers of the first configuration: n1,n2,n3 (default: all)")
	flag.StringVar(&o.through, "through", "", "where it reaches the others, if not at their own addresses: n2=127.0.0.1:13002;...")
	flag.BoolVar(&o.hasStops, "stops", false, "whether a client may let it wait or die at places in it, or a write fail")
	flag.Float64Var(&o.rpcTimeoutSeconds, "rpc-timeout", 10, "the time of a call, in seconds")
	flag.StringVar(&o.dir, "dir", "", "the folder of its files")
	flag.StringVar(&o.record, "record", "", "add what it does to this file")
	flag.BoolVar(&o.preVote, "prevote", true, "whether it asks for pre-votes")
	flag.IntVar(&o.inFlight, "in-flight", 0, "MaxRPCsInFlight of the transport; 1 has no pipeline, 0 is the library's default")
	flag.IntVar(&o.maxAppend, "max-append", 64, "MaxAppendEntries")
	flag.Uint64Var(&o.trailing, "trailing", 10240, "TrailingLogs")
	flag.Uint64Var(&o.threshold, "threshold", 8192, "SnapshotThreshold")
	flag.Float64Var(&o.snapshotIntervalSeconds, "snapshot-interval", 120, "SnapshotInterval, in seconds")
	flag.Float64Var(&o.timeScale, "time-scale", 1, "what the library's other times are multiplied by")
	flag.Parse()
	return o
}

func (o options) config(logger hclog.Logger) *raft.Config {
	config := raft.DefaultConfig()
	config.LocalID, config.Logger = raft.ServerID(o.id), logger
	config.PreVoteDisabled = !o.preVote
	config.MaxAppendEntries = o.maxAppend
	config.TrailingLogs, config.SnapshotThreshold = o.trailing, o.threshold
	config.SnapshotInterval = time.Duration(o.snapshotIntervalSeconds * float64(time.Second))
	for _, each := range []*time.Duration{&config.HeartbeatTimeout, &config.ElectionTimeout, &config.CommitTimeout, &config.LeaderLeaseTimeout} {
		*each = time.Duration(float64(*each) * o.timeScale)
	}
	return config
}

func readAddresses(text string) (map[string]raft.ServerAddress, []string, error) {
	addresses, names := map[string]raft.ServerAddress{}, []string{}
	for _, part := range strings.Split(text, ";") {
		name, address, found := strings.Cut(part, "=")
		if !found || addresses[name] != "" {
			return nil, nil, fmt.Errorf("-peers: %q is no NAME=HOST:PORT, or named twice", part)
		}
		addresses[name] = raft.ServerAddress(address)
		names = append(names, name)
	}
	return addresses, names, nil
}

func (o options) firstConfiguration(addresses map[string]raft.ServerAddress, names []string) (raft.Configuration, bool) {
	voters := names
	if o.voters != "" {
		voters = strings.Split(o.voters, ",")
	}
	var first raft.Configuration
	isMember := false
	for _, name := range voters {
		isMember = isMember || name == o.id
		first.Servers = append(first.Servers, raft.Server{ID: raft.ServerID(name), Address: addresses[name]})
	}
	return first, isMember
}

func run(o options) error {
	addresses, names, err := readAddresses(o.peers)
	if err != nil {
		return err
	}
	if addresses[o.id] == "" || o.dir == "" {
		return fmt.Errorf("-id names none of -peers, or -dir is missing")
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	s := &server{machine: &stateMachine{}, addresses: addresses, ready: make(chan struct{})}
	if o.hasStops {
		s.stops = &stops{places: map[string]*stop{}}
		s.machine.stops = s.stops
	}
	return s.run(o, names)
}

// run starts the library on its stores, and waits until it is to stop.
func (s *server) run(o options, names []string) error {
	logger := hclog.New(&hclog.LoggerOptions{Name: o.id, Level: hclog.Debug, Output: os.Stderr})
	layer, err := listen(string(s.addresses[o.id]), s.serveClient)
	if err != nil {
		return err
	}
	var provider raft.ServerAddressProvider
	if o.through != "" {
		through, _, err := readAddresses(o.through)
		if err != nil {
			return err
		}
		provider = providedAddresses(through)
	}
	network := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: layer, MaxPool: 3, Timeout: time.Duration(o.rpcTimeoutSeconds * float64(time.Second)), Logger: logger,
		MaxRPCsInFlight: o.inFlight, ServerAddressProvider: provider})
	store, err := raftboltdb.NewBoltStore(filepath.Join(o.dir, "raft.db"))
	if err != nil {
		return err
	}
	files, err := raft.NewFileSnapshotStoreWithLogger(o.dir, 2, logger)
	if err != nil {
		return err
	}
	config := o.config(stopLogger{logger, s.stops})
	if err := s.bootstrap(o, names, config, store, files, network); err != nil {
		return err
	}
	if err := s.start(o, config, logStore{store, s.stops}, stableStore{store, s.stops}, files, network); err != nil {
		return err
	}
	close(s.ready)
	fmt.Printf("%s listens on %s; hashicorp/raft %s\n", o.id, s.addresses[o.id], recorder.LibraryVersion())
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	<-asked
	return s.raft.Shutdown().Error()
}

// start starts the library, recorded if that was asked for.
func (s *server) start(o options, config *raft.Config, logs raft.LogStore, stable raft.StableStore,
	snapshots raft.SnapshotStore, network *raft.NetworkTransport) (err error) {
	if o.record == "" {
		s.raft, err = raft.NewRaft(config, s.machine, logs, stable, snapshots, network)
		s.asked = s.raft
		return err
	}
	recorded, err := recorder.NewRaft(o.record, config, s.machine, logs, stable, snapshots, network)
	if err == nil {
		s.raft, s.asked = recorded.Raft, recorded
	}
	return err
}

// bootstrap gives the stores of a server of the first configuration that configuration, if they are empty.
func (s *server) bootstrap(o options, names []string, config *raft.Config, store *raftboltdb.BoltStore,
	snapshots raft.SnapshotStore, transport raft.Transport) error {
	first, isMember := o.firstConfiguration(s.addresses, names)
	started, err := raft.HasExistingState(store, store, snapshots)
	if err != nil || started || !isMember {
		return err
	}
	return raft.BootstrapCluster(config, store, store, snapshots, transport, first)
}

func main() {
	if err := run(readOptions()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
