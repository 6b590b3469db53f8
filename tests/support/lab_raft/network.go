package labraft

import (
	"math/rand"
	"sync"
	"time"
)

// Network carries calls between servers: it may delay and lose both halves of a call, and deliver answers out of order.
type Network struct {
	mu         sync.Mutex
	random     *rand.Rand
	servers    []*Raft
	connected  []bool
	processes  []int // which process of a server is the last
	unreliable bool
	reordering bool
	immediate  bool // calls take no time, so what a server sends may arrive before it goes on
}

// End is one server's end of the line to another; it is cut once another process takes the server's place.
type End struct {
	network  *Network
	from, to int
	process  int
}

func NewNetwork(n int, seed int64) *Network {
	network := &Network{random: rand.New(rand.NewSource(seed))}
	network.servers, network.connected = make([]*Raft, n), make([]bool, n)
	network.processes = make([]int, n)
	return network
}

func (network *Network) ends(from int) []*End {
	network.mu.Lock()
	defer network.mu.Unlock()
	network.processes[from]++
	ends := make([]*End, len(network.servers))
	for to := range ends {
		ends[to] = &End{network, from, to, network.processes[from]}
	}
	return ends
}

func (network *Network) below(n int) int {
	network.mu.Lock()
	defer network.mu.Unlock()
	return network.random.Intn(n)
}

func (network *Network) pause(milliseconds int) {
	time.Sleep(time.Duration(1+network.below(milliseconds)) * time.Millisecond)
}

// receiver returns the server that a call reaches, nil for none.
func (network *Network) receiver(end *End) *Raft {
	network.mu.Lock()
	defer network.mu.Unlock()
	if end.process != network.processes[end.from] || !network.connected[end.from] || !network.connected[end.to] {
		return nil
	}
	return network.servers[end.to]
}

// Call lets the other server handle a call, and says whether the answer arrived.
func (end *End) Call(handle func(*Raft)) bool {
	network := end.network
	if !network.immediate {
		network.pause(3)
	}
	if network.unreliable {
		network.pause(26)
		if network.below(1000) < 100 {
			return false
		}
	}
	server := network.receiver(end)
	if server == nil {
		network.pause(100)
		return false
	}
	handle(server)
	if network.receiver(end) != server || (network.unreliable && network.below(1000) < 100) {
		return false
	}
	if network.reordering && network.below(900) < 600 {
		network.pause(200 + network.below(1000)) // meanwhile both may be cut off, or in a later term
	}
	return true
}

// Persister keeps what a server has persisted.
type Persister struct {
	mu   sync.Mutex
	data []byte
}

func (p *Persister) Save(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data = data
}

func (p *Persister) Read() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.data
}

func (p *Persister) Copy() *Persister { return &Persister{data: p.Read()} }
