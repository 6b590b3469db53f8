package labraft

import (
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"
)

// Group is a test's servers, with what they have applied.
type Group struct {
	t          *testing.T
	n          int
	network    *Network
	random     *rand.Rand
	persisters []*Persister

	mu      sync.Mutex
	rafts   []*Raft
	applied []map[int]any
	last    int // the greatest index that was applied anywhere
	failure string
}

func NewGroup(t *testing.T, name string, n int, unreliable bool, seed int64) *Group {
	fmt.Fprintf(output, "Test (%s, seed %d ...\n", name, seed)
	group := &Group{t: t, n: n, network: NewNetwork(n, seed), random: rand.New(rand.NewSource(seed + 1))}
	group.network.unreliable, group.network.immediate = unreliable, *immediate
	group.persisters, group.rafts = make([]*Persister, n), make([]*Raft, n)
	group.applied = make([]map[int]any, n)
	for i := range n {
		group.persisters[i] = &Persister{}
		group.start(i)
		group.connect(i)
	}
	return group
}

func (g *Group) end() {
	for i := range g.n {
		g.crash(i)
	}
	time.Sleep(3 * time.Second) // until calls under way have ended
	g.check()
	if !g.t.Failed() {
		fmt.Fprintln(output, "  ... Passed")
	}
}

func (g *Group) check() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure != "" {
		g.t.Fatal(g.failure)
	}
}

func (g *Group) start(i int) {
	g.crash(i)
	g.persisters[i] = g.persisters[i].Copy()
	channel := make(chan ApplyMsg)
	g.mu.Lock()
	g.applied[i] = map[int]any{}
	g.mu.Unlock()
	raft := Make(g.network.ends(i), i, g.persisters[i], channel, g.random.Int63())
	g.mu.Lock()
	g.rafts[i] = raft
	g.mu.Unlock()
	go g.apply(i, raft, channel)
	g.network.mu.Lock()
	g.network.servers[i] = raft
	g.network.mu.Unlock()
}

func (g *Group) crash(i int) {
	g.disconnect(i)
	g.network.mu.Lock()
	g.network.servers[i] = nil
	g.network.mu.Unlock()
	g.persisters[i] = g.persisters[i].Copy()
	g.mu.Lock()
	raft := g.rafts[i]
	g.rafts[i] = nil
	g.mu.Unlock()
	if raft != nil {
		raft.Kill()
	}
}

func (g *Group) connect(i int)    { g.setConnected(i, true) }
func (g *Group) disconnect(i int) { g.setConnected(i, false) }

func (g *Group) setConnected(i int, is bool) {
	g.network.mu.Lock()
	defer g.network.mu.Unlock()
	g.network.connected[i] = is
}

func (g *Group) isConnected(i int) bool {
	g.network.mu.Lock()
	defer g.network.mu.Unlock()
	return g.network.connected[i] && g.network.servers[i] != nil
}

// apply reads what a server applies, and holds it against the others.
func (g *Group) apply(i int, raft *Raft, channel chan ApplyMsg) {
	next := 1
	for message := range channel {
		g.mu.Lock()
		if g.rafts[i] == raft {
			if message.Index != next {
				g.failure = fmt.Sprintf("server %d applies %d instead of %d", i, message.Index, next)
			}
			for other := range g.n {
				if command, has := g.applied[other][message.Index]; has && command != message.Command {
					g.failure = fmt.Sprintf("servers %d and %d apply different commands at %d", i, other, message.Index)
				}
			}
			g.applied[i][message.Index] = message.Command
			g.last = max(g.last, message.Index)
		}
		next++
		g.mu.Unlock()
	}
}

func (g *Group) raft(i int) *Raft {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rafts[i]
}

// leader waits for the one leader of the connected servers.
func (g *Group) leader() int {
	for range 12 {
		time.Sleep(time.Duration(450+g.random.Intn(100)) * time.Millisecond)
		leaders := map[int]int{}
		for i := range g.n {
			if !g.isConnected(i) {
				continue
			}
			if term, leads := g.raft(i).GetState(); leads {
				if other, has := leaders[term]; has {
					g.t.Fatalf("servers %d and %d lead term %d", i, other, term)
				}
				leaders[term] = i
			}
		}
		newest := -1
		for term := range leaders {
			newest = max(newest, term)
		}
		if newest >= 0 {
			return leaders[newest]
		}
	}
	g.t.Fatal("no leader")
	return -1
}

func (g *Group) noLeader() {
	for i := range g.n {
		if g.isConnected(i) {
			if _, leads := g.raft(i).GetState(); leads {
				g.t.Fatalf("server %d leads without a majority", i)
			}
		}
	}
}

// terms returns the term of the connected servers, which must be one.
func (g *Group) term() int {
	found := -1
	for i := range g.n {
		if g.isConnected(i) {
			term, _ := g.raft(i).GetState()
			if found >= 0 && term != found {
				g.t.Fatal("servers are in different terms")
			}
			found = term
		}
	}
	return found
}

// committed returns how many servers have applied an index, and the command.
func (g *Group) committed(index int) (int, any) {
	g.check()
	g.mu.Lock()
	defer g.mu.Unlock()
	count, found := 0, any(nil)
	for i := range g.n {
		if command, has := g.applied[i][index]; has {
			count, found = count+1, command
		}
	}
	return count, found
}

// one lets the servers agree on a command, and returns its index.
func (g *Group) one(command any, servers int, again bool) int {
	begin := time.Now()
	for time.Since(begin) < 10*time.Second {
		index := -1
		for i := 0; i < g.n && index < 0; i++ {
			if g.isConnected(i) {
				if at, _, leads := g.raft(i).Start(command); leads {
					index = at
				}
			}
		}
		if index < 0 {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		for since := time.Now(); time.Since(since) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
			if count, found := g.committed(index); count >= servers && found == command {
				return index
			}
		}
		if !again {
			g.t.Fatalf("no agreement on %v", command)
		}
	}
	g.t.Fatalf("no agreement on %v", command)
	return -1
}

// wait waits until an index is applied by some servers.
func (g *Group) wait(index, servers int) any {
	for range 60 {
		if count, _ := g.committed(index); count >= servers {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	count, command := g.committed(index)
	if count < servers {
		g.t.Fatalf("only %d servers applied %d", count, index)
	}
	return command
}
