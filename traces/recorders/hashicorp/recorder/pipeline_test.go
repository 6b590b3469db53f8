package recorder

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A transport of the library, whose calls another one answers at once, with success.
func answered(t *testing.T, inFlight int) (*raft.NetworkTransport, raft.ServerAddress) {
	t.Helper()
	ends := [2]*raft.NetworkTransport{}
	for k := range ends {
		stream, err := raft.NewTCPTransportWithConfig("127.0.0.1:0", nil,
			&raft.NetworkTransportConfig{MaxPool: 3, Timeout: time.Second, MaxRPCsInFlight: inFlight})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stream.Close() })
		ends[k] = stream
	}
	go func() {
		for rpc := range ends[1].Consumer() {
			rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
		}
	}()
	return ends[0], ends[1].LocalAddr()
}

// taken returns how many calls a pipeline takes while nobody takes their answers.
func taken(t *testing.T, pipeline raft.AppendPipeline) int {
	t.Helper()
	returned := make(chan error, 100)
	go func() {
		for range cap(returned) {
			_, err := pipeline.AppendEntries(&raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1}, &raft.AppendEntriesResponse{})
			if returned <- err; err != nil {
				return
			}
		}
	}()
	count := 0
	for {
		select {
		case err := <-returned:
			if err != nil {
				t.Fatal(err)
			}
			count++
		case <-time.After(500 * time.Millisecond):
			if err := pipeline.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-returned; err != raft.ErrPipelineShutdown {
				t.Fatal("the call that waits ends with ", err)
			}
			return count
		}
	}
}

// A sender waits for a decoder that has ended (hashicorp/raft#612) where it does without a recorder.
func TestARecordedPipelineTakesAsManyCallsAsTheLibrarys(t *testing.T) {
	for _, inFlight := range []int{2, 3, 6} {
		network, peer := answered(t, inFlight)
		bare, err := network.AppendEntriesPipeline("n2", peer)
		if err != nil {
			t.Fatal(err)
		}
		r, err := open(filepath.Join(t.TempDir(), "n1.ndjson"), "n1")
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := r.transport(network).AppendEntriesPipeline("n2", peer)
		if err != nil {
			t.Fatal(err)
		}
		if with, without := taken(t, recorded), taken(t, bare); with != without {
			t.Errorf("MaxRPCsInFlight %d: %d calls with the recorder, %d without", inFlight, with, without)
		}
	}
}
