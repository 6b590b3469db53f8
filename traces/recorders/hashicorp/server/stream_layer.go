package main

import (
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// clientByte begins the connection of a client; no RPC of the library begins with it.
const clientByte = 0x4C

// streamLayer is the library's connections on a port that it shares with clients: the first byte says whose it is.
type streamLayer struct {
	net.Listener
	peers  chan net.Conn
	serve  func(net.Conn)
	closed chan struct{}
	once   sync.Once
}

func listen(address string, serve func(net.Conn)) (*streamLayer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	layer := &streamLayer{Listener: listener, peers: make(chan net.Conn), serve: serve, closed: make(chan struct{})}
	go layer.acceptAll()
	return layer, nil
}

func (s *streamLayer) acceptAll() {
	for {
		connection, err := s.Listener.Accept()
		if err != nil {
			s.Close()
			return
		}
		go s.sort(connection)
	}
}

func (s *streamLayer) sort(connection net.Conn) {
	first := make([]byte, 1)
	if n, err := connection.Read(first); err != nil || n == 0 {
		connection.Close()
		return
	}
	if first[0] == clientByte {
		s.serve(connection)
		return
	}
	select {
	case s.peers <- &begunConnection{connection, first}:
	case <-s.closed:
		connection.Close()
	}
}

// Accept returns the next connection of a peer.
func (s *streamLayer) Accept() (net.Conn, error) {
	select {
	case connection := <-s.peers:
		return connection, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (s *streamLayer) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Listener.Close()
}

// Dial connects to a peer.
func (s *streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", string(address), timeout)
}

// begunConnection is a connection whose first byte was read already.
type begunConnection struct {
	net.Conn
	first []byte
}

func (c *begunConnection) Read(data []byte) (int, error) {
	if len(c.first) > 0 && len(data) > 0 {
		n := copy(data, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(data)
}
